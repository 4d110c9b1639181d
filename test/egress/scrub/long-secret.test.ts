/** The longest secret that the vault takes is made ready in a moment: it happens on the event loop. */
import { expect, test } from 'vitest';
import { Secret } from '../../../core-lite/secret.ts';
import { formsOf } from '../../../egress/scrub/forms.ts';

test.each(['plain', 'a%2', '\\u0', '%'])('16,384 characters of %s', (part) => {
  const before = performance.now();
  const { forms } = formsOf([new Secret(part.repeat(16_384 / part.length + 1).slice(0, 16_384))]);
  expect(forms[0]?.length).toBe(16_384);
  // Quadratic work took a minute.
  expect(performance.now() - before).toBeLessThan(5_000);
});

/** Two spellings of one value have one text, and two values never do. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { writeCanonical } from '../../../gates/read/canonical-json.ts';

it.each([
  ['{"b":1,"a":{"d":[1,2.50],"c":"\\u00e9"}}', '{"a":{"c":"é","d":[1,2.5]},"b":1}'],
  ['[]', '[]'],
  ['{"10":1,"9":2,"":3}', '{"":3,"10":1,"9":2}'],
  ['null', 'null'],
])('%s', (text, canonical) => {
  expect(writeCanonical(JSON.parse(text))).toBe(canonical);
});

it('means the same as the value, whatever it is, in whatever order', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const text = writeCanonical(value);
      expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
      expect(writeCanonical(JSON.parse(text))).toBe(text);
      expect(writeCanonical(reverse(value))).toBe(text);
    }),
  );
});

/** The same fields, written in the opposite order. */
function reverse(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reverse);
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).map(([name, each]) => [name, reverse(each)] as const);
  return Object.fromEntries(fields.toReversed());
}

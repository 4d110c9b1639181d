/** What the tables of probes and faults name is there: no row is proved by a test that was renamed or never written. */
import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { HANDSHAKE_FAULTS, POLICY_FAULTS, PROTOCOL_FAULTS, TRUST_FAULTS } from './faults.ts';
import type { None, Proof } from './proofs.ts';
import { ROWS } from './rows.ts';

const root = new URL('../../', import.meta.url);

/** Whether a test, a group or a row of a table has the title. */
function stands({ file, title }: Proof): boolean {
  const url = new URL(file, root);
  if (!existsSync(url)) return false;
  const text = readFileSync(url, 'utf8');
  // Behind a parenthesis, a bracket, a property or at the start of a line of a call: never within a sentence.
  return ["'", '`'].some((quote) =>
    new RegExp(`(?:[(\\[]|title: |^)\\s*${quote}${escapePattern(title)}(?:${quote}|\\$\\{)`, 'm').test(text),
  );
}

function escapePattern(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
}

function missing(proofs: readonly (Proof | None)[]): string[] {
  return proofs.flatMap((each) => ('none' in each || stands(each) ? [] : [`${each.file}: ${each.title}`]));
}

describe('a probe', () => {
  it.each(ROWS)('$asked', ({ tunnel, interception, http2, plain }) => {
    expect(missing([tunnel, interception, http2, plain])).toEqual([]);
  });
});

describe.each([
  ['of handshakes', HANDSHAKE_FAULTS],
  ['of trust', TRUST_FAULTS],
  ['of protocols', PROTOCOL_FAULTS],
  ['of policy', POLICY_FAULTS],
])('faults %s', (_, faults) => {
  it.each(Object.entries(faults))('%s', (_name, proofs) => {
    expect(proofs.length).toBeGreaterThan(0);
    expect(missing(proofs)).toEqual([]);
  });
});

it('a title that no test has is missed', () => {
  expect(stands({ file: 'way/tunnel.test.ts', title: 'a title that no test has' })).toBe(false);
  expect(stands({ file: 'way/no-such.test.ts', title: 'silence' })).toBe(false);
});

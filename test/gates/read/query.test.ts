/** What of a query goes on to a provider: everything but the key, byte for byte. */
import { describe, expect, it } from 'vitest';
import { providerQuery } from '../../../gates/read/query.ts';

const TOKEN = 'ey.T-o_k';
const ROWS: readonly (readonly [query: string, passed: string])[] = [
  ['', ''],
  ['?', '?'],
  ['?beta=true', '?beta=true'],
  ['?a=%zz&&b=+%20;x&=&alt=sse', '?a=%zz&&b=+%20;x&=&alt=sse'],
  ['?key=ey.T-o_k', ''],
  ['?alt=sse&key=ey.T-o_k', '?alt=sse'],
  ['?key=ey.T-o_k&alt=%73se&', '?alt=%73se&'],
  ['?%6bey=x&k=1', '?k=1'],
  ['?keys=1&monkey=2&KEY=3', '?keys=1&monkey=2&KEY=3'],
  ['?a=ey%2ET-o_k&b=1', '?b=1'],
  ['?ey.T-o_k=1&b=1', '?b=1'],
];

describe('a query', () => {
  for (const [query, passed] of ROWS)
    it(`goes on: ${query || 'none'}`, () => expect(providerQuery(query, TOKEN)).toBe(passed));
});

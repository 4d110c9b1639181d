/** Where a run token is read, and when none is: raw headers and a query in, one text or a reason out. */
import { describe, expect, it } from 'vitest';
import { readToken } from '../../gates/authenticate.ts';

const GOOD: readonly (readonly [name: string, headers: readonly string[], query?: string])[] = [
  ['a bearer', ['Authorization', 'Bearer T.x-_1']],
  ['a bearer in capitals', ['AUTHORIZATION', 'BEARER   T.x-_1']],
  ['Anthropic’s header', ['X-Api-Key', 'T.x-_1']],
  ['Gemini’s header', ['x-goog-api-key', 'T.x-_1']],
  ['the query', [], '?key=T.x-_1'],
  ['the query, encoded', [], '?a=1&k%65y=T%2Ex-_1&b'],
  ['two places at once', ['authorization', 'Bearer T.x-_1', 'x-api-key', 'T.x-_1']],
  ['every place at once', ['x-api-key', 'T.x-_1', 'x-goog-api-key', 'T.x-_1'], '?key=T.x-_1&key=T.x-_1'],
];
const BAD: readonly (readonly [name: string, headers: readonly string[], query: string, reason: string])[] = [
  ['nothing', ['host', 'x'], '?keys=T&alt=sse', 'token_missing'],
  ['another scheme', ['authorization', 'Basic VDo='], '', 'token_malformed'],
  ['a bearer and more', ['authorization', 'Bearer T, Bearer U'], '', 'token_malformed'],
  ['an empty key', ['x-api-key', ''], '', 'token_malformed'],
  ['a key with a scheme', ['x-goog-api-key', 'Bearer T'], '', 'token_malformed'],
  ['an empty query key', [], '?key=', 'token_malformed'],
  ['a query key without a value', [], '?key', 'token_malformed'],
  ['a header twice', ['x-api-key', 'T', 'X-Api-Key', 'T'], '', 'request_malformed'],
  ['two credentials', ['authorization', 'Bearer T', 'x-api-key', 'U'], '', 'request_malformed'],
  ['two in the query', [], '?key=T&key=U', 'request_malformed'],
  ['header and query differ', ['x-goog-api-key', 'T'], '?key=U', 'request_malformed'],
  ['one good and one broken', ['authorization', 'Bearer T', 'x-api-key', 'a b'], '', 'token_malformed'],
];

describe('the run token', () => {
  for (const [name, headers, query] of GOOD)
    it(`is read: ${name}`, () => expect(readToken(headers, query)).toEqual({ text: 'T.x-_1' }));
  for (const [name, headers, query, reason] of BAD)
    it(`is not guessed: ${name}`, () => expect(readToken(headers, query)).toBe(reason));
});

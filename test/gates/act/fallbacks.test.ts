/** When a provider wants to be asked again: RFC 9110 10.2.3, seconds or a date. */
import { expect, it } from 'vitest';
import { readRetryAfter } from '../../../gates/act/fallbacks.ts';

const NOW = Date.parse('Fri, 13 Nov 2026 10:00:00 GMT');

it.each([
  ['12', 12],
  ['0', 0],
  ['fri, 13 nov 2026 10:01:30 gmt', 90],
  ['Fri, 13 Nov 2026 09:00:00 GMT', 0],
  ['', null],
  ['soon', null],
  ['-5', null],
  ['1.5', null],
  ['99999999999', null],
  ['2026-11-13T10:00:30Z', null],
  ['never gmt', null],
])('%j is %j', (text, seconds) => expect(readRetryAfter(text, NOW)).toBe(seconds));

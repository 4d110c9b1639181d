/** Each code has its own remedy, and one that nobody listed has its reason's. */
import { describe, expect, it } from 'vitest';
import { CODES, findRemedy } from '../../core-lite/codes.ts';
import { REFUSALS } from '../../core-lite/reasons.ts';

describe('what to do about a refusal', () => {
  it.each([
    ['injection_failed', 'KEY_OF_THE_CLIENT', CODES['KEY_OF_THE_CLIENT']?.remedy],
    ['injection_failed', 'OAUTH_INVALID_GRANT', CODES['OAUTH_INVALID_GRANT']?.remedy],
    ['parent_failed', 'PARENT_REFUSED_403', CODES['PARENT_REFUSED_']?.remedy],
    ['connect_failed', 'PARENT_ANSWERED_SOCKS_4', CODES['PARENT_ANSWERED_']?.remedy],
    ['parent_failed', 'PARENT_TLS_CERT_HAS_EXPIRED', CODES['PARENT_TLS_']?.remedy],
    ['connect_failed', 'ECONNREFUSED', REFUSALS.connect_failed.remedy],
    ['origin_certificate', 'CERT_HAS_EXPIRED', REFUSALS.origin_certificate.remedy],
    ['connect_failed', null, REFUSALS.connect_failed.remedy],
  ] as const)('%s, %s', (reason, code, remedy) => {
    expect(remedy).toMatch(/^\w/);
    expect(findRemedy(reason, code)).toBe(remedy);
  });

  it('is one line, without a full stop', () => {
    for (const { text, remedy } of Object.values(CODES)) {
      for (const line of [text, remedy]) expect(line).toMatch(/^[^\n.]+(?:\.[^\n]+)?[^\n.]$/);
    }
  });
});

import { describe, expect, it } from 'vitest';
import { Secret } from '../../../core-lite/secret.ts';
import { parseTokenReply } from '../../../core-lite/vault/oauth-answer.ts';
import { type OAUTH_FAILURES, OauthFailure, retryDelayS } from '../../../core-lite/vault/oauth-failure.ts';

const TOKEN = 'access-token-1';
const good = { access_token: TOKEN, token_type: 'Bearer', expires_in: 3600 };

describe('an answer with a token', () => {
  it.each<[name: string, fields: Record<string, unknown>, lifeS: number, refresh: string | null]>([
    ['as RFC 6749 shows it', good, 3600, null],
    ['of a type in another case', { ...good, token_type: 'bEaReR' }, 3600, null],
    ['with a refresh token', { ...good, refresh_token: 'refresh-token-2' }, 3600, 'refresh-token-2'],
    ['with no new refresh token', { ...good, refresh_token: null }, 3600, null],
    ['that does not say how long it lives', { access_token: TOKEN, token_type: 'bearer' }, 300, null],
    ['whose life is a text', { ...good, expires_in: '60' }, 60, null],
    ['that lives for a year', { ...good, expires_in: 31_536_000 }, 86_400, null],
    ['with more than it needs', { ...good, scope: 'a b', id_token: 'x' }, 3600, null],
  ])('%s', (_, fields, lifeS, refresh) => {
    const issued = parse(200, fields);
    if (issued instanceof OauthFailure) return expect.unreachable(issued.code);
    expect(issued.access.reveal()).toBe(TOKEN);
    expect(issued.lifeS).toBe(lifeS);
    expect(issued.refresh?.reveal() ?? null).toBe(refresh);
  });
});

describe('an answer without one', () => {
  it.each<[name: string, status: number, body: unknown, code: keyof typeof OAUTH_FAILURES]>([
    ['a redirect', 302, good, 'OAUTH_REDIRECTED'],
    ['too many', 429, {}, 'OAUTH_UNAVAILABLE'],
    ['a gateway’s', 503, good, 'OAUTH_UNAVAILABLE'],
    ['busy, in its own words', 400, { error: 'temporarily_unavailable' }, 'OAUTH_UNAVAILABLE'],
    ['an unknown client', 401, { error: 'invalid_client' }, 'OAUTH_INVALID_CLIENT'],
    ['an old refresh token', 400, { error: 'invalid_grant' }, 'OAUTH_INVALID_GRANT'],
    ['a refusal with 200', 200, { error: 'invalid_grant' }, 'OAUTH_INVALID_GRANT'],
    ['a scope that is none', 400, { error: 'invalid_scope' }, 'OAUTH_REFUSED'],
    ['a refusal without words', 403, 'no', 'OAUTH_REFUSED'],
    ['a created thing', 201, good, 'OAUTH_MALFORMED'],
    ['a page', 200, '<html>', 'OAUTH_MALFORMED'],
    ['nothing', 200, '', 'OAUTH_MALFORMED'],
    ['a list', 200, [good], 'OAUTH_MALFORMED'],
    ['no type', 200, { ...good, token_type: undefined }, 'OAUTH_MALFORMED'],
    ['another type', 200, { ...good, token_type: 'DPoP' }, 'OAUTH_MALFORMED'],
    ['no token', 200, { ...good, access_token: undefined }, 'OAUTH_MALFORMED'],
    ['a number for a token', 200, { ...good, access_token: 12345678 }, 'OAUTH_MALFORMED'],
    ['a token with a line end', 200, { ...good, access_token: 'token\r\nX-Injected: 1' }, 'OAUTH_MALFORMED'],
    ['a token with a space', 200, { ...good, access_token: 'token and more' }, 'OAUTH_MALFORMED'],
    ['a short token', 200, { ...good, access_token: 'short' }, 'OAUTH_MALFORMED'],
    ['a token without end', 200, { ...good, access_token: 'a'.repeat(16_385) }, 'OAUTH_MALFORMED'],
    ['no life', 200, { ...good, expires_in: 0 }, 'OAUTH_MALFORMED'],
    ['a life before its birth', 200, { ...good, expires_in: -1 }, 'OAUTH_MALFORMED'],
    ['half a second', 200, { ...good, expires_in: 0.5 }, 'OAUTH_MALFORMED'],
    ['a life that is a word', 200, { ...good, expires_in: 'soon' }, 'OAUTH_MALFORMED'],
    ['a refresh token that is none', 200, { ...good, refresh_token: {} }, 'OAUTH_MALFORMED'],
  ])('%s', (_, status, body, code) => {
    const failure = parse(status, body);
    if (!(failure instanceof OauthFailure)) return expect.unreachable('a token');
    expect(failure.code).toBe(code);
    expect(JSON.stringify(failure)).not.toContain(TOKEN);
  });
});

describe('the wait after a failure', () => {
  it('doubles, and ends at five minutes', () => {
    const failure = new OauthFailure('OAUTH_UNREACHABLE');
    expect([0, 1, 2, 7, 8, 10_000].map((before) => retryDelayS(failure, before))).toEqual([
      2, 4, 8, 256, 300, 300,
    ]);
  });

  it('is at least what the endpoint asks for', () => {
    expect(retryDelayS(new OauthFailure('OAUTH_UNAVAILABLE', 40), 0)).toBe(40);
    expect(retryDelayS(new OauthFailure('OAUTH_UNAVAILABLE', 999_999), 0)).toBe(300);
  });
});

function parse(status: number, body: unknown) {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return parseTokenReply({ status, body: new Secret(text), retryAfterS: 0 });
}

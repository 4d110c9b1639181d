import { generateKeyPairSync } from 'node:crypto';
import { importJWK } from 'jose';
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { mintToken } from '../../core-lite/tokens/mint.ts';
import type { VerifyingKeys } from '../../core-lite/tokens/signing-keys.ts';
import * as verifying from '../../core-lite/tokens/verify.ts';
import { Authenticator, readCredential } from '../../egress/authenticate.ts';

const base64 = (text: string) => Buffer.from(text, 'latin1').toString('base64');

const CREDENTIALS: readonly [name: string, header: string, token: string | null][] = [
  ['a password', `Basic ${base64('user:tok.en')}`, 'tok.en'],
  ['a password of no user', `Basic ${base64(':tok.en')}`, 'tok.en'],
  ['a user before an empty password', `Basic ${base64('tok.en:')}`, 'tok.en'],
  ['a password with escapes', `Basic ${base64('user:tok%2een%2B%2f')}`, 'tok.en+/'],
  ['a user with escapes', `Basic ${base64('tok%2Een:')}`, 'tok.en'],
  ['an escape that is none', `Basic ${base64('user:tok%2')}`, null],
  ['an escape of no digits', `Basic ${base64('user:tok%zz')}`, null],
  ['an escaped percent sign', `Basic ${base64('user:tok%252e')}`, null],
  ['a password with colons', `Basic ${base64('user:a:b')}`, 'a:b'],
  ['another case', `bASIC ${base64('user:tok.en')}`, 'tok.en'],
  ['Base64 that lacks one padding', `Basic ${base64('us:tok.en').replace('=', '')}`, 'tok.en'],
  ['Base64 that lacks two paddings', `Basic ${base64('user:tok.en').replace('==', '')}`, 'tok.en'],
  ['Bearer', 'Bearer tok.en', 'tok.en'],
  ['Bearer in another case', 'BEARER tok.en', 'tok.en'],
  ['spaces before the token', 'Bearer   tok.en', 'tok.en'],
  ['nothing', '', null],
  ['a scheme alone', 'Basic', null],
  ['a scheme and a space', 'Bearer ', null],
  ['a tab for a space', 'Bearer\ttok.en', null],
  ['something behind it', 'Bearer tok.en x', null],
  ['a list', 'Bearer tok.en, Bearer x', null],
  ['another scheme', 'Digest tok.en', null],
  ['a scheme that only begins so', 'Bearerx tok.en', null],
  ['no colon', `Basic ${base64('tok.en')}`, null],
  ['a colon alone', `Basic ${base64(':')}`, null],
  ['one padding too many', `Basic ${base64('us:tok.en')}=`, null],
  ['the alphabet of URLs', 'Basic dTp-fn5-_w', null],
  ['bits behind the last byte', `Basic ${base64('user:token').replace('==', '').slice(0, -1)}X`, null],
  ['padding before the end', `Basic ${base64('u:')}${base64('tok.en')}`, null],
  ['8,193 characters', `Bearer ${'a'.repeat(8_193)}`, null],
];

describe('what a Proxy-Authorization holds', () => {
  it.each(CREDENTIALS)('%s', (_, header, token) => {
    expect(readCredential(header)).toBe(token);
  });
});

const NOW = new Date('2026-11-29T12:00:00Z');
const later = (ms: number) => new Date(NOW.getTime() + ms);
const TENANT = 'ten_1';
const KID = 'key-1';
const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
let key: Awaited<ReturnType<typeof importJWK>>;
let token: string;

/** Each call makes other keys, as each reading of them does. */
function keysOf(kids: readonly string[] = [KID]): VerifyingKeys {
  if (key instanceof Uint8Array) throw new TypeError('a symmetric key');
  const found = key;
  return { tenantId: TENANT, byKid: new Map(kids.map((kid) => [kid, found])) };
}

async function mint(): Promise<string> {
  const claims = { sub: `env_${'0'.repeat(32)}`, hep: 0, pod: 'none' };
  return (await mintToken('egress', claims, { kid: KID, privateKey }, TENANT, NOW)).token.reveal();
}

beforeAll(async () => {
  key = await importJWK({ ...publicKey.export({ format: 'jwk' }), alg: 'ES256' }, 'ES256');
  token = await mint();
});

vi.mock(import('../../core-lite/tokens/verify.ts'), async (original) => {
  const actual = await original();
  return { ...actual, verifyToken: vi.fn(actual.verifyToken) as typeof actual.verifyToken };
});
const verified = vi.mocked(verifying.verifyToken);
// Back to what it verifies by itself.
afterEach(() => verified.mockReset());

describe('the authenticator', () => {
  const header = () => `Bearer ${token}`;

  it('verifies a token once, however it is spelt, and remembers it for some seconds', async () => {
    const [authenticator, keys] = [new Authenticator(), keysOf()];
    const first = await authenticator.authenticate(header(), keys, NOW);
    const spelt = `Basic ${base64(`any:${token}`)}`;
    expect(await authenticator.authenticate(spelt, keys, later(9_999))).toBe(first);
    expect(verified).toHaveBeenCalledTimes(1);
    expect(await authenticator.authenticate(header(), keys, later(10_000))).toMatchObject({ kid: KID });
    expect(verified).toHaveBeenCalledTimes(2);
  });

  it('forgets everything with other keys', async () => {
    const authenticator = new Authenticator();
    await authenticator.authenticate(header(), keysOf(), NOW);
    expect(await authenticator.authenticate(header(), keysOf([]), NOW)).toBe('token_untrusted');
    expect(await authenticator.authenticate(header(), keysOf(), NOW)).toMatchObject({ kid: KID });
    expect(verified).toHaveBeenCalledTimes(3);
  });

  it('does not remember under keys that came while it verified', async () => {
    const [authenticator, old] = [new Authenticator(), keysOf()];
    const running = authenticator.authenticate(header(), old, NOW);
    const refused = authenticator.authenticate(header(), keysOf([]), NOW);
    expect(await refused).toBe('token_untrusted');
    expect(await running).toMatchObject({ kid: KID });
    expect(await authenticator.authenticate(header(), keysOf([]), NOW)).toBe('token_untrusted');
  });

  it('never remembers a refusal', async () => {
    const [authenticator, keys] = [new Authenticator(), keysOf()];
    const forged = `Bearer ${token.slice(0, -86)}${'A'.repeat(86)}`;
    for (let i = 0; i < 3; i += 1) {
      expect(await authenticator.authenticate(forged, keys, NOW)).toBe('token_untrusted');
    }
    expect(verified).toHaveBeenCalledTimes(3);
  });

  it('does not remember beyond the life of the token', async () => {
    const [authenticator, keys] = [new Authenticator(), keysOf()];
    // 15 minutes, and 30 seconds of leeway.
    const [end, past] = [later(900_000), later(931_000)];
    expect(await authenticator.authenticate(header(), keys, new Date(end.getTime() - 1))).toMatchObject({
      kid: KID,
    });
    expect(await authenticator.authenticate(header(), keys, past)).toBe('token_expired');
  });

  it('remembers a bounded number, the oldest going first', async () => {
    const [authenticator, keys] = [new Authenticator(), keysOf()];
    const real = await verifying.verifyToken('egress', token, keys, NOW);
    if (typeof real === 'string') throw new TypeError(real);
    verified.mockClear();
    verified.mockResolvedValue(real);
    for (let i = 0; i <= 10_000; i += 1) await authenticator.authenticate(`Bearer t${i}`, keys, NOW);
    expect(verified).toHaveBeenCalledTimes(10_001);
    await authenticator.authenticate('Bearer t1', keys, NOW);
    expect(verified).toHaveBeenCalledTimes(10_001);
    await authenticator.authenticate('Bearer t0', keys, NOW);
    expect(verified).toHaveBeenCalledTimes(10_002);
  });

  it.each([
    [undefined, 'token_missing'],
    ['Basic', 'token_malformed'],
    ['Bearer a.b.c', 'token_malformed'],
  ])('says why not: %s', async (value, reason) => {
    expect(await new Authenticator().authenticate(value, keysOf(), NOW)).toBe(reason);
  });
});

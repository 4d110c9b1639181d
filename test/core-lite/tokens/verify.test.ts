/** Tokens as a forger would send them. The expected reason stands beside each; nothing may throw. */
import { createHmac, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { importSPKI } from 'jose';
import { beforeAll, describe, expect, it } from 'vitest';
import { makeId } from '../../../core-lite/id.ts';
import { mintToken } from '../../../core-lite/tokens/mint.ts';
import type { VerifyingKeys } from '../../../core-lite/tokens/signing-keys.ts';
import { type ClaimsOf, TOKEN_KINDS, type TokenKind } from '../../../core-lite/tokens/token-kinds.ts';
import { VerifiedToken, verifyToken } from '../../../core-lite/tokens/verify.ts';

const NOW = new Date('2026-06-01T12:00:00Z');
const NOW_S = NOW.getTime() / 1000;
const TENANT = makeId('tnt');
const ENV = makeId('env');
const SES = makeId('ses');
const TRN = makeId('trn');
const ours = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const foreign = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const p384 = generateKeyPairSync('ec', { namedCurve: 'P-384' });
const PEM = ours.publicKey.export({ type: 'spki', format: 'pem' }) as string;
const KID = 'kid-of-our-key_1';
const HEADER = { alg: 'ES256', typ: 'sallyport-egress+jwt', kid: KID };
const PAYLOAD = {
  iss: `urn:sallyport:tenant:${TENANT}`,
  aud: 'sallyport-egress',
  sub: ENV,
  hep: 3,
  pod: 'pod-uid-1',
  iat: NOW_S,
  exp: NOW_S + 900,
  jti: 'tok_1',
};
let keys: VerifyingKeys;

beforeAll(async () => {
  keys = { tenantId: TENANT, byKid: new Map([[KID, await importSPKI(PEM, 'ES256')]]) };
});

const CLAIMS: ClaimsOf = {
  run: { sub: SES, trn: TRN, agt: 'agent-1', epc: 7 },
  service: { sub: SES, agt: 'agent-1', srv: 'github' },
  host: { sub: ENV, hep: 0, pod: 'none' },
  egress: { sub: ENV, hep: 3, pod: 'pod-uid-1', ses: SES, trn: TRN },
};
const KINDS: readonly TokenKind[] = ['run', 'service', 'host', 'egress'];

describe('what is minted', () => {
  it.each(KINDS)('as %s verifies as it, and tells what it was minted with', async (kind) => {
    const minted = await mintToken(
      kind,
      CLAIMS[kind],
      { kid: KID, privateKey: ours.privateKey },
      TENANT,
      NOW,
    );
    const verified = await verifyToken(kind, minted.token.reveal(), keys, NOW);
    expect(verified).toBeInstanceOf(VerifiedToken);
    expect(verified).toMatchObject({
      kind,
      claims: CLAIMS[kind],
      id: minted.id,
      kid: KID,
      expiresAt: minted.expiresAt.getTime() / 1000,
    });
    expect(minted.expiresAt.getTime()).toBe(NOW.getTime() + TOKEN_KINDS[kind].lifetimeS * 1000);
  });

  it.each(
    KINDS.flatMap((minted) =>
      KINDS.filter((asked) => asked !== minted).map((asked) => [minted, asked] as const),
    ),
  )('as %s is no %s', async (minted, asked) => {
    const { token } = await mintToken(
      minted,
      CLAIMS[minted],
      { kid: KID, privateKey: ours.privateKey },
      TENANT,
      NOW,
    );
    expect(await verifyToken(asked, token.reveal(), keys, NOW)).toBe('token_untrusted');
  });

  it.each<[kind: TokenKind, claims: object]>([
    ['egress', { sub: SES, hep: 1, pod: 'p' }],
    ['egress', { sub: ENV, hep: -1, pod: 'p' }],
    ['egress', { sub: ENV, hep: 1, pod: '' }],
    ['egress', { sub: ENV, hep: 1, pod: 'p', extra: 1 }],
    ['egress', { sub: ENV, hep: 1, pod: 'p', exp: NOW_S + 1e9 }],
    ['run', { sub: SES, trn: TRN, agt: 'a b', epc: 1 }],
    ['run', { sub: SES, trn: TRN, agt: 'a', epc: 1.5 }],
  ])('as %s is not minted with %j', async (kind, claims) => {
    // What the types refuse is refused when it runs, too.
    const minted = mintToken(kind, claims as never, { kid: KID, privateKey: ours.privateKey }, TENANT, NOW);
    await expect(minted).rejects.toThrow(TypeError);
  });

  it('without a claim that it needs is not minted', async () => {
    const minted = mintToken(
      'egress',
      { sub: ENV, hep: 1 } as never,
      { kid: KID, privateKey: ours.privateKey },
      TENANT,
      NOW,
    );
    await expect(minted).rejects.toThrow(TypeError);
  });
});

it('the forms below are near to one that verifies', async () => {
  expect(await verifyToken('egress', token(), keys, NOW)).toBeInstanceOf(VerifiedToken);
});

describe('headers', () => {
  it.each<[name: string, header: unknown, reason: string]>([
    ['alg none', { ...HEADER, alg: 'none' }, 'token_malformed'],
    ['alg None', { ...HEADER, alg: 'None' }, 'token_malformed'],
    ['alg HS256', { ...HEADER, alg: 'HS256' }, 'token_malformed'],
    ['alg ES384', { ...HEADER, alg: 'ES384' }, 'token_malformed'],
    ['alg es256', { ...HEADER, alg: 'es256' }, 'token_malformed'],
    ['alg in a list', { ...HEADER, alg: ['ES256'] }, 'token_malformed'],
    ['no alg', { typ: HEADER.typ, kid: KID }, 'token_malformed'],
    ['jwk', { ...HEADER, jwk: foreign.publicKey.export({ format: 'jwk' }) }, 'token_malformed'],
    ['jku', { ...HEADER, jku: 'http://127.0.0.1/keys' }, 'token_malformed'],
    ['x5u', { ...HEADER, x5u: 'http://127.0.0.1/keys' }, 'token_malformed'],
    ['x5c', { ...HEADER, x5c: ['AAAA'] }, 'token_malformed'],
    ['x5t', { ...HEADER, x5t: 'AAAA' }, 'token_malformed'],
    ['crit', { ...HEADER, crit: ['exp'] }, 'token_malformed'],
    ['empty crit', { ...HEADER, crit: [] }, 'token_malformed'],
    ['zip', { ...HEADER, zip: 'DEF' }, 'token_malformed'],
    ['b64 false', { ...HEADER, b64: false, crit: ['b64'] }, 'token_malformed'],
    ['enc', { ...HEADER, enc: 'A128GCM' }, 'token_malformed'],
    ['cty', { ...HEADER, cty: 'JWT' }, 'token_malformed'],
    [
      'an own __proto__',
      JSON.parse(`{"alg":"ES256","typ":"${HEADER.typ}","kid":"${KID}","__proto__":{}}`),
      'token_malformed',
    ],
    ['no kid', { alg: 'ES256', typ: HEADER.typ }, 'token_malformed'],
    ['kid null', { ...HEADER, kid: null }, 'token_malformed'],
    ['kid a number', { ...HEADER, kid: 1 }, 'token_malformed'],
    ['kid a list', { ...HEADER, kid: [KID] }, 'token_malformed'],
    ['kid empty', { ...HEADER, kid: '' }, 'token_untrusted'],
    ['kid unknown', { ...HEADER, kid: 'other' }, 'token_untrusted'],
    ['kid lower-cased', { ...HEADER, kid: KID.toUpperCase() }, 'token_untrusted'],
    ['kid with a NUL', { ...HEADER, kid: `${KID}\0` }, 'token_untrusted'],
    ['kid a path', { ...HEADER, kid: '../../dev/null' }, 'token_untrusted'],
    ['kid __proto__', { ...HEADER, kid: '__proto__' }, 'token_untrusted'],
    ['kid SQL', { ...HEADER, kid: `' OR 1=1 --` }, 'token_untrusted'],
    ['no typ', { alg: 'ES256', kid: KID }, 'token_malformed'],
    ['typ JWT', { ...HEADER, typ: 'JWT' }, 'token_untrusted'],
    ['typ host', { ...HEADER, typ: 'sallyport-host+jwt' }, 'token_untrusted'],
    ['typ run', { ...HEADER, typ: 'sallyport-run+jwt' }, 'token_untrusted'],
    ['typ with its prefix', { ...HEADER, typ: 'application/sallyport-egress+jwt' }, 'token_untrusted'],
    ['typ in capitals', { ...HEADER, typ: 'SALLYPORT-EGRESS+JWT' }, 'token_untrusted'],
    ['a list', [HEADER], 'token_malformed'],
    ['null', null, 'token_malformed'],
    ['a text', 'ES256', 'token_malformed'],
    ['a number', 7, 'token_malformed'],
    ['an empty object', {}, 'token_malformed'],
  ])('%s', async (_, header, reason) => {
    expect(await verifyToken('egress', token({ header }), keys, NOW)).toBe(reason);
  });
});

describe('claims', () => {
  it.each<[name: string, change: Record<string, unknown>, reason: string]>([
    ['iss of another installation', { iss: `urn:sallyport:tenant:${makeId('tnt')}` }, 'token_untrusted'],
    ['iss as prefix', { iss: `${PAYLOAD.iss}x` }, 'token_untrusted'],
    ['iss in a list', { iss: [PAYLOAD.iss] }, 'token_untrusted'],
    ['no iss', { iss: undefined }, 'token_untrusted'],
    ['aud of the gates', { aud: 'sallyport-gates' }, 'token_untrusted'],
    ['aud of core', { aud: 'sallyport-core' }, 'token_untrusted'],
    ['aud in a list', { aud: ['sallyport-egress'] }, 'token_untrusted'],
    ['aud of two', { aud: ['sallyport-egress', 'sallyport-gates'] }, 'token_untrusted'],
    ['no aud', { aud: undefined }, 'token_untrusted'],
    ['expired', { iat: NOW_S - 931, exp: NOW_S - 31 }, 'token_expired'],
    ['expired long ago', { iat: 900, exp: 1800 }, 'token_expired'],
    ['expired and for another service', { iat: 900, exp: 1800, aud: 'sallyport-gates' }, 'token_untrusted'],
    ['expired before it was issued', { exp: NOW_S - 1000 }, 'token_expired'],
    ['no exp', { exp: undefined }, 'token_untrusted'],
    ['exp null', { exp: null }, 'token_untrusted'],
    ['exp a text', { exp: String(PAYLOAD.exp) }, 'token_untrusted'],
    ['exp a list', { exp: [PAYLOAD.exp] }, 'token_untrusted'],
    ['exp an object', { exp: { valueOf: PAYLOAD.exp } }, 'token_untrusted'],
    ['exp true', { exp: true }, 'token_untrusted'],
    ['exp far away', { exp: NOW_S + 86_400 * 365 }, 'token_untrusted'],
    ['exp the greatest number', { exp: Number.MAX_VALUE }, 'token_untrusted'],
    ['a life of 31 s too long', { exp: NOW_S + 931 }, 'token_untrusted'],
    ['iat in the future', { iat: NOW_S + 31, exp: NOW_S + 900 }, 'token_untrusted'],
    ['iat far in the past', { iat: 0 }, 'token_untrusted'],
    ['iat negative', { iat: -NOW_S }, 'token_untrusted'],
    ['no iat', { iat: undefined }, 'token_untrusted'],
    ['iat a text', { iat: String(NOW_S) }, 'token_untrusted'],
    ['nbf in the future', { nbf: NOW_S + 60 }, 'token_untrusted'],
    ['nbf a text', { nbf: 'now' }, 'token_untrusted'],
    ['no jti', { jti: undefined }, 'token_untrusted'],
    ['jti a number', { jti: 1 }, 'token_untrusted'],
    ['jti empty', { jti: '' }, 'token_untrusted'],
    ['jti long', { jti: 'x'.repeat(129) }, 'token_untrusted'],
    ['jti with a NUL', { jti: 'a\0b' }, 'token_untrusted'],
    ['jti with a line end', { jti: 'a\nb' }, 'token_untrusted'],
    ['no sub', { sub: undefined }, 'token_untrusted'],
    ['sub of a session', { sub: SES }, 'token_untrusted'],
    ['sub a list', { sub: [ENV] }, 'token_untrusted'],
    ['sub in capitals', { sub: ENV.toUpperCase() }, 'token_untrusted'],
    ['sub with more', { sub: `${ENV}\0` }, 'token_untrusted'],
    ['no hep', { hep: undefined }, 'token_untrusted'],
    ['hep a text', { hep: '3' }, 'token_untrusted'],
    ['hep a fraction', { hep: 3.5 }, 'token_untrusted'],
    ['hep negative', { hep: -1 }, 'token_untrusted'],
    ['hep past what is exact', { hep: 2 ** 53 }, 'token_untrusted'],
    ['hep null', { hep: null }, 'token_untrusted'],
    ['no pod', { pod: undefined }, 'token_untrusted'],
    ['pod empty', { pod: '' }, 'token_untrusted'],
    ['pod with a NUL', { pod: 'p\0' }, 'token_untrusted'],
    ['pod long', { pod: 'p'.repeat(129) }, 'token_untrusted'],
    ['ses that is none', { ses: 'x' }, 'token_untrusted'],
    ['ses null', { ses: null }, 'token_untrusted'],
    ['trn of another kind', { trn: SES }, 'token_untrusted'],
  ])('%s', async (_, change, reason) => {
    expect(await verifyToken('egress', token({ payload: { ...PAYLOAD, ...change } }), keys, NOW)).toBe(
      reason,
    );
  });

  it.each<[name: string, json: string]>([
    ['a list', JSON.stringify([PAYLOAD])],
    ['null', 'null'],
    ['a text', '"claims"'],
    ['a number', '7'],
    ['not JSON', '{exp:1}'],
    ['cut JSON', JSON.stringify(PAYLOAD).slice(0, -1)],
    ['nothing but spaces', '   '],
    ['an infinite exp', JSON.stringify(PAYLOAD).replace(/"exp":\d+/, '"exp":1e999')],
    ['an infinite past', JSON.stringify(PAYLOAD).replace(/"iat":\d+/, '"iat":-1e999')],
    ['two exp, the last far away', JSON.stringify(PAYLOAD).replace(/}$/, `,"exp":${NOW_S + 1e6}}`)],
    ['two aud, the last another', JSON.stringify(PAYLOAD).replace(/}$/, ',"aud":"sallyport-gates"}')],
    ['claims only in __proto__', `{"__proto__":${JSON.stringify(PAYLOAD)}}`],
    [
      'sub only in __proto__',
      JSON.stringify({ ...PAYLOAD, sub: undefined }).replace(/^\{/, `{"__proto__":{"sub":"${ENV}"},`),
    ],
    ['deep nesting', `${'['.repeat(1000)}${']'.repeat(1000)}`],
    ['bytes that are no UTF-8', '\xff\xfe'],
  ])('that are %s', async (_, json) => {
    expect(await verifyToken('egress', token({ json: Buffer.from(json, 'latin1') }), keys, NOW)).toBe(
      'token_untrusted',
    );
  });

  it('beside ours are left out', async () => {
    const verified = await verifyToken(
      'egress',
      token({ payload: { ...PAYLOAD, admin: true, epc: 1 } }),
      keys,
      NOW,
    );
    expect(verified).toMatchObject({ claims: { sub: ENV, hep: 3, pod: 'pod-uid-1' } });
    expect(Object.keys((verified as VerifiedToken<'egress'>).claims).sort()).toEqual(['hep', 'pod', 'sub']);
  });
});

describe('the leeway of 30 seconds', () => {
  it.each<[name: string, iat: number, exp: number, verdict: string]>([
    ['expires now', NOW_S - 900, NOW_S, 'verified'],
    ['expired 29 s ago', NOW_S - 900, NOW_S - 29, 'verified'],
    ['expired 30 s ago', NOW_S - 900, NOW_S - 30, 'token_expired'],
    ['issued in 30 s', NOW_S + 30, NOW_S + 900, 'verified'],
    ['issued in 31 s', NOW_S + 31, NOW_S + 900, 'token_untrusted'],
    ['lives 930 s', NOW_S, NOW_S + 930, 'verified'],
    ['lives 931 s', NOW_S, NOW_S + 931, 'token_untrusted'],
  ])('%s', async (_, iat, exp, verdict) => {
    const result = await verifyToken('egress', token({ payload: { ...PAYLOAD, iat, exp } }), keys, NOW);
    expect(typeof result === 'string' ? result : 'verified').toBe(verdict);
  });
});

describe('signatures', () => {
  it.each<[name: string, make: () => string, reason: string]>([
    ['of another key', () => token({ key: foreign.privateKey }), 'token_untrusted'],
    ['of another curve', () => token({ key: p384.privateKey }), 'token_malformed'],
    ['an HMAC with our public key as text', () => hmac(PEM), 'token_malformed'],
    [
      'an HMAC with our public key as bytes',
      () => hmac(ours.publicKey.export({ type: 'spki', format: 'der' })),
      'token_malformed',
    ],
    ['none', () => `${signed()}.`, 'token_malformed'],
    [
      'in DER',
      () => `${signed()}.${sign('sha256', Buffer.from(signed()), ours.privateKey).toString('base64url')}`,
      'token_malformed',
    ],
    ['of zeros', () => withSignature(Buffer.alloc(64)), 'token_untrusted'],
    ['r = 0', () => withSignature(Buffer.concat([Buffer.alloc(32), Buffer.alloc(32, 1)])), 'token_untrusted'],
    ['s = 0', () => withSignature(Buffer.concat([Buffer.alloc(32, 1), Buffer.alloc(32)])), 'token_untrusted'],
    ['r = s = n', () => withSignature(Buffer.concat([ORDER, ORDER])), 'token_untrusted'],
    ['all ones', () => withSignature(Buffer.alloc(64, 0xff)), 'token_untrusted'],
    [
      'of another token',
      () => `${signed({ ...PAYLOAD, hep: 4 })}.${token().split('.')[2]}`,
      'token_untrusted',
    ],
    ['one byte short', () => withSignature(signature().subarray(1)), 'token_malformed'],
    ['one byte long', () => withSignature(Buffer.concat([signature(), Buffer.alloc(1)])), 'token_malformed'],
    [
      'a bit flipped',
      () => withSignature(Buffer.from(signature().map((byte, at) => (at === 40 ? byte ^ 1 : byte)))),
      'token_untrusted',
    ],
    ['the key revoked', () => token({ header: { ...HEADER, kid: 'revoked' } }), 'token_untrusted'],
  ])('%s', async (_, make, reason) => {
    expect(await verifyToken('egress', make(), keys, NOW)).toBe(reason);
  });
});

describe('spellings', () => {
  const good = () => token();
  it.each<[name: string, spell: (text: string) => string]>([
    ['nothing', () => ''],
    ['two dots', () => '..'],
    ['one part', (text) => text.replaceAll('.', '')],
    ['two parts', (text) => text.split('.').slice(0, 2).join('.')],
    ['four parts', (text) => `${text}.AAAA`],
    ['five parts, as a JWE has', (text) => `${text}.AAAA.AAAA`],
    ['a dot at the end', (text) => `${text}.`],
    ['a dot at the beginning', (text) => `.${text}`],
    ['two dots between', (text) => text.replace('.', '..')],
    ['a space before', (text) => ` ${text}`],
    ['a space after', (text) => `${text} `],
    ['a line end after', (text) => `${text}\n`],
    ['a NUL after', (text) => `${text}\0`],
    ['a NUL inside', (text) => text.replace('.', '.\0')],
    ['padding', (text) => `${text}==`],
    ['padding inside', (text) => text.replace('.', '=.')],
    ['the other alphabet', (text) => `${text.slice(0, -2)}+/`],
    ['white space inside', (text) => text.replace('.', '. ')],
    ['lower case', (text) => text.toLowerCase()],
    ['upper case', (text) => text.toUpperCase()],
    ['percent-encoded', (text) => encodeURIComponent(text).replace('.', '%2E')],
    ['as Bearer', (text) => `Bearer ${text}`],
    ['letters beyond ASCII', (text) => text.replace('A', 'Ａ')],
    ['half a character', (text) => `${text}\ud800`],
    ['very long', (text) => `${text.split('.')[0]}.${'A'.repeat(5_000)}.${text.split('.')[2]}`],
    ['a megabyte', () => 'A'.repeat(1 << 20)],
    ['a megabyte of dots', () => '.'.repeat(1 << 20)],
    [
      'JSON serialization',
      (text) =>
        JSON.stringify({
          protected: text.split('.')[0],
          payload: text.split('.')[1],
          signature: text.split('.')[2],
        }),
    ],
  ])('%s is malformed', async (_, spell) => {
    expect(await verifyToken('egress', spell(good()), keys, NOW)).toBe('token_malformed');
  });

  it('spare bits in the signature are another spelling and malformed', async () => {
    const text = good();
    const last = text.at(-1) ?? '';
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    for (const bit of [1, 2, 3]) {
      const other = alphabet[alphabet.indexOf(last) | bit] ?? '';
      expect(await verifyToken('egress', text.slice(0, -1) + other, keys, NOW)).toBe('token_malformed');
    }
  });

  it('any letter of the first two parts changed is not trusted', async () => {
    const text = good();
    const end = text.lastIndexOf('.');
    for (let at = 0; at < end; at++) {
      const changed = `${text.slice(0, at)}${text[at] === 'A' ? 'B' : 'A'}${text.slice(at + 1)}`;
      expect(typeof (await verifyToken('egress', changed, keys, NOW))).toBe('string');
    }
  });
});

it('no keys trust nothing', async () => {
  expect(await verifyToken('egress', token(), { tenantId: TENANT, byKid: new Map() }, NOW)).toBe(
    'token_untrusted',
  );
});

interface Parts {
  readonly header?: unknown;
  readonly payload?: unknown;
  /** The payload's bytes, in place of `payload`. */
  readonly json?: Buffer;
  readonly key?: KeyObject;
}

function signed(payload: unknown = PAYLOAD, header: unknown = HEADER): string {
  return `${encode(JSON.stringify(header))}.${encode(JSON.stringify(payload))}`;
}

function token({ header = HEADER, payload = PAYLOAD, json, key = ours.privateKey }: Parts = {}): string {
  const text = json
    ? `${encode(JSON.stringify(header))}.${json.toString('base64url')}`
    : signed(payload, header);
  const bytes = sign('sha256', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' });
  return `${text}.${bytes.toString('base64url')}`;
}

function signature(): Buffer {
  return Buffer.from(token().split('.')[2] ?? '', 'base64url');
}

function withSignature(bytes: Buffer): string {
  return `${signed()}.${bytes.toString('base64url')}`;
}

function hmac(key: string | Buffer): string {
  const text = signed(PAYLOAD, { ...HEADER, alg: 'HS256' });
  return `${text}.${createHmac('sha256', key).update(text).digest('base64url')}`;
}

function encode(text: string): string {
  return Buffer.from(text).toString('base64url');
}

/** The order of P-256 (SEC 2, 2.4.2). */
const ORDER = Buffer.from('ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551', 'hex');

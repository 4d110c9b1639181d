import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { createLocalJWKSet, jwtVerify } from 'jose';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../../core-lite/database/pool.ts';
import { makeId } from '../../../core-lite/id.ts';
import { Secret } from '../../../core-lite/secret.ts';
import { mintToken } from '../../../core-lite/tokens/mint.ts';
import {
  importSigningKey,
  listSigningKeys,
  loadPublicJwks,
  loadSigningKey,
  loadVerifyingKeys,
  revokeSigningKey,
  rotateSigningKey,
} from '../../../core-lite/tokens/signing-keys.ts';
import { VerifiedToken, verifyToken } from '../../../core-lite/tokens/verify.ts';
import { createInstallation, type Installation } from '../../support/installation.ts';

const NOW = new Date();
let installation: Installation;
let core: Database;
let egress: Database;

beforeAll(async () => {
  installation = await createInstallation();
  core = installation.as('sallyport_core');
  egress = installation.as('sallyport_egress');
});
afterAll(() => installation?.close());
beforeEach(async () => {
  await installation.owner.query('DELETE FROM signing_keys');
  await rotate();
});

describe('a rotation', () => {
  it('signs with the new key; what the old one signed goes on verifying until it is revoked', async () => {
    const before = await mint();
    const old = (await loadSigningKey(core, installation.seals.signing)).kid;
    const kid = await rotate();
    const after = await mint();
    expect((await loadSigningKey(core, installation.seals.signing)).kid).toBe(kid);
    expect([await verify(before), await verify(after)]).toEqual([old, kid]);
    await core.transaction((tx) => revokeSigningKey(tx, old));
    expect([await verify(before), await verify(after)]).toEqual(['token_untrusted', kid]);
    expect(await listSigningKeys(core)).toMatchObject([
      { kid, state: 'current', imported: false, revokedAt: null },
      { kid: old, state: 'revoked', revokedAt: expect.any(Date) },
    ]);
  });

  it('done by several at once leaves one current key', async () => {
    await Promise.allSettled([rotate(), rotate(), rotate(), rotate()]);
    const keys = await listSigningKeys(core);
    expect(keys.filter((key) => key.state === 'current')).toHaveLength(1);
    expect(await verify(await mint())).toBe(keys.find((key) => key.state === 'current')?.kid);
  });

  it('is core’s alone', async () => {
    for (const role of ['sallyport_gates', 'sallyport_egress'] as const) {
      const database = installation.as(role);
      await expect(
        database.transaction((tx) => rotateSigningKey(tx, installation.seals.signing)),
      ).rejects.toThrow();
      await expect(loadSigningKey(database, installation.seals.signing)).rejects.toMatchObject({
        code: 'database_rights',
      });
      expect((await loadVerifyingKeys(database)).byKid.size).toBe(1);
    }
  });
});

describe('a revocation', () => {
  it('of the current key is refused', async () => {
    const { kid } = await loadSigningKey(core, installation.seals.signing);
    await expect(core.transaction((tx) => revokeSigningKey(tx, kid))).rejects.toMatchObject({
      code: 'conflict',
    });
    expect(await verify(await mint())).toBe(kid);
  });

  it('of a key that is not there is told', async () => {
    await expect(core.transaction((tx) => revokeSigningKey(tx, 'none'))).rejects.toMatchObject({
      code: 'not_found',
    });
  });

  it('wipes the private half', async () => {
    const { kid } = await loadSigningKey(core, installation.seals.signing);
    await rotate();
    await core.transaction((tx) => revokeSigningKey(tx, kid));
    expect(
      await installation.owner.query('SELECT sealed_private FROM signing_keys WHERE kid = $1', [kid]),
    ).toEqual([{ sealed_private: null }]);
  });

  it('done twice keeps the time of the first', async () => {
    const { kid } = await loadSigningKey(core, installation.seals.signing);
    await rotate();
    await core.transaction((tx) => revokeSigningKey(tx, kid));
    const [first] = await installation.owner.query('SELECT revoked_at FROM signing_keys WHERE kid = $1', [
      kid,
    ]);
    await core.transaction((tx) => revokeSigningKey(tx, kid)).catch(() => {});
    expect(
      await installation.owner.query('SELECT revoked_at FROM signing_keys WHERE kid = $1', [kid]),
    ).toEqual([first]);
  });

  it('is not undone by importing the key again', async () => {
    const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const kid = await importKey(spki(pair.publicKey));
    await core.transaction((tx) => revokeSigningKey(tx, kid));
    await expect(importKey(spki(pair.publicKey))).rejects.toMatchObject({ code: 'conflict' });
    expect((await loadVerifyingKeys(core)).byKid.has(kid)).toBe(false);
  });
});

describe('an import', () => {
  const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });

  it('of a public key verifies what its private half signed elsewhere', async () => {
    const kid = await importKey(spki(pair.publicKey));
    const { token } = await mintToken(
      'egress',
      CLAIMS,
      { kid, privateKey: pair.privateKey },
      installation.tenantId,
      NOW,
    );
    expect(await verify(token.reveal())).toBe(kid);
    expect(await listSigningKeys(core)).toContainEqual(
      expect.objectContaining({ kid, state: 'previous', imported: true }),
    );
  });

  it.each<[name: string, pem: () => string]>([
    ['PKCS#8', () => pair.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string],
    ['SEC 1', () => pair.privateKey.export({ type: 'sec1', format: 'pem' }) as string],
  ])('of a private key in %s signs when it is asked to', async (_, pem) => {
    const before = await mint();
    const kid = await importKey(pem(), true);
    expect(await verify(await mint())).toBe(kid);
    expect(await verify(before)).not.toBe('token_untrusted');
  });

  it('of a private key that does not sign keeps only the public half', async () => {
    const kid = await importKey(pair.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string);
    expect(
      await installation.owner.query('SELECT sealed_private FROM signing_keys WHERE kid = $1', [kid]),
    ).toEqual([{ sealed_private: null }]);
  });

  it.each<[name: string, pem: () => string, current: boolean, code: string]>([
    ['a public key that shall sign', () => spki(pair.publicKey), true, 'conflict'],
    [
      'P-384',
      () => spki(generateKeyPairSync('ec', { namedCurve: 'P-384' }).publicKey),
      false,
      'input_invalid',
    ],
    [
      'secp256k1',
      () => spki(generateKeyPairSync('ec', { namedCurve: 'secp256k1' }).publicKey),
      false,
      'input_invalid',
    ],
    ['Ed25519', () => spki(generateKeyPairSync('ed25519').publicKey), false, 'input_invalid'],
    [
      'RSA',
      () => spki(generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey),
      false,
      'input_invalid',
    ],
    [
      'an encrypted key',
      () =>
        pair.privateKey.export({
          type: 'pkcs8',
          format: 'pem',
          cipher: 'aes-256-cbc',
          passphrase: 'x',
        }) as string,
      true,
      'input_invalid',
    ],
    ['garbage', () => 'canary-garbage', false, 'input_invalid'],
    [
      'garbage in armour',
      () => '-----BEGIN PRIVATE KEY-----\ncanary\n-----END PRIVATE KEY-----\n',
      true,
      'input_invalid',
    ],
    ['nothing', () => '', false, 'input_invalid'],
    ['half a key', () => spki(pair.publicKey).slice(0, 80), false, 'input_invalid'],
  ])('of %s is refused', async (_, pem, current, code) => {
    const error = await importKey(pem(), current).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ name: 'Fault', code });
    expect(String(error)).not.toContain('canary');
    expect(await listSigningKeys(core)).toHaveLength(1);
  });

  it('of a key that is there is a conflict, and the current one stays', async () => {
    const { kid } = await loadSigningKey(core, installation.seals.signing);
    await importKey(spki(pair.publicKey));
    await expect(
      importKey(pair.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string, true),
    ).rejects.toMatchObject({ code: 'conflict' });
    expect((await loadSigningKey(core, installation.seals.signing)).kid).toBe(kid);
  });
});

describe('the public keys', () => {
  it('verify for anyone, without private parts', async () => {
    await rotate();
    const jwks = await loadPublicJwks(core);
    expect(jwks.keys).toHaveLength(2);
    for (const key of jwks.keys) {
      expect(Object.keys(key).sort()).toEqual(['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y']);
    }
    const { payload } = await jwtVerify(await mint(), createLocalJWKSet(jwks), {
      audience: 'sallyport-egress',
    });
    expect(payload['sub']).toBe(CLAIMS.sub);
  });

  it('do not hold a revoked one', async () => {
    const { kid } = await loadSigningKey(core, installation.seals.signing);
    await rotate();
    await core.transaction((tx) => revokeSigningKey(tx, kid));
    expect((await loadPublicJwks(core)).keys.map((key) => key.kid)).not.toContain(kid);
  });
});

it('a private half that was moved to another key does not open', async () => {
  await rotate();
  await installation.owner.query(
    `UPDATE signing_keys SET sealed_private = (SELECT sealed_private FROM signing_keys WHERE state = 'previous') WHERE state = 'current'`,
  );
  await expect(loadSigningKey(core, installation.seals.signing)).rejects.toMatchObject({
    code: 'seal_broken',
  });
});

async function mint(): Promise<string> {
  const key = await loadSigningKey(core, installation.seals.signing);
  return (await mintToken('egress', CLAIMS, key, installation.tenantId, NOW)).token.reveal();
}

/** The id of the key that signed it, or why it is refused; read as egress reads it. */
async function verify(token: string): Promise<string> {
  const result = await verifyToken('egress', token, await loadVerifyingKeys(egress), NOW);
  return result instanceof VerifiedToken ? result.kid : result;
}

function rotate(): Promise<string> {
  return core.transaction((tx) => rotateSigningKey(tx, installation.seals.signing));
}

function importKey(pem: string, current = false): Promise<string> {
  return core.transaction((tx) => importSigningKey(tx, installation.seals.signing, new Secret(pem), current));
}

function spki(key: KeyObject): string {
  return key.export({ type: 'spki', format: 'pem' }) as string;
}

const CLAIMS = { sub: makeId('env'), hep: 1, pod: 'pod-1' };

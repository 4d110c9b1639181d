/**
 * Signing keys: one current (signs and verifies), previous ones (only verify, until what they signed has expired),
 * revoked ones (neither, at once). The private half is sealed with the class key `signing`, which only core opens.
 */
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { type CryptoKey, calculateJwkThumbprint, importJWK, type JWK } from 'jose';
import type { Queryable } from '../database/pool.ts';
import { Fault, NoSuch } from '../errors.ts';
import { Secret } from '../secret.ts';
import type { SealKey } from '../vault/seal.ts';

export interface SigningKey {
  readonly kid: string;
  readonly privateKey: KeyObject;
}

/** What a verifier needs: public keys by id, and whose tokens they are. */
export interface VerifyingKeys {
  readonly tenantId: string;
  readonly byKid: ReadonlyMap<string, CryptoKey>;
}

export interface SigningKeySummary {
  readonly kid: string;
  readonly state: 'current' | 'previous' | 'revoked';
  readonly imported: boolean;
  readonly createdAt: Date;
  readonly revokedAt: Date | null;
}

/** Reads the keys that verify now. Any service's role may. */
export async function loadVerifyingKeys(db: Queryable): Promise<VerifyingKeys> {
  const [tenant] = await db.query<{ id: string }>('SELECT id FROM tenant');
  if (!tenant) throw new Fault('database_not_migrated', 'the installation has not been set up yet');
  const rows = await db.query<{ kid: string; public_jwk: JWK }>(
    `SELECT kid, public_jwk FROM signing_keys WHERE state IN ('current', 'previous')`,
  );
  const keys = await Promise.all(
    rows.map(async (row) => [row.kid, await importPublic(row.public_jwk)] as const),
  );
  return { tenantId: tenant.id, byKid: new Map(keys) };
}

/** The public keys as RFC 7517 has them, for anyone who verifies outside. */
export async function loadPublicJwks(db: Queryable): Promise<{ keys: JWK[] }> {
  const rows = await db.query<{ kid: string; public_jwk: JWK }>(
    `SELECT kid, public_jwk FROM signing_keys WHERE state IN ('current', 'previous') ORDER BY created_at`,
  );
  return { keys: rows.map((row) => ({ ...row.public_jwk, kid: row.kid, alg: 'ES256', use: 'sig' })) };
}

/** The key that signs now. Only core's role may read it, and only with its class key does it open. */
export async function loadSigningKey(db: Queryable, seal: SealKey): Promise<SigningKey> {
  const [row] = await db.query<{ kid: string; sealed_private: Buffer }>(
    `SELECT kid, sealed_private FROM signing_keys WHERE state = 'current'`,
  );
  if (!row) throw new Fault('not_found', 'there is no current signing key');
  const pem = seal.open(row.sealed_private, place(row.kid));
  return { kid: row.kid, privateKey: createPrivateKey(pem.reveal()) };
}

export async function listSigningKeys(db: Queryable): Promise<SigningKeySummary[]> {
  return db.query<SigningKeySummary>(
    `SELECT kid, state, imported, created_at AS "createdAt", revoked_at AS "revokedAt"
       FROM signing_keys ORDER BY created_at DESC, kid`,
  );
}

/** Makes a new current key; the one before goes on verifying. @param tx a transaction @returns its id */
export async function rotateSigningKey(tx: Queryable, seal: SealKey): Promise<string> {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return insertKey(tx, privateKey, seal, { imported: false, current: true });
}

/**
 * Takes a key that was made outside. A public key verifies; a private one signs too if `current` is asked.
 * Rejects with Fault `input_invalid` (not a P-256 key in PEM) or `conflict` (already there, or a public key as current).
 * @param tx a transaction
 */
export async function importSigningKey(
  tx: Queryable,
  seal: SealKey,
  pem: Secret,
  current: boolean,
): Promise<string> {
  return insertKey(tx, parsePem(pem), seal, { imported: true, current });
}

/** Revokes a key: what it signed is refused at once. The current key is rotated first. @param tx a transaction */
export async function revokeSigningKey(tx: Queryable, kid: string): Promise<void> {
  const [row] = await tx.query<{ state: string }>(
    'SELECT state FROM signing_keys WHERE kid = $1 FOR UPDATE',
    [kid],
  );
  if (!row) throw new NoSuch('signing key', kid);
  if (row.state === 'current') throw new Fault('conflict', 'the current key cannot be revoked: rotate first');
  await tx.query(
    `UPDATE signing_keys SET state = 'revoked', revoked_at = now(), sealed_private = NULL
      WHERE kid = $1 AND state <> 'revoked'`,
    [kid],
  );
}

async function insertKey(
  tx: Queryable,
  key: KeyObject,
  seal: SealKey,
  options: { readonly imported: boolean; readonly current: boolean },
): Promise<string> {
  if (options.current && key.type !== 'private') throw new Fault('conflict', 'a public key cannot sign');
  const jwk = publicJwk(key);
  const kid = (await calculateJwkThumbprint(jwk)).slice(0, KID_CHARS);
  if ((await tx.query('SELECT 1 FROM signing_keys WHERE kid = $1', [kid])).length > 0) {
    throw new Fault('conflict', `the key ${kid} is already there`);
  }
  if (options.current) await tx.query(`UPDATE signing_keys SET state = 'previous' WHERE state = 'current'`);
  // A private key that does not sign is not kept: nothing needs it.
  const sealed = options.current ? seal.seal(exportPrivate(key), place(kid)) : null;
  await tx.query(
    'INSERT INTO signing_keys (kid, state, public_jwk, sealed_private, imported) VALUES ($1, $2, $3, $4, $5)',
    [kid, options.current ? 'current' : 'previous', jwk, sealed, options.imported],
  );
  return kid;
}

function parsePem(pem: Secret): KeyObject {
  const text = pem.reveal();
  try {
    const key = text.includes('PRIVATE KEY') ? createPrivateKey(text) : createPublicKey(text);
    if (key.asymmetricKeyType === 'ec' && key.asymmetricKeyDetails?.namedCurve === 'prime256v1') return key;
  } catch {
    // Falls through: the library's message may hold parts of the key.
  }
  throw new Fault('input_invalid', 'the file holds no P-256 key in PEM');
}

function publicJwk(key: KeyObject): JWK {
  const { kty, crv, x, y } = createPublicKey(
    key.type === 'private' ? exportPrivate(key).reveal() : exportPublic(key),
  ).export({ format: 'jwk' });
  return { kty, crv, x, y } as JWK;
}

function exportPrivate(key: KeyObject): Secret {
  return new Secret(key.export({ type: 'pkcs8', format: 'pem' }) as string);
}

function exportPublic(key: KeyObject): string {
  return key.export({ type: 'spki', format: 'pem' }) as string;
}

async function importPublic(jwk: JWK): Promise<CryptoKey> {
  return (await importJWK({ ...jwk, alg: 'ES256' }, 'ES256')) as CryptoKey;
}

function place(kid: string): string {
  return `signing_keys ${kid} sealed_private 1`;
}

/** 96 bits of the RFC 7638 thumbprint tell keys apart and keep tokens short. */
const KID_CHARS = 16;

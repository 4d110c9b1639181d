/**
 * The rows of current tokens. All times are the database's, so that replicas whose clocks differ agree; they come out as
 * what is left of them. A token is sealed for its row and version; nothing here asks a provider for one.
 */
import type { Queryable } from '../database/pool.ts';
import type { Secret } from '../secret.ts';
import type { IssuedToken } from './oauth-answer.ts';
import { type OauthFailure, type OauthFailureCode, retryDelayS } from './oauth-failure.ts';
import type { SealKey } from './seal.ts';

/** What is known of a credential's token. */
export interface Grant {
  /** Of the credential that it belongs to. */
  readonly credentialVersion: number;
  /** Grows with every token, over rotations too: it names one token. */
  readonly version: number;
  /** `null` before there was one, and after a rotation. */
  readonly access: Secret | null;
  readonly stale: boolean;
  /** Milliseconds from when it was read; negative once it is over. */
  readonly refreshInMs: number;
  readonly expiresInMs: number;
  readonly failure: OauthFailureCode | null;
  readonly failures: number;
  readonly retryInMs: number;
}

/** A grant that nobody else renews for now. */
export interface ClaimedGrant extends Grant {
  readonly refresh: Secret | null;
}

export type Claim =
  | { readonly kind: 'claimed'; readonly grant: ClaimedGrant }
  /** It has a good token after all, or it has to wait after a failure. */
  | { readonly kind: 'settled'; readonly grant: Grant }
  | { readonly kind: 'busy'; readonly claimedForMs: number }
  /** The credential was rotated or deleted. */
  | { readonly kind: 'superseded' };

/** Whose token, and whose it is by now. */
export interface GrantOwner {
  readonly credentialId: string;
  readonly credentialVersion: number;
}

/** `null` where none was ever asked for. Rejects with Fault `database_unreachable` or `seal_broken`. */
export async function loadGrant(db: Queryable, seal: SealKey, id: string): Promise<Grant | null> {
  const [row] = await db.query<GrantRow>(`SELECT ${COLUMNS} FROM oauth_grants WHERE credential_id = $1`, [
    id,
  ]);
  return row ? readGrant(seal, id, row) : null;
}

/**
 * Takes the right to ask for the next token, unless one is there, somebody else asks, or it is too early after a
 * failure. A claim ends by itself: its owner may die.
 * @param tx a transaction, short: nothing is asked of a provider in it
 * @param claimant names the attempt
 */
export async function claimGrant(
  tx: Queryable,
  seal: SealKey,
  { credentialId, credentialVersion }: GrantOwner,
  claimant: string,
): Promise<Claim> {
  await tx.query(
    `INSERT INTO oauth_grants (credential_id, credential_version)
     SELECT id, version FROM credentials WHERE id = $1 AND version = $2 ON CONFLICT DO NOTHING`,
    [credentialId, credentialVersion],
  );
  const [row] = await tx.query<GrantRow>(
    `SELECT ${COLUMNS} FROM oauth_grants WHERE credential_id = $1 AND credential_version = $2 FOR UPDATE`,
    [credentialId, credentialVersion],
  );
  if (!row) return { kind: 'superseded' };
  const grant = readGrant(seal, credentialId, row);
  if (isFresh(grant) || grant.retryInMs > 0) return { kind: 'settled', grant };
  if (row.claimed_ms > 0) return { kind: 'busy', claimedForMs: row.claimed_ms };
  await tx.query(
    `UPDATE oauth_grants SET claimed_by = $2, claimed_until = clock_timestamp() + make_interval(secs => $3)
      WHERE credential_id = $1`,
    [credentialId, claimant, CLAIM_S],
  );
  const place = grantPlace(credentialId, `refresh ${row.version}`);
  const refresh = row.sealed_refresh && seal.open(row.sealed_refresh, place);
  return { kind: 'claimed', grant: { ...grant, refresh } };
}

/**
 * Keeps a new token, with the refresh token that is good from now on: both or none, before anybody uses either.
 * @param before the version of the token that it follows
 * @param token its `refresh` is the one that came along, or the one before where none did
 * @param tookMs how long ago it was asked for
 * @returns its version; `null` where the credential was rotated, or another token came first
 */
export async function storeToken(
  db: Queryable,
  seal: SealKey,
  { credentialId, credentialVersion }: GrantOwner,
  before: number,
  token: IssuedToken,
  tookMs: number,
): Promise<number | null> {
  const version = before + 1;
  const aheadS = Math.min(token.lifeS * AHEAD_SHARE, MAX_AHEAD_S);
  const leftS = Math.max(0, token.lifeS - tookMs / 1000);
  const [row] = await db.query<{ version: number }>(
    `UPDATE oauth_grants SET version = $3 + 1, sealed_access = $4, sealed_refresh = $5,
        expires_at = clock_timestamp() + make_interval(secs => $6),
        refresh_at = clock_timestamp() + make_interval(secs => $7),
        stale = false, claimed_by = NULL, claimed_until = NULL, failure = NULL, failures = 0, retry_at = NULL
      WHERE credential_id = $1 AND credential_version = $2 AND version = $3 RETURNING version`,
    [
      credentialId,
      credentialVersion,
      before,
      seal.seal(token.access, grantPlace(credentialId, `access ${version}`)),
      token.refresh && seal.seal(token.refresh, grantPlace(credentialId, `refresh ${version}`)),
      leftS,
      Math.max(0, leftS - aheadS),
    ],
  );
  return row?.version ?? null;
}

/** Notes why there is no new token, and gives the claim back. Not where somebody else has it by now. */
export async function storeFailure(
  db: Queryable,
  { credentialId, credentialVersion }: GrantOwner,
  claimant: string,
  failure: OauthFailure,
  failuresBefore: number,
): Promise<void> {
  await db.query(
    `UPDATE oauth_grants SET failure = $4, failures = failures + 1, claimed_by = NULL, claimed_until = NULL,
        retry_at = clock_timestamp() + make_interval(secs => $5)
      WHERE credential_id = $1 AND credential_version = $2 AND claimed_by = $3`,
    [credentialId, credentialVersion, claimant, failure.code, retryDelayS(failure, failuresBefore)],
  );
}

/** Gives a claim back that nothing came of: the provider is not to blame. */
export async function releaseClaim(db: Queryable, credentialId: string, claimant: string): Promise<void> {
  await db.query(
    `UPDATE oauth_grants SET claimed_by = NULL, claimed_until = NULL WHERE credential_id = $1 AND claimed_by = $2`,
    [credentialId, claimant],
  );
}

/**
 * Marks exactly one token stale: a late 401 of an older one says nothing of the token there is now. An origin that
 * refuses every token would have one asked for with each request: so it is marked only once in a while.
 * @returns whether another token than this one is there, or can be asked for
 */
export async function markStale(db: Queryable, id: string, version: number): Promise<boolean> {
  await db.query(
    `UPDATE oauth_grants SET stale = true, staled_at = clock_timestamp()
      WHERE credential_id = $1 AND version = $2 AND NOT stale
        AND (staled_at IS NULL OR staled_at < clock_timestamp() - make_interval(secs => $3))`,
    [id, version, STALE_AGAIN_S],
  );
  const [row] = await db.query<{ version: number; stale: boolean }>(
    'SELECT version, stale FROM oauth_grants WHERE credential_id = $1',
    [id],
  );
  return row !== undefined && (row.version > version || row.stale);
}

/** Whether it may be put on a request that begins now. */
export function isUsable({ access, stale, expiresInMs }: Grant): boolean {
  return access !== null && !stale && expiresInMs > LAST_MS;
}

/** Whether nobody needs to ask for another yet. */
function isFresh(grant: Grant): boolean {
  return isUsable(grant) && grant.refreshInMs > 0;
}

function readGrant(seal: SealKey, id: string, row: GrantRow): Grant {
  return {
    credentialVersion: row.credential_version,
    version: row.version,
    access: row.sealed_access && seal.open(row.sealed_access, grantPlace(id, `access ${row.version}`)),
    stale: row.stale,
    refreshInMs: row.refresh_ms,
    expiresInMs: row.expires_ms,
    failure: row.failure,
    failures: row.failures,
    retryInMs: row.retry_ms,
  };
}

function grantPlace(id: string, field: string): string {
  return `oauth_grants ${id} ${field}`;
}

interface GrantRow {
  readonly credential_version: number;
  readonly version: number;
  readonly sealed_access: Buffer | null;
  readonly sealed_refresh: Buffer | null;
  readonly stale: boolean;
  readonly refresh_ms: number;
  readonly expires_ms: number;
  readonly claimed_ms: number;
  readonly failure: OauthFailureCode | null;
  readonly failures: number;
  readonly retry_ms: number;
}

const left = (column: string, name: string): string =>
  `COALESCE(extract(epoch FROM ${column} - clock_timestamp()) * 1000, 0)::float8 AS ${name}`;
const COLUMNS = `credential_version, version, sealed_access, sealed_refresh, stale, failure, failures,
  ${left('refresh_at', 'refresh_ms')}, ${left('expires_at', 'expires_ms')}, ${left('claimed_until', 'claimed_ms')},
  ${left('retry_at', 'retry_ms')}`;
/** More than a token request may take with all retries to store its answer. */
const CLAIM_S = 20;
/** A request that begins with a token reaches the origin before the token ends. */
const LAST_MS = 1_000;
/** Another token is asked for when a fifth of its life is left, or five minutes. */
const AHEAD_SHARE = 0.2;
const MAX_AHEAD_S = 300;
const STALE_AGAIN_S = 10;

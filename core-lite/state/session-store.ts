/**
 * Sessions as rows: opened, listed, ended. A session is never deleted and its manifest never changes; ending it ends
 * its active turn in the same transaction.
 */
import type { Queryable } from '../database/pool.ts';
import { Fault, NoSuch } from '../errors.ts';
import { makeId } from '../id.ts';
import { findEnvironment } from './environment-store.ts';
import { listCredentialNames, type Manifest } from './manifest/manifest.ts';
import { lockSession } from './session-lock.ts';

/** A session as an operator opens it. */
export interface SessionInput {
  readonly agent: string;
  /** An environment's name. */
  readonly environment: string | null;
  /** Opaque to us. */
  readonly user: string | null;
  readonly manifest: Manifest;
}

export interface SessionSummary {
  readonly id: string;
  readonly agent: string;
  /** The environment's name; it may be deleted by now. */
  readonly environment: string | null;
  readonly environmentId: string | null;
  readonly user: string | null;
  readonly leaseEpoch: number;
  readonly activeTurn: string | null;
  readonly openedAt: Date;
  readonly endedAt: Date | null;
}

export interface SessionDetail extends SessionSummary {
  readonly manifest: Manifest;
  /** Who took the newest lease; moments are RFC 3339, as they come out of the database's JSON. */
  readonly lease: { readonly holder: string; readonly takenAt: string; readonly heardAt: string } | null;
}

export interface SessionFilter {
  readonly agent?: string;
  /** Only open ones, or only ended ones. */
  readonly open?: boolean;
  /** Only sessions older than this id: the next page. */
  readonly before?: string;
  readonly limit: number;
}

/**
 * Rejects with Fault `not_found` (the environment, a credential of the manifest) or `input_invalid` (a credential of a
 * kind that no gate can send).
 * @param tx a transaction
 */
export async function openSession(tx: Queryable, input: SessionInput): Promise<SessionDetail> {
  const environment = input.environment === null ? null : await findEnvironment(tx, input.environment);
  await checkCredentials(tx, listCredentialNames(input.manifest));
  const id = makeId('ses');
  await tx.query(
    'INSERT INTO sessions (id, agent, environment_id, owner_user, manifest) VALUES ($1, $2, $3, $4, $5)',
    [id, input.agent, environment?.id ?? null, input.user, input.manifest],
  );
  return findSession(tx, id);
}

/**
 * Ends the session and its active turn; one that has ended stays as it is. Rejects with Fault `not_found`.
 * @param tx a transaction
 * @returns the turn that was ended with it, or `null` where nothing was changed
 */
export async function endSession(tx: Queryable, id: string): Promise<{ turn: string | null } | null> {
  const { ended } = await lockSession(tx, id);
  if (ended) return null;
  await tx.query('UPDATE sessions SET ended_at = clock_timestamp() WHERE id = $1', [id]);
  const [turn] = await tx.query<{ id: string }>(
    `UPDATE turns SET state = 'ended', ended_at = clock_timestamp()
      WHERE session_id = $1 AND state = 'active' RETURNING id`,
    [id],
  );
  return { turn: turn?.id ?? null };
}

/** Rejects with Fault `not_found`. */
export async function findSession(db: Queryable, id: string): Promise<SessionDetail> {
  const [row] = await db.query<SessionDetail>(
    `SELECT ${SUMMARY}, s.manifest, CASE WHEN l.epoch IS NOT NULL THEN
       json_build_object('holder', l.holder, 'takenAt', l.taken_at, 'heardAt', l.heard_at) END AS lease
     ${FROM} LEFT JOIN leases l ON l.session_id = s.id AND l.epoch = s.lease_epoch WHERE s.id = $1`,
    [id],
  );
  if (!row) throw new NoSuch('session', id);
  return row;
}

/** Newest first. */
export function listSessions(db: Queryable, filter: SessionFilter): Promise<SessionSummary[]> {
  return db.query<SessionSummary>(
    `SELECT ${SUMMARY} ${FROM}
      WHERE ($1::text IS NULL OR s.agent = $1) AND ($2::boolean IS NULL OR (s.ended_at IS NULL) = $2)
        AND ($3::text IS NULL OR s.id < $3) ORDER BY s.id DESC LIMIT $4`,
    [filter.agent ?? null, filter.open ?? null, filter.before ?? null, filter.limit],
  );
}

async function checkCredentials(db: Queryable, names: readonly string[]): Promise<void> {
  const rows = await db.query<{ name: string; kind: string }>(
    `SELECT v.name || '/' || c.name AS name, c.kind FROM credentials c JOIN vaults v ON v.id = c.vault_id
      WHERE v.name || '/' || c.name = ANY($1)`,
    [names],
  );
  for (const name of names) {
    const row = rows.find((candidate) => candidate.name === name);
    if (!row) throw new NoSuch('credential', name);
    if (!TOOL_KINDS.has(row.kind)) {
      throw new Fault(
        'input_invalid',
        `${name} is a ${row.kind}: an MCP server or HTTP tool takes ${[...TOOL_KINDS].join(', ')}`,
      );
    }
  }
}

const TOOL_KINDS: ReadonlySet<string> = new Set(['bearer', 'headers', 'oauth']);
const SUMMARY = `s.id, s.agent, e.name AS environment, s.environment_id AS "environmentId", s.owner_user AS "user",
  s.lease_epoch::float8 AS "leaseEpoch", t.id AS "activeTurn", s.opened_at AS "openedAt", s.ended_at AS "endedAt"`;
const FROM = `FROM sessions s LEFT JOIN environments e ON e.id = s.environment_id
  LEFT JOIN turns t ON t.session_id = s.id AND t.state = 'active'`;

/**
 * Turns as rows: started, ended by who holds the lease, cancelled by who may. At most one turn of a session is active;
 * the database holds that too. A turn that is over stays over.
 */
import type { Queryable } from '../database/pool.ts';
import { Fault } from '../errors.ts';
import { makeId } from '../id.ts';
import { type LockedTurn, lockSession, lockTurn, missingTurn } from './session-lock.ts';

export interface Turn {
  readonly id: string;
  readonly sessionId: string;
  readonly state: LockedTurn['state'];
  /** The session's, now. */
  readonly leaseEpoch: number;
  readonly startedAt: Date;
  readonly endedAt: Date | null;
}

/**
 * Rejects with Fault `not_found`, or `conflict` where the session has ended or a turn is active.
 * @param tx a transaction
 */
export async function startTurn(tx: Queryable, sessionId: string): Promise<Turn> {
  const session = await lockSession(tx, sessionId);
  if (session.ended) throw new Fault('conflict', `the session ${sessionId} has ended`);
  const [active] = await tx.query<{ id: string }>(
    `SELECT id FROM turns WHERE session_id = $1 AND state = 'active'`,
    [sessionId],
  );
  if (active) throw new Fault('conflict', `the turn ${active.id} of the session is still active`);
  const id = makeId('trn');
  await tx.query('INSERT INTO turns (id, session_id) VALUES ($1, $2)', [id, sessionId]);
  return findTurn(tx, id);
}

/**
 * Ends a turn for the holder of the lease. Rejects with Fault `not_found`, or `run_stale` where the turn is over or
 * the lease was taken over.
 * @param tx a transaction
 */
export async function endTurn(tx: Queryable, id: string, leaseEpoch: number): Promise<void> {
  requireCurrent(await lockTurn(tx, id), leaseEpoch);
  await finish(tx, id, 'ended');
}

/**
 * Cancels a turn whoever holds its lease; one that is over stays as it is. Rejects with Fault `not_found`.
 * @param tx a transaction
 * @returns whether it was active
 */
export async function cancelTurn(tx: Queryable, id: string): Promise<boolean> {
  const { state } = await lockTurn(tx, id);
  if (state !== 'active') return false;
  await finish(tx, id, 'cancelled');
  return true;
}

/** Rejects with Fault `not_found`. */
export async function findTurn(db: Queryable, id: string): Promise<Turn> {
  const [row] = await db.query<Turn>(`${SELECT} WHERE t.id = $1`, [id]);
  if (!row) throw missingTurn();
  return row;
}

/** Newest first. @param before only turns older than this id */
export function listTurns(db: Queryable, sessionId: string, limit: number, before?: string): Promise<Turn[]> {
  return db.query<Turn>(
    `${SELECT} WHERE t.session_id = $1 AND ($2::text IS NULL OR t.id < $2) ORDER BY t.id DESC LIMIT $3`,
    [sessionId, before ?? null, limit],
  );
}

/** Throws Fault `run_stale` unless the turn is active. */
export function requireActive({ id, state }: LockedTurn): void {
  if (state !== 'active') throw new Fault('run_stale', `the turn ${id} is ${state}`);
}

/** Throws Fault `run_stale` unless the turn is active and `leaseEpoch` is its session's. */
export function requireCurrent(turn: LockedTurn, leaseEpoch: number): void {
  requireActive(turn);
  if (turn.session.leaseEpoch !== leaseEpoch) {
    throw new Fault('run_stale', `the lease ${leaseEpoch} of the turn ${turn.id} was taken over`);
  }
}

async function finish(tx: Queryable, id: string, state: 'ended' | 'cancelled'): Promise<void> {
  await tx.query('UPDATE turns SET state = $2, ended_at = clock_timestamp() WHERE id = $1', [id, state]);
}

const SELECT = `
  SELECT t.id, t.session_id AS "sessionId", t.state, s.lease_epoch::float8 AS "leaseEpoch",
    t.started_at AS "startedAt", t.ended_at AS "endedAt"
  FROM turns t JOIN sessions s ON s.id = t.session_id`;

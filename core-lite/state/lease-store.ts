/**
 * Leases as rows: who advances a session now. Taking one bumps the session's lease epoch, so that every older run
 * token is stale from that commit on; a heartbeat proves that the lease is still held.
 */
import type { Queryable } from '../database/pool.ts';
import { Fault } from '../errors.ts';
import { type LockedTurn, lockTurn } from './session-lock.ts';
import { requireActive, requireCurrent } from './turn-store.ts';

/** One lease of one turn: what the tokens of a run are minted for. */
export interface Run {
  readonly sessionId: string;
  readonly turnId: string;
  readonly agent: string;
  readonly environmentId: string | null;
  readonly leaseEpoch: number;
}

/**
 * Takes the lease of an active turn, from whoever had it. Rejects with Fault `not_found` or `run_stale`.
 * @param tx a transaction
 */
export async function takeLease(tx: Queryable, turnId: string, holder: string): Promise<Run> {
  const turn = await lockTurn(tx, turnId);
  requireActive(turn);
  const leaseEpoch = turn.session.leaseEpoch + 1;
  await tx.query('UPDATE sessions SET lease_epoch = $2 WHERE id = $1', [turn.session.id, leaseEpoch]);
  await tx.query('INSERT INTO leases (session_id, epoch, turn_id, holder) VALUES ($1, $2, $3, $4)', [
    turn.session.id,
    leaseEpoch,
    turnId,
    holder,
  ]);
  return { ...runOf(turn), leaseEpoch };
}

/**
 * Notes that the holder of a lease is alive. Rejects with Fault `not_found`, or `run_stale` where the turn is over,
 * the lease was taken over, or the lease is another turn's.
 * @param tx a transaction
 */
export async function hearLease(tx: Queryable, turnId: string, leaseEpoch: number): Promise<Run> {
  const turn = await lockTurn(tx, turnId, 'share');
  requireCurrent(turn, leaseEpoch);
  const heard = await tx.query(
    `UPDATE leases SET heard_at = clock_timestamp() WHERE session_id = $1 AND epoch = $2 AND turn_id = $3 RETURNING epoch`,
    [turn.session.id, leaseEpoch, turnId],
  );
  if (heard.length === 0)
    throw new Fault('run_stale', `nobody has taken the lease of the turn ${turnId} yet`);
  return runOf(turn);
}

/** The run as it stands, without a lease: for debugging. Rejects with Fault `not_found` or `run_stale`. */
export async function findRun(tx: Queryable, turnId: string): Promise<Run> {
  const turn = await lockTurn(tx, turnId, 'share');
  requireActive(turn);
  return runOf(turn);
}

function runOf({ id, session }: LockedTurn): Run {
  const { agent, environmentId, leaseEpoch } = session;
  return { sessionId: session.id, turnId: id, agent, environmentId, leaseEpoch };
}

/**
 * The one order of locks: whoever changes a session, its turns or its leases locks the session's row first, and
 * nothing else needs a lock. What is read before the lock may be old: only what these functions return may be judged.
 */
import type { Queryable } from '../database/pool.ts';
import { Fault, NoSuch } from '../errors.ts';

export interface LockedSession {
  readonly id: string;
  readonly agent: string;
  readonly environmentId: string | null;
  readonly leaseEpoch: number;
  readonly ended: boolean;
}

export interface LockedTurn {
  readonly id: string;
  readonly state: 'active' | 'ended' | 'cancelled';
  readonly session: LockedSession;
}

/** `update` is alone with the row; `share` is beside other shares and keeps changes away. */
type Strength = 'update' | 'share';

/** Rejects with Fault `not_found`. @param tx a transaction */
export async function lockSession(
  tx: Queryable,
  id: string,
  strength: Strength = 'update',
): Promise<LockedSession> {
  const [row] = await tx.query<LockedSession>(
    `SELECT id, agent, environment_id AS "environmentId", lease_epoch::float8 AS "leaseEpoch",
       ended_at IS NOT NULL AS ended FROM sessions WHERE id = $1 FOR ${SQL[strength]}`,
    [id],
  );
  if (!row) throw new NoSuch('session', id);
  return row;
}

/** The turn as it stands under its session's lock. Rejects with Fault `not_found`. @param tx a transaction */
export async function lockTurn(
  tx: Queryable,
  id: string,
  strength: Strength = 'update',
): Promise<LockedTurn> {
  const [place] = await tx.query<{ session: string }>(
    'SELECT session_id AS session FROM turns WHERE id = $1',
    [id],
  );
  if (!place) throw missingTurn();
  const session = await lockSession(tx, place.session, strength);
  // A statement of its own: one that waits for a lock sees the rows it did not lock as they were before.
  const [row] = await tx.query<Pick<LockedTurn, 'state'>>('SELECT state FROM turns WHERE id = $1', [id]);
  if (!row) throw missingTurn();
  return { id, state: row.state, session };
}

/** The answer for a turn that is not there, and for one that is somebody else's: to the letter the same. */
export function missingTurn(): Fault {
  return new Fault('not_found', 'there is no such turn');
}

const SQL: Readonly<Record<Strength, string>> = { update: 'UPDATE', share: 'SHARE' };

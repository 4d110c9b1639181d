/**
 * What each gate does for all of them with its heartbeat: it settles the calls of gates that died, and clears counters
 * away that nobody will ask for again. Both are done by one at a time and in bounded pieces.
 */
import type { Queryable } from '../database/pool.ts';

export async function tendBudgets(db: Queryable, replica: string): Promise<void> {
  for (let pieces = 0; pieces < MAX_PIECES; pieces += 1) {
    const [row] = await db.query<{ settled: number }>('SELECT bury_replicas($1) AS settled', [replica]);
    if (!row?.settled) break;
  }
  await db.query('SELECT sweep_counters()');
}

/** Of 500 calls each: more than a gate runs at once. */
const MAX_PIECES = 20;

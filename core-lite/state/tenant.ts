/** The tenant: the one installation. Nothing in a request selects it; its id stands in every token's issuer. */
import type { Queryable } from '../database/pool.ts';
import { Fault } from '../errors.ts';
import { makeId } from '../id.ts';

/** Makes the tenant if there is none. */
export async function makeTenant(tx: Queryable): Promise<void> {
  await tx.query('INSERT INTO tenant (id) VALUES ($1) ON CONFLICT (singleton) DO NOTHING', [makeId('tnt')]);
}

/** Rejects with Fault `database_not_migrated` before the first set-up. */
export async function loadTenantId(db: Queryable): Promise<string> {
  const [row] = await db.query<{ id: string }>('SELECT id FROM tenant');
  if (!row) throw new Fault('database_not_migrated', 'the installation has not been set up yet');
  return row.id;
}

/**
 * What the operator sets for the whole installation while it runs. Each is a column of the tenant's row; a change goes
 * through the change feed, so every replica follows within a second.
 */
import type { Queryable } from '../database/pool.ts';
import { Fault } from '../errors.ts';
import { BUILT_IN_MODELS } from './model.ts';

export interface TenantSettings {
  /** The built-in model that the gates answer every call from; `null` where each model is called. */
  readonly fixtureModel: string | null;
}

/** Rejects with Fault `database_not_migrated` before the first set-up. */
export async function loadTenantSettings(db: Queryable): Promise<TenantSettings> {
  const [row] = await db.query<TenantSettings>('SELECT fixture_model AS "fixtureModel" FROM tenant');
  if (!row) throw new Fault('database_not_migrated', 'the installation has not been set up yet');
  return row;
}

/** @returns the settings as they are now, and whether that is a change. Rejects with Fault `input_invalid`. */
export async function changeTenantSettings(
  tx: Queryable,
  { fixtureModel }: Partial<TenantSettings>,
): Promise<{ readonly settings: TenantSettings; readonly changed: boolean }> {
  if (fixtureModel !== undefined) {
    refuseUnlessBuiltIn(fixtureModel);
    const changed = await tx.query(
      'UPDATE tenant SET fixture_model = $1 WHERE fixture_model IS DISTINCT FROM $1 RETURNING id',
      [fixtureModel],
    );
    return { settings: await loadTenantSettings(tx), changed: changed.length > 0 };
  }
  return { settings: await loadTenantSettings(tx), changed: false };
}

function refuseUnlessBuiltIn(name: string | null): void {
  if (name === null || BUILT_IN_MODELS.some((model) => model.name === name)) return;
  const names = BUILT_IN_MODELS.map((model) => model.name).join(', ');
  throw new Fault('input_invalid', `fixtureModel is none of the built-in models: ${names}`);
}

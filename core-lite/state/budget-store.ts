/**
 * Budgets as rows: written by the operator, counted where calls start. A budget that becomes another one (its scope,
 * what it measures, its period) begins at nothing; a new limit leaves what was used as it is.
 */
import type { Queryable } from '../database/pool.ts';
import { NoSuch } from '../errors.ts';
import { makeId } from '../id.ts';
import { type BudgetInput, checkBudget } from './budget.ts';

interface Budget extends BudgetInput {
  readonly id: string;
  readonly name: string;
  readonly createdAt: Date;
}

/** How a budget stands in the window that runs now: of one with a counter for each, the counter with least left. */
export interface BudgetSummary extends Budget {
  /** Whose counter it is; `*` where nothing was used yet, or all share one. */
  readonly fullest: string;
  readonly used: number;
  /** By calls that run now. */
  readonly reserved: number;
  /** Less than nothing where calls took more than they were estimated at. */
  readonly left: number;
  /** When the window ends; `null` for a lifetime. */
  readonly resetsAt: Date | null;
}

/** Makes or replaces a budget; it holds from the commit on. Rejects with Fault `input_invalid`, or `not_found` (its session). */
export async function putBudget(tx: Queryable, name: string, input: BudgetInput): Promise<BudgetSummary> {
  checkBudget(input);
  const { scope, value, measure, limit, period } = input;
  if (scope === 'session' && value !== '*') await mustBeSession(tx, value);
  const kept = await tx.query(
    `UPDATE budgets SET amount = $6, updated_at = now()
      WHERE name = $1 AND scope = $2 AND scope_value = $3 AND measure = $4 AND period = $5 RETURNING id`,
    [name, scope, value, measure, period, limit],
  );
  if (kept.length === 0) {
    await tx.query('DELETE FROM budgets WHERE name = $1', [name]);
    await tx.query(
      'INSERT INTO budgets (id, name, scope, scope_value, measure, period, amount) VALUES ($1, $2, $3, $4, $5, $6, $7)',
      [makeId('bud'), name, scope, value, measure, period, limit],
    );
  }
  return findBudget(tx, name);
}

/** Agents come and go; a session that is not there never will be. */
async function mustBeSession(tx: Queryable, id: string): Promise<void> {
  const found = await tx.query('SELECT id FROM sessions WHERE id = $1', [id]);
  if (found.length === 0) throw new NoSuch('session', id);
}

/** Rejects with Fault `not_found`. */
export async function findBudget(db: Queryable, name: string): Promise<BudgetSummary> {
  const [row] = await db.query<BudgetSummary>(`${SELECT} WHERE b.name = $1`, [name]);
  if (!row) throw new NoSuch('budget', name);
  return row;
}

/** By name. */
export function listBudgets(db: Queryable): Promise<BudgetSummary[]> {
  return db.query<BudgetSummary>(`${SELECT} ORDER BY b.name`);
}

/** Calls that run now go on; nothing is held against it any more. Rejects with Fault `not_found`. */
export async function removeBudget(tx: Queryable, name: string): Promise<void> {
  const gone = await tx.query('DELETE FROM budgets WHERE name = $1 RETURNING id', [name]);
  if (gone.length === 0) throw new NoSuch('budget', name);
}

const SELECT = `
  SELECT b.id, b.name, b.scope, b.scope_value AS value, b.measure, b.amount::float8 AS limit, b.period,
    b.created_at AS "createdAt", coalesce(k.scope_value, b.scope_value) AS fullest,
    coalesce(k.used, 0)::float8 AS used, coalesce(k.reserved, 0)::float8 AS reserved,
    (b.amount - coalesce(k.used + k.reserved, 0))::float8 AS left, budget_reset(b.period, now()) AS "resetsAt"
  FROM budgets b LEFT JOIN LATERAL (
    SELECT scope_value, used, reserved FROM budget_counters
     WHERE budget_id = b.id AND window_start = budget_window(b.period, now())
     ORDER BY used + reserved DESC, scope_value LIMIT 1) k ON true`;

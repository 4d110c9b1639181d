/**
 * A budget: how much of something may be used, by whom together, in which time. One with the value `*` is that much
 * for each agent, session or turn. What it comes to is decided where calls start (`record/call-starts.ts`).
 */
import { Fault } from '../errors.ts';

export const SCOPES = ['tenant', 'agent', 'session', 'turn'] as const;
export type BudgetScope = (typeof SCOPES)[number];

/** `cost_usd`: US dollars by the providers' list prices. `tokens`: read and written together. `requests`: model calls. */
export const MEASURES = ['cost_usd', 'tokens', 'requests'] as const;
export type Measure = (typeof MEASURES)[number];

/** UTC's days and months, minutes by the clock; `lifetime` never begins anew. */
export const PERIODS = ['minute', 'day', 'month', 'lifetime'] as const;
export type Period = (typeof PERIODS)[number];

export interface BudgetInput {
  readonly scope: BudgetScope;
  /** One agent's name or one session's id; `*` for each its own. */
  readonly value: string;
  readonly measure: Measure;
  readonly limit: number;
  readonly period: Period;
}

/** Throws Fault `input_invalid` where the parts do not go together. */
export function checkBudget({ scope, value, measure, limit }: BudgetInput): void {
  if (value !== '*' && scope !== 'agent' && scope !== 'session') {
    throw new Fault('input_invalid', `a budget of the ${scope} names none: leave the value out`);
  }
  if (measure !== 'cost_usd' && !Number.isSafeInteger(limit)) {
    throw new Fault('input_invalid', `limit is not a whole number of ${measure}`);
  }
  if (measure === 'cost_usd' && limit > 0 && limit < LEAST_USD) {
    throw new Fault('input_invalid', 'limit is less than the smallest there is, 0.0000000001');
  }
}

/** Costs have ten places. */
const LEAST_USD = 1e-10;

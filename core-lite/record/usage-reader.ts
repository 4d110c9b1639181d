/** Sums the ledger of model calls for the operator. */
import type { Queryable } from '../database/pool.ts';
import { narrowUsage, type UsageNarrowing } from './usage-narrowing.ts';

export const USAGE_GROUPS = ['agent', 'session', 'turn', 'model', 'provider', 'client-agent', 'day'] as const;
type UsageGroup = (typeof USAGE_GROUPS)[number];

export interface UsageFilter extends UsageNarrowing {
  readonly by: UsageGroup;
  readonly limit: number;
}

/** What the calls of one group used together; tokens that no provider told of count as none, and so do costs. */
export interface UsageSum {
  /** The agent, the id, the model, the provider, or the day in UTC; `-` for calls that have none. */
  readonly group: string;
  readonly calls: number;
  /** Calls that did not end as `completed`. */
  readonly failed: number;
  /** Completed calls whose provider did not say what they used. */
  readonly unmetered: number;
  /** Calls whose tokens are known, but not their price. */
  readonly unpriced: number;
  /** Calls that nobody counted to the end: some of their figures are presumed, or what was reserved. */
  readonly presumed: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedTokens: number;
  readonly cacheWriteTokens: number;
  readonly reasoningTokens: number;
  /** US dollars. */
  readonly costUsd: number;
  readonly lastAt: Date;
}

/** The costliest group first, then the busiest; days in their order. */
export async function sumUsage(db: Queryable, { by, limit, ...narrowing }: UsageFilter): Promise<UsageSum[]> {
  const { where, values } = await narrowUsage(db, narrowing);
  const busiest = 'sum(coalesce(input_tokens, 0) + coalesce(output_tokens, 0))';
  const order = by === 'day' ? '1' : `coalesce(sum(cost_usd), 0) DESC, ${busiest} DESC, 1`;
  return db.query<UsageSum>(
    `SELECT ${COLUMNS[by]} AS "group", ${SUMS} FROM model_usage ${where}
      GROUP BY 1 ORDER BY ${order} LIMIT $${values.length + 1}`,
    [...values, limit],
  );
}

const COLUMNS: Readonly<Record<UsageGroup, string>> = {
  agent: 'agent',
  session: 'session_id',
  turn: 'turn_id',
  model: 'model',
  provider: `coalesce(provider, '-')`,
  'client-agent': `coalesce(client_agent, '-')`,
  day: `to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD')`,
};
// A sum of bigint is numeric, which pg gives as text; no installation reaches 2^53 tokens.
const SUMS = `count(*)::int AS calls, (count(*) FILTER (WHERE outcome <> 'completed'))::int AS failed,
  (count(*) FILTER (WHERE outcome = 'completed' AND (output_tokens IS NULL OR presumed)))::int AS unmetered,
  (count(*) FILTER (WHERE cost_usd IS NULL AND input_tokens IS NOT NULL AND output_tokens IS NOT NULL))::int AS unpriced,
  (count(*) FILTER (WHERE presumed))::int AS presumed,
  coalesce(sum(input_tokens), 0)::float8 AS "inputTokens", coalesce(sum(output_tokens), 0)::float8 AS "outputTokens",
  coalesce(sum(cached_tokens), 0)::float8 AS "cachedTokens",
  coalesce(sum(cache_write_tokens), 0)::float8 AS "cacheWriteTokens",
  coalesce(sum(reasoning_tokens), 0)::float8 AS "reasoningTokens", coalesce(sum(cost_usd), 0)::float8 AS "costUsd",
  max(at) AS "lastAt"`;

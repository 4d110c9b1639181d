/** Sums the ledger of model calls for the operator. */
import type { Queryable } from '../database/pool.ts';

type UsageGroup = 'agent' | 'session' | 'turn' | 'model' | 'day';

export interface UsageFilter {
  readonly by: UsageGroup;
  readonly since?: Date;
  readonly until?: Date;
  readonly limit: number;
}

/** What the calls of one group used together; tokens that no provider told of count as none. */
export interface UsageSum {
  /** The agent, the id, the model, or the day in UTC. */
  readonly group: string;
  readonly calls: number;
  /** Calls that did not end as `completed`. */
  readonly failed: number;
  /** Completed calls whose provider did not say what they used. */
  readonly unmetered: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedTokens: number;
  readonly cacheWriteTokens: number;
  readonly reasoningTokens: number;
  readonly lastAt: Date;
}

/** The busiest group first; days in their order. */
export function sumUsage(db: Queryable, { by, since, until, limit }: UsageFilter): Promise<UsageSum[]> {
  const order = by === 'day' ? '1' : `sum(coalesce(input_tokens, 0) + coalesce(output_tokens, 0)) DESC, 1`;
  return db.query<UsageSum>(
    `SELECT ${COLUMNS[by]} AS "group", ${SUMS} FROM model_usage
      WHERE ($1::timestamptz IS NULL OR at >= $1) AND ($2::timestamptz IS NULL OR at < $2)
      GROUP BY 1 ORDER BY ${order} LIMIT $3`,
    [since ?? null, until ?? null, limit],
  );
}

const COLUMNS: Readonly<Record<UsageGroup, string>> = {
  agent: 'agent',
  session: 'session_id',
  turn: 'turn_id',
  model: 'model',
  day: `to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD')`,
};
// A sum of bigint is numeric, which pg gives as text; no installation reaches 2^53 tokens.
const SUMS = `count(*)::int AS calls, (count(*) FILTER (WHERE outcome <> 'completed'))::int AS failed,
  (count(*) FILTER (WHERE outcome = 'completed' AND output_tokens IS NULL))::int AS unmetered,
  coalesce(sum(input_tokens), 0)::float8 AS "inputTokens", coalesce(sum(output_tokens), 0)::float8 AS "outputTokens",
  coalesce(sum(cached_tokens), 0)::float8 AS "cachedTokens",
  coalesce(sum(cache_write_tokens), 0)::float8 AS "cacheWriteTokens",
  coalesce(sum(reasoning_tokens), 0)::float8 AS "reasoningTokens", max(at) AS "lastAt"`;

/** Reads single calls from the ledger, for the operator: newest first, page by page. */
import type { Queryable } from '../database/pool.ts';
import { narrowUsage, type UsageNarrowing } from './usage-narrowing.ts';

export interface UsageCall {
  readonly id: string;
  readonly at: Date;
  readonly sessionId: string;
  readonly turnId: string;
  readonly agent: string;
  readonly model: string;
  readonly upstreamName: string;
  readonly provider: string | null;
  readonly dialect: string;
  readonly streamed: boolean;
  readonly status: number | null;
  readonly outcome: string;
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
  readonly cachedTokens: number | null;
  readonly cacheWriteTokens: number | null;
  readonly reasoningTokens: number | null;
  readonly costUsd: number | null;
  readonly duplicate: boolean;
  readonly presumed: boolean;
  readonly firstByteMs: number | null;
  readonly durationMs: number;
  readonly clientSession: string | null;
  readonly clientAgent: string | null;
  readonly clientParentAgent: string | null;
}

export async function listUsageCalls(
  db: Queryable,
  { limit, ...narrowing }: UsageNarrowing & { readonly limit: number },
): Promise<UsageCall[]> {
  const { where, values } = await narrowUsage(db, narrowing);
  return db.query<UsageCall>(`${SELECT} ${where} ORDER BY id DESC LIMIT $${values.length + 1}`, [
    ...values,
    limit,
  ]);
}

// pg gives bigint and numeric as text; tokens, milliseconds and dollars of one call fit a double.
const SELECT = `
  SELECT id, at, session_id AS "sessionId", turn_id AS "turnId", agent, model, upstream_name AS "upstreamName", provider,
    dialect, streamed, status, outcome, input_tokens::float8 AS "inputTokens", output_tokens::float8 AS "outputTokens",
    cached_tokens::float8 AS "cachedTokens", cache_write_tokens::float8 AS "cacheWriteTokens",
    reasoning_tokens::float8 AS "reasoningTokens", cost_usd::float8 AS "costUsd", duplicate, presumed,
    first_byte_ms::float8 AS "firstByteMs", duration_ms::float8 AS "durationMs", client_session AS "clientSession",
    client_agent AS "clientAgent", client_parent_agent AS "clientParentAgent"
  FROM model_usage`;

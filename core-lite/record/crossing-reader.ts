/** Lists the keyed calls of a session, for the operator: newest first, page by page. Never a request or an answer. */
import type { Queryable } from '../database/pool.ts';
import type { CrossingKind, CrossingStatus } from './crossing.ts';

export interface KeyedCallRecord {
  readonly id: string;
  readonly key: string;
  readonly kind: CrossingKind;
  /** `null` for an HTTP tool. */
  readonly server: string | null;
  readonly tool: string;
  readonly credentialId: string | null;
  /** `null`: outside a run. */
  readonly turnId: string | null;
  readonly agent: string;
  readonly status: CrossingStatus;
  readonly code: string | null;
  /** Of the last attempt. */
  readonly startedAt: Date;
  /** From the first send to the settlement; `null` where nothing was sent, or it runs. */
  readonly durationMs: number | null;
  /** `null` where there is no answer. */
  readonly resultBytes: number | null;
}

export interface KeyedCallPage {
  readonly limit: number;
  /** Only rows older than this id: the next page. */
  readonly before?: string;
}

export function listKeyedCalls(
  db: Queryable,
  sessionId: string,
  { limit, before }: KeyedCallPage,
): Promise<KeyedCallRecord[]> {
  return db.query<KeyedCallRecord>(SELECT, [sessionId, before ?? null, limit]);
}

// pg gives bigint as text; bytes and milliseconds of one call fit a double.
const SELECT = `
  SELECT id, key, kind, server, tool, credential_id AS "credentialId", turn_id AS "turnId", agent,
    CASE WHEN state IN ('claimed', 'sent') THEN 'invoking' ELSE status END AS status, code, claimed_at AS "startedAt",
    round(extract(epoch FROM settled_at - sent_at) * 1000)::float8 AS "durationMs", result_bytes::float8 AS "resultBytes"
  FROM crossings
  WHERE session_id = $1 AND ($2::text IS NULL OR id < $2)
  ORDER BY id DESC LIMIT $3`;

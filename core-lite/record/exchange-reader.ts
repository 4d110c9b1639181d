/** Reads the record of exchanges, for the operator: newest first, page by page. */
import type { Queryable } from '../database/pool.ts';

export interface ExchangeFilter {
  readonly connection?: string;
  /** An environment's name or id; a deleted one's too. */
  readonly environment?: string;
  readonly turn?: string;
  readonly since?: Date;
  /** Only rows older than this id: the next page. */
  readonly before?: string;
  readonly limit: number;
}

export interface ExchangeRecord {
  readonly id: string;
  readonly at: Date;
  readonly connectionId: string;
  readonly environment: string;
  readonly turnId: string | null;
  readonly host: string;
  readonly port: number;
  readonly method: string;
  readonly path: string;
  readonly status: number | null;
  readonly reason: string;
  /** `vault/name@version` of each secret that was put on; the id where it was removed since. */
  readonly credentials: readonly string[];
  readonly bytesUp: number;
  readonly bytesDown: number;
  readonly masked: number;
  readonly code: string | null;
  readonly durationMs: number;
}

export function listExchanges(db: Queryable, filter: ExchangeFilter): Promise<ExchangeRecord[]> {
  return db.query<ExchangeRecord>(SELECT, [
    filter.connection ?? null,
    filter.environment ?? null,
    filter.turn ?? null,
    filter.since ?? null,
    filter.before ?? null,
    filter.limit,
  ]);
}

// bigint travels as text in pg; bytes and milliseconds of one exchange fit a double exactly.
const SELECT = `
  SELECT x.id, x.at, x.connection_id AS "connectionId", COALESCE(n.name, c.environment_id) AS environment,
    c.turn_id AS "turnId", c.host, c.port, x.method, x.path, x.status, x.reason,
    ARRAY(SELECT COALESCE(v.name || '/' || k.name, split_part(used, '@', 1)) || '@' || split_part(used, '@', 2)
            FROM unnest(x.credentials) AS used
              LEFT JOIN credentials k ON k.id = split_part(used, '@', 1)
              LEFT JOIN vaults v ON v.id = k.vault_id) AS credentials,
    x.bytes_up::float8 AS "bytesUp", x.bytes_down::float8 AS "bytesDown", x.masked, x.code, x.duration_ms::float8 AS "durationMs"
  FROM exchanges x
    JOIN connections c ON c.id = x.connection_id
    LEFT JOIN environments n ON n.id = c.environment_id
  WHERE ($1::text IS NULL OR x.connection_id = $1)
    AND ($2::text IS NULL OR c.environment_id IN (SELECT id FROM environments WHERE name = $2 OR id = $2))
    AND ($3::text IS NULL OR c.turn_id = $3)
    AND ($4::timestamptz IS NULL OR x.at >= $4)
    AND ($5::text IS NULL OR x.id < $5)
  ORDER BY x.id DESC LIMIT $6`;

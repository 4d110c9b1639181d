/** Reads the record of connections, for the operator: newest first, page by page. */
import type { Queryable } from '../database/pool.ts';
import type { Verdict } from '../decision.ts';

export interface ConnectionFilter {
  /** An environment's name or id; a deleted one's too. */
  readonly environment?: string;
  /** The exact host, or `*.suffix`. */
  readonly host?: string;
  readonly verdict?: Verdict;
  /** The turn that the connection's token proved. */
  readonly turn?: string;
  readonly since?: Date;
  /** Only rows older than this id: the next page. */
  readonly before?: string;
  /** Only rows newer than this id, oldest first: what is new. */
  readonly after?: string;
  readonly limit: number;
}

export interface ConnectionRecord {
  readonly id: string;
  readonly at: Date;
  readonly environment: string;
  readonly environmentId: string;
  readonly tokenId: string;
  readonly podUid: string;
  readonly sessionId: string | null;
  readonly turnId: string | null;
  readonly replica: string;
  readonly source: string;
  readonly host: string;
  readonly port: number;
  /** As it is known last: a connection whose addresses were refused is denied. */
  readonly verdict: Verdict;
  readonly reason: string;
  /** How it ended; `null` while it is open, or where its replica died. */
  readonly end: ConnectionRecordEnd | null;
}

interface ConnectionRecordEnd {
  /** RFC 3339: it comes out of the database as JSON. */
  readonly at: string;
  readonly reason: string;
  /** More exactly why, where the reason leaves it open. */
  readonly code: string | null;
  readonly addresses: readonly string[];
  readonly address: string | null;
  readonly bytesUp: number;
  readonly bytesDown: number;
  readonly durationMs: number;
  /** Requests inside an interception; 0 for a tunnel. */
  readonly exchanges: number;
}

/** A minute's refusals of one source. */
export interface RefusalCountRecord {
  readonly minute: Date;
  readonly source: string;
  readonly environmentId: string | null;
  readonly reason: string;
  readonly count: number;
}

export function listConnections(db: Queryable, filter: ConnectionFilter): Promise<ConnectionRecord[]> {
  const values: unknown[] = [];
  const where: string[] = [];
  const add = (condition: (parameter: string) => string, value: unknown): void => {
    if (value === undefined) return;
    values.push(value);
    where.push(condition(`$${values.length}`));
  };
  add(
    (p) => `c.environment_id IN (SELECT id FROM environments WHERE name = ${p} OR id = ${p})`,
    filter.environment,
  );
  if (filter.host?.startsWith('*.')) {
    add((p) => `right(c.host, length(${p})) = ${p} AND length(c.host) > length(${p})`, filter.host.slice(1));
  } else add((p) => `c.host = ${p}`, filter.host);
  add((p) => `COALESCE(e.verdict, c.verdict) = ${p}`, filter.verdict);
  add((p) => `c.turn_id = ${p}`, filter.turn);
  add((p) => `c.at >= ${p}`, filter.since);
  add((p) => `c.id < ${p}`, filter.before);
  add((p) => `c.id > ${p}`, filter.after);
  values.push(filter.limit);
  const order = filter.after === undefined ? 'DESC' : 'ASC';
  const condition = where.length > 0 ? `WHERE ${where.join(' AND ')}` : '';
  return db.query<ConnectionRecord>(
    `${SELECT} ${condition} ORDER BY c.id ${order} LIMIT $${values.length}`,
    values,
  );
}

/** Counted refusals since `since`, newest first. */
export function listRefusalCounts(db: Queryable, since: Date, limit: number): Promise<RefusalCountRecord[]> {
  return db.query<RefusalCountRecord>(
    `SELECT minute, source, environment_id AS "environmentId", reason, sum(count)::float8 AS count
       FROM refusal_counts WHERE minute >= date_trunc('minute', $1::timestamptz)
      GROUP BY minute, source, environment_id, reason ORDER BY minute DESC, count DESC LIMIT $2`,
    [since, limit],
  );
}

// bigint travels as text in pg; bytes and milliseconds of one connection fit a double exactly.
const SELECT = `
  SELECT c.id, c.at, COALESCE(n.name, c.environment_id) AS environment, c.environment_id AS "environmentId",
    c.token_id AS "tokenId", c.pod_uid AS "podUid", c.session_id AS "sessionId", c.turn_id AS "turnId", c.replica,
    c.source, c.host, c.port, COALESCE(e.verdict, c.verdict) AS verdict,
    CASE WHEN e.verdict = 'denied' THEN e.reason ELSE c.reason END AS reason,
    CASE WHEN e.connection_id IS NOT NULL THEN json_build_object('at',
      to_char(e.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'reason', e.reason,
      'code', e.code, 'addresses', e.addresses, 'address', e.address, 'bytesUp', e.bytes_up, 'bytesDown', e.bytes_down,
      'durationMs', e.duration_ms, 'exchanges', e.exchanges) END AS "end"
  FROM connections c
    LEFT JOIN connection_ends e ON e.connection_id = c.id
    LEFT JOIN environments n ON n.id = c.environment_id`;

/**
 * Sums the record of connections by where they went: what an environment uses, for whoever writes its allowlist. Rows
 * are counted in the database, so that a busy day is a page of places and not a million lines.
 */
import type { Queryable } from '../database/pool.ts';
import type { Verdict } from '../decision.ts';

export interface DestinationFilter {
  readonly environmentId: string;
  readonly since: Date;
  readonly limit: number;
}

/** Connections of one environment to one place that were judged alike. */
export interface Destination {
  readonly host: string;
  readonly port: number;
  /** The decision on host and port, before anything was looked up. */
  readonly decision: { readonly verdict: Verdict; readonly reason: string };
  /** As it is known last: a connection whose addresses were refused, or that could not be made, is denied. */
  readonly verdict: Verdict;
  readonly reason: string;
  readonly count: number;
  readonly firstAt: Date;
  readonly lastAt: Date;
}

/** The most used first. */
export function sumDestinations(
  db: Queryable,
  { environmentId, since, limit }: DestinationFilter,
): Promise<Destination[]> {
  return db.query<Destination>(SUMS, [environmentId, since, formatIdFloor(since), limit]);
}

/** No id that was made from `since` on sorts before it: ids are UUIDv7, which begin with the time in milliseconds. */
function formatIdFloor(since: Date): string {
  const ms = Math.max(since.getTime() - CLOCK_SLACK_MS, 0);
  return `con_${ms.toString(16).padStart(12, '0')}`;
}

/** An id may be made a moment before its row's time, or by a clock that was set back. */
const CLOCK_SLACK_MS = 3_600_000;
// The floor of the ids is what the index on (environment, id) is read by; the time is what was asked for.
const SUMS = `
  SELECT c.host, c.port, json_build_object('verdict', c.verdict, 'reason', c.reason) AS decision,
    COALESCE(e.verdict, c.verdict) AS verdict,
    CASE WHEN e.verdict = 'denied' THEN e.reason ELSE c.reason END AS reason,
    count(*)::float8 AS count, min(c.at) AS "firstAt", max(c.at) AS "lastAt"
  FROM connections c LEFT JOIN connection_ends e ON e.connection_id = c.id
  WHERE c.environment_id = $1 AND c.at >= $2 AND c.id >= $3
  GROUP BY c.host, c.port, c.verdict, c.reason, 4, 5
  ORDER BY count(*) DESC, c.host, c.port, 4, 5, c.verdict, c.reason LIMIT $4`;

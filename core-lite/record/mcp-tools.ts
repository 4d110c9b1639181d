/** Each tool as a session first saw it, by the hash of its definition: the first that is recorded stays, on all replicas. */
import type { Queryable } from '../database/pool.ts';
import type { UpstreamPlace } from './mcp-upstreams.ts';

export class McpTools {
  readonly #db: Queryable;

  constructor(db: Queryable) {
    this.#db = db;
  }

  /**
   * Rejects with Fault `database_unreachable`.
   * @param hashes by tool; names hold no control characters
   * @returns what is recorded now. A tool is missing where the session has seen too many.
   */
  async pin(place: UpstreamPlace, hashes: ReadonlyMap<string, Buffer>): Promise<ReadonlyMap<string, Buffer>> {
    const found = await this.#load(place, [...hashes.keys()]);
    const missing = [...hashes].filter(([tool]) => !found.has(tool));
    if (missing.length === 0) return found;
    await this.#db.query(
      `INSERT INTO mcp_tools (session_id, server, tool, hash)
       SELECT $1, $2, given.tool, given.hash FROM unnest($3::text[], $4::bytea[]) AS given(tool, hash)
        WHERE (SELECT count(*) FROM mcp_tools WHERE session_id = $1 AND server = $2) < $5
       ON CONFLICT DO NOTHING`,
      [
        place.sessionId,
        place.server,
        missing.map(([tool]) => tool),
        missing.map(([, hash]) => hash),
        MAX_SEEN,
      ],
    );
    // Another may have been first.
    const made = await this.#load(
      place,
      missing.map(([tool]) => tool),
    );
    return new Map([...found, ...made]);
  }

  async #load({ sessionId, server }: UpstreamPlace, tools: readonly string[]): Promise<Map<string, Buffer>> {
    const rows = await this.#db.query<{ tool: string; hash: Buffer }>(
      'SELECT tool, hash FROM mcp_tools WHERE session_id = $1 AND server = $2 AND tool = ANY ($3)',
      [sessionId, server, tools],
    );
    return new Map(rows.map(({ tool, hash }) => [tool, hash]));
  }
}

/** Of a session, at a server: one that names its tools anew with each list fills nothing. */
const MAX_SEEN = 5_000;

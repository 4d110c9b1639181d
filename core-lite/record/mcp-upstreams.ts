/**
 * What a session knows of an MCP server, for all replicas: what the server first said of itself, and the link under which
 * its connection is taken up again. Both are sealed: a server's session id is as good as a key to it.
 */
import type { Queryable } from '../database/pool.ts';
import { Secret } from '../secret.ts';
import type { SealKey } from '../vault/seal.ts';

/** Whose connection to which server. */
export interface UpstreamPlace {
  readonly sessionId: string;
  readonly server: string;
}

export interface UpstreamRecord {
  /** JSON, as the first who recorded it gave it. */
  readonly discovery: string;
  /** JSON; `null` where the server has forgotten its session. */
  readonly link: string | null;
  readonly generation: number;
  /** How many processes called under this link what may have changed what the server holds. */
  readonly touched: number;
}

export class McpUpstreams {
  readonly #db: Queryable;
  readonly #seal: SealKey;

  /** @param seal the class key `gates` */
  constructor(db: Queryable, seal: SealKey) {
    this.#db = db;
    this.#seal = seal;
  }

  /** Rejects with Fault `database_unreachable` or `seal_broken`, as all of these do. */
  async load(place: UpstreamPlace): Promise<UpstreamRecord | null> {
    const [row] = await this.#db.query<UpstreamRow>(
      'SELECT discovery, link, generation::float8, touched FROM mcp_upstreams WHERE session_id = $1 AND server = $2',
      [place.sessionId, place.server],
    );
    return row ? this.#open(place, row) : null;
  }

  /** @returns what is recorded now: this, or what another recorded before */
  async record(place: UpstreamPlace, discovery: string, link: string): Promise<UpstreamRecord> {
    const [made] = await this.#db.query<UpstreamRow>(
      `INSERT INTO mcp_upstreams (session_id, server, discovery, link) VALUES ($1, $2, $3, $4)
       ON CONFLICT DO NOTHING RETURNING discovery, link, generation::float8, touched`,
      [
        place.sessionId,
        place.server,
        this.#sealed(discovery, discoveryPlace(place)),
        this.#sealed(link, linkPlace(place, 1)),
      ],
    );
    const found = made ? this.#open(place, made) : await this.load(place);
    // It was there, and was forgotten since.
    return found ?? this.record(place, discovery, link);
  }

  /** @returns what is recorded now: this link, or another's where the one of `generation` was replaced before */
  async relink(place: UpstreamPlace, generation: number, link: string): Promise<UpstreamRecord | null> {
    const next = generation + 1;
    await this.#db.query(
      `UPDATE mcp_upstreams SET link = $4, generation = $5, touched = 0
        WHERE session_id = $1 AND server = $2 AND generation = $3`,
      [place.sessionId, place.server, generation, this.#sealed(link, linkPlace(place, next)), next],
    );
    return this.load(place);
  }

  /** Whoever asks next begins a new session. */
  async unlink(place: UpstreamPlace, generation: number): Promise<void> {
    await this.#db.query(
      `UPDATE mcp_upstreams SET link = NULL, touched = 0 WHERE session_id = $1 AND server = $2 AND generation = $3`,
      [place.sessionId, place.server, generation],
    );
  }

  /** One process more. From now on a new session is not begun in silence. */
  async touch(place: UpstreamPlace, generation: number): Promise<void> {
    await this.#db.query(
      `UPDATE mcp_upstreams SET touched = touched + 1 WHERE session_id = $1 AND server = $2 AND generation = $3`,
      [place.sessionId, place.server, generation],
    );
  }

  async forget(place: UpstreamPlace): Promise<void> {
    await this.#db.query('DELETE FROM mcp_upstreams WHERE session_id = $1 AND server = $2', [
      place.sessionId,
      place.server,
    ]);
  }

  /** Clears away, in pieces, what was known for sessions that have ended. */
  async sweep(): Promise<void> {
    await this.#db.query(sweepOf('mcp_upstreams'));
    await this.#db.query(sweepOf('mcp_tools'));
  }

  #sealed(text: string, place: string): Buffer {
    return this.#seal.seal(new Secret(text), place);
  }

  #open(place: UpstreamPlace, { discovery, link, generation, touched }: UpstreamRow): UpstreamRecord {
    return {
      discovery: this.#seal.open(discovery, discoveryPlace(place)).reveal(),
      link: link && this.#seal.open(link, linkPlace(place, generation)).reveal(),
      generation,
      touched,
    };
  }
}

interface UpstreamRow {
  readonly discovery: Buffer;
  readonly link: Buffer | null;
  readonly generation: number;
  readonly touched: number;
}

function sweepOf(table: 'mcp_upstreams' | 'mcp_tools'): string {
  return `DELETE FROM ${table} WHERE (session_id, server) IN (
    SELECT m.session_id, m.server FROM ${table} m JOIN sessions s ON s.id = m.session_id
     WHERE s.ended_at < now() - interval '5 minutes' LIMIT 500)`;
}

function discoveryPlace({ sessionId, server }: UpstreamPlace): string {
  return `mcp_upstreams ${sessionId} ${server} discovery`;
}

function linkPlace({ sessionId, server }: UpstreamPlace, generation: number): string {
  return `mcp_upstreams ${sessionId} ${server} link ${generation}`;
}

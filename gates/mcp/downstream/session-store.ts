/** What a legacy client set in its session, kept in the database: sealed, for whichever gate serves it next. */
import type { Queryable } from '../../../core-lite/database/pool.ts';
import { Secret } from '../../../core-lite/secret.ts';
import type { SealKey } from '../../../core-lite/vault/seal.ts';

export interface SessionSettings {
  /** The client ended it. */
  readonly ended: boolean;
  readonly logLevel: string | null;
  /** URIs. */
  readonly subscribed: readonly string[];
}

export interface SessionStore {
  /** `null`: nothing was set. Rejects with Fault `database_unreachable`. */
  load(key: string): Promise<SessionSettings | null>;
  save(key: string, sessionId: string, settings: SessionSettings): Promise<void>;
}

export class DatabaseSessionStore implements SessionStore {
  readonly #db: Queryable;
  readonly #seal: SealKey;

  constructor(db: Queryable, seal: SealKey) {
    this.#db = db;
    this.#seal = seal;
  }

  async load(key: string): Promise<SessionSettings | null> {
    const [row] = await this.#db.query<{ sealed: Buffer }>('SELECT sealed FROM mcp_sessions WHERE key = $1', [
      key,
    ]);
    return row ? (JSON.parse(this.#seal.open(row.sealed, place(key)).reveal()) as SessionSettings) : null;
  }

  async save(key: string, sessionId: string, settings: SessionSettings): Promise<void> {
    const sealed = this.#seal.seal(new Secret(JSON.stringify(settings)), place(key));
    await this.#db.query(
      `INSERT INTO mcp_sessions (key, session_id, sealed) VALUES ($1, $2, $3)
       ON CONFLICT (key) DO UPDATE SET sealed = EXCLUDED.sealed, written_at = clock_timestamp()`,
      [key, sessionId, sealed],
    );
    await this.#db.query(
      `DELETE FROM mcp_sessions m USING sessions s
       WHERE s.id = m.session_id AND s.ended_at < now() - interval '1 day'`,
    );
  }
}

function place(key: string): string {
  return `mcp_sessions ${key} sealed`;
}

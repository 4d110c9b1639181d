/**
 * The change feed: notices of rare changes (revocation, epoch, policy, credential, key) through LISTEN/NOTIFY. The
 * database's own triggers write them, in the transaction of the change (`migrations/`), so no writer can forget one.
 *
 * A heartbeat of our own goes through the same queue every 250 ms. Notices are delivered in commit order, so a
 * heartbeat that came back proves that every change committed before it has arrived; three missed are a loss. While
 * the feed is lost nothing may be answered from a cache: see `live-cache.ts`.
 */
import pg from 'pg';
import type { Secret } from '../secret.ts';
import { connectionOptions, type Role } from './pool.ts';

export interface Change {
  readonly kind:
    | 'environment'
    | 'signing_key'
    | 'authority'
    | 'credential'
    | 'session'
    | 'model'
    | 'tenant'
    | 'budget'
    | 'mcp_letter';
  readonly id: string;
}

export interface FeedListener {
  /** A row changed; its transaction is committed. */
  change?(change: Change): void;
  /** Notices may be missing from now on. */
  lost?(): void;
  /** Notices arrive again; what changed in between is unknown. */
  restored?(): void;
}

export class ChangeFeed {
  readonly #options: pg.ClientConfig;
  readonly #beatChannel: string;
  readonly #listeners: FeedListener[] = [];
  #client: pg.Client | null = null;
  #live = false;
  #closed = false;
  /** By the monotonic clock: one that is set back would hide a loss. */
  #heardAt = 0;
  #beating = false;
  #retryMs = FIRST_RETRY_MS;
  #beat: NodeJS.Timeout | undefined;
  #retry: NodeJS.Timeout | undefined;

  /**
   * @param url a direct connection, not a pooler in transaction mode
   * @param replica names this process's own heartbeat channel
   */
  constructor(url: Secret, role: Role, replica: string) {
    // A server may hang just when it is asked to listen.
    this.#options = { ...connectionOptions(url, role), query_timeout: QUERY_TIMEOUT_MS };
    this.#beatChannel = `sallyport_beat_${replica}`;
  }

  /** Whether every committed change is sure to arrive within a second. */
  get live(): boolean {
    return this.#live;
  }

  /** Listeners are told in the order in which they subscribed: caches before those who read from them. */
  subscribe(listener: FeedListener): void {
    this.#listeners.push(listener);
  }

  /** Starts listening and keeps at it until `close()`; an unreachable database is a lost feed, not an error. */
  start(): void {
    void this.#connect();
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#retry);
    clearInterval(this.#beat);
    const client = this.#client;
    this.#client = null;
    if (client) await hangUp(client, CLOSE_MS);
  }

  async #connect(): Promise<void> {
    const client = new pg.Client(this.#options);
    client.on('error', () => this.#drop(client));
    client.on('end', () => this.#drop(client));
    client.on('notification', (notice) => this.#hear(client, notice));
    this.#client = client;
    try {
      await client.connect();
      await client.query(`LISTEN "${CHANNEL}"; LISTEN "${this.#beatChannel}"`);
    } catch {
      this.#drop(client);
      return;
    }
    if (this.#client !== client) return;
    this.#heardAt = performance.now();
    this.#beating = false;
    this.#beat = setInterval(() => this.#sendBeat(client), BEAT_MS);
    this.#sendBeat(client);
  }

  #sendBeat(client: pg.Client): void {
    // After the poll phase: a process that was busy itself must first read what already arrived.
    setImmediate(() => {
      const silentMs = performance.now() - this.#heardAt;
      if (client === this.#client && silentMs > BEAT_MS * MISSED_BEATS) this.#drop(client);
    });
    // A server that has not answered the last one is not sent more.
    if (this.#beating) return;
    this.#beating = true;
    client.query('SELECT pg_notify($1, $2)', [this.#beatChannel, '']).then(
      () => {
        if (client === this.#client) this.#beating = false;
      },
      () => this.#drop(client),
    );
  }

  #hear(client: pg.Client, notice: pg.Notification): void {
    if (client !== this.#client) return;
    if (notice.channel === this.#beatChannel) this.#hearBeat();
    else
      for (const change of parseChange(notice.payload)) this.#tell((listener) => listener.change?.(change));
  }

  #hearBeat(): void {
    this.#heardAt = performance.now();
    if (this.#live) return;
    this.#live = true;
    this.#retryMs = FIRST_RETRY_MS;
    this.#tell((listener) => listener.restored?.());
  }

  #drop(client: pg.Client): void {
    if (client !== this.#client || this.#closed) return;
    this.#client = null;
    clearInterval(this.#beat);
    void hangUp(client, 0);
    if (this.#live) {
      this.#live = false;
      this.#tell((listener) => listener.lost?.());
    }
    this.#retry = setTimeout(() => void this.#connect(), this.#retryMs);
    this.#retryMs = Math.min(this.#retryMs * 2, LAST_RETRY_MS);
  }

  #tell(what: (listener: FeedListener) => void): void {
    for (const listener of this.#listeners) what(listener);
  }
}

/** `end` waits for a server that may never answer: after `waitMs` the socket goes. */
async function hangUp(client: pg.Client, waitMs: number): Promise<void> {
  const destroy = (): void => {
    // pg has no name for its socket in its types.
    const { connection } = client as unknown as { connection?: { stream?: { destroy(): void } } };
    connection?.stream?.destroy();
  };
  const timer = setTimeout(destroy, waitMs);
  await client.end().catch(() => {});
  clearTimeout(timer);
}

/** A notice that cannot be read is no change; a kind from a newer program is not ours to judge. */
function parseChange(payload: string | undefined): Change[] {
  const match =
    /^(environment|signing_key|authority|credential|session|model|tenant|budget|mcp_letter) (\S{1,200})$/.exec(
      payload ?? '',
    );
  return match ? [{ kind: match[1] as Change['kind'], id: match[2] as string }] : [];
}

const CHANNEL = 'sallyport_changes';
/** The design's figures: a heartbeat every 250 ms, three missed are a loss. */
const BEAT_MS = 250;
const MISSED_BEATS = 3;
const FIRST_RETRY_MS = 100;
const LAST_RETRY_MS = 2_000;
const QUERY_TIMEOUT_MS = 3_000;
const CLOSE_MS = 200;

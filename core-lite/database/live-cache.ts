/**
 * A cache that the change feed keeps true. It answers from memory only while the feed is live; a notice for a key, or
 * a loss, discards what is held and also what is just being read, so a fill that races a change never brings the old
 * value back. Without the feed every read goes to the database.
 */
import type { Change, ChangeFeed } from './changes.ts';

export interface LiveCacheOptions<Value> {
  /** Which keys a change makes stale: one, all, or none. */
  readonly staleKeys: (change: Change) => string | 'all' | null;
  /** Reads the value from the database. */
  readonly load: (key: string) => Promise<Value>;
  /** The least recently filled key goes first. */
  readonly maxKeys: number;
}

export class LiveCache<Value> {
  readonly #feed: ChangeFeed;
  readonly #options: LiveCacheOptions<Value>;
  readonly #held = new Map<string, Value>();
  readonly #filling = new Map<string, Promise<Value>>();
  /** By `performance.now()`. */
  #doubtedAt = Number.NEGATIVE_INFINITY;

  constructor(feed: ChangeFeed, options: LiveCacheOptions<Value>) {
    this.#feed = feed;
    this.#options = options;
    feed.subscribe({
      change: (change) => this.#forget(options.staleKeys(change)),
      lost: () => this.#forget('all'),
      // A fill that began while notices were missing must not be kept either.
      restored: () => this.#forget('all'),
    });
  }

  /** The value if it is held and surely current; `undefined` says nothing about the database. */
  peek(key: string): Value | undefined {
    return this.#feed.live ? this.#held.get(key) : undefined;
  }

  /** The current value: held, or read now. Rejects as `load` does. */
  async read(key: string): Promise<Value> {
    const held = this.peek(key);
    return held === undefined ? this.#fill(key) : held;
  }

  /**
   * Forgets a value by which somebody would be refused: what made them right may be ahead of its notice.
   * @returns whether to read again; not for each of many, or a flood of refusals would reach the database
   */
  doubt(key: string): boolean {
    const now = performance.now();
    if (!this.#feed.live || now - this.#doubtedAt < DOUBT_EVERY_MS) return false;
    this.#doubtedAt = now;
    this.#forget(key);
    return true;
  }

  async #fill(key: string): Promise<Value> {
    const joined = this.#filling.get(key);
    if (joined) return joined;
    const reading = this.#options.load(key);
    if (this.#feed.live) this.#filling.set(key, reading);
    try {
      const value = await reading;
      if (this.#filling.get(key) === reading) this.#hold(key, value);
      return value;
    } finally {
      if (this.#filling.get(key) === reading) this.#filling.delete(key);
    }
  }

  #hold(key: string, value: Value): void {
    if (this.#held.size >= this.#options.maxKeys) {
      const [oldest] = this.#held.keys();
      if (oldest !== undefined) this.#held.delete(oldest);
    }
    this.#held.set(key, value);
  }

  #forget(keys: string | 'all' | null): void {
    if (keys === null) return;
    if (keys !== 'all') {
      this.#held.delete(keys);
      this.#filling.delete(keys);
      return;
    }
    this.#held.clear();
    this.#filling.clear();
  }
}

/** Notices take milliseconds; ten readings a second cost nothing. */
const DOUBT_EVERY_MS = 100;

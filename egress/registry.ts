/**
 * Every connection that is open or being opened, by environment. A change is judged here for all of them, so a revoked
 * authority ends what it opened within a second; and limits are counted here.
 */
import type { ChangeFeed } from '../core-lite/database/changes.ts';
import { decideStaleness, type EnvironmentFacts } from '../core-lite/state/environment.ts';
import type { Connection, Stop } from './connection.ts';
import { decideStanding } from './decide/connect.ts';
import type { Facts } from './facts.ts';

export interface RegistryOptions {
  readonly feed: ChangeFeed;
  readonly facts: Facts;
  /** How long open connections outlive a lost feed, milliseconds. */
  readonly graceMs: number;
  readonly now: () => number;
}

/** What the limits of an environment are judged by. */
export interface Load {
  readonly open: number;
  readonly recent: number;
}

interface Environment {
  readonly connections: Set<Connection>;
  second: number;
  recent: number;
}

export class Registry {
  readonly #options: RegistryOptions;
  readonly #environments = new Map<string, Environment>();
  readonly #sweep: NodeJS.Timeout;
  #lostAt: number;
  #size = 0;

  constructor(options: RegistryOptions) {
    this.#options = options;
    this.#lostAt = options.now();
    options.feed.subscribe({
      change: (change) => {
        if (change.kind === 'environment') void this.#judgeEnvironment(change.id);
        if (change.kind === 'signing_key') void this.#judgeKeys();
      },
      lost: () => {
        this.#lostAt = options.now();
      },
      // What changed meanwhile is unknown: everything is judged again.
      restored: () => {
        void this.#judgeKeys();
        for (const id of this.#environments.keys()) void this.#judgeEnvironment(id);
      },
    });
    this.#sweep = setInterval(() => this.#endUnjudged(), SWEEP_MS);
    this.#sweep.unref();
  }

  /** Connections open or being opened. */
  get size(): number {
    return this.#size;
  }

  /** Registers before the facts are read, so that a change which arrives meanwhile finds it. */
  add(connection: Connection): void {
    const held = this.#environments.get(connection.environmentId);
    const environment = held ?? { connections: new Set(), second: 0, recent: 0 };
    if (!held) this.#environments.set(connection.environmentId, environment);
    environment.connections.add(connection);
    this.#size += 1;
  }

  remove(connection: Connection): void {
    const environment = this.#environments.get(connection.environmentId);
    if (!environment?.connections.delete(connection)) return;
    this.#size -= 1;
    if (environment.connections.size === 0) this.#environments.delete(connection.environmentId);
  }

  /** The load that this connection meets, itself not counted; it counts for the next from now on. */
  countIn(connection: Connection): Load {
    const environment = this.#environments.get(connection.environmentId);
    if (!environment) return { open: 0, recent: 0 };
    const second = Math.floor(this.#options.now() / 1000);
    if (environment.second !== second) {
      environment.second = second;
      environment.recent = 0;
    }
    const load = { open: environment.connections.size - 1, recent: environment.recent };
    environment.recent += 1;
    return load;
  }

  /**
   * Whether a connection may still go on, after it had to wait for something. While the feed is lost its facts are
   * read again. Rejects with Fault `database_unreachable`.
   */
  async recheck(connection: Connection): Promise<Stop | null> {
    if (connection.stopped || this.#options.feed.live) return connection.stopped;
    const [keys, facts] = await Promise.all([
      this.#options.facts.keys(),
      this.#options.facts.environment(connection.environmentId),
    ]);
    if (!keys.byKid.has(connection.token.kid)) connection.stop(KEY_REVOKED);
    this.#judge(connection, facts);
    return connection.stopped;
  }

  /** Ends all, for shutdown. */
  stopAll(stop: Stop): void {
    for (const connection of this.#all()) connection.stop(stop);
  }

  close(): void {
    clearInterval(this.#sweep);
  }

  async #judgeEnvironment(id: string): Promise<void> {
    if (!this.#environments.has(id)) return;
    const facts = await this.#options.facts.environment(id).catch(() => undefined);
    // Unreadable: the feed is as good as lost, and its grace ends what nobody could judge.
    if (facts === undefined) return;
    for (const connection of this.#environments.get(id)?.connections ?? []) this.#judge(connection, facts);
  }

  async #judgeKeys(): Promise<void> {
    const keys = await this.#options.facts.keys().catch(() => null);
    if (!keys) return;
    for (const connection of this.#all()) {
      if (!keys.byKid.has(connection.token.kid)) connection.stop(KEY_REVOKED);
    }
  }

  #judge(connection: Connection, facts: EnvironmentFacts | null): void {
    const stale = decideStaleness(connection.token, facts);
    if (stale || !facts) {
      const reason = stale ?? 'environment_gone';
      connection.stop({ refusal: reason, ending: reason });
      return;
    }
    const decision = decideStanding({
      target: connection.target,
      network: facts.network,
      bindings: facts.bindings,
    });
    if (decision.verdict === 'denied')
      connection.stop({ refusal: decision.reason, ending: 'policy_changed' });
    else connection.judgedAt = this.#options.now();
  }

  #endUnjudged(): void {
    if (this.#options.feed.live) return;
    const now = this.#options.now();
    for (const connection of this.#all()) {
      const since = Math.max(this.#lostAt, connection.judgedAt);
      if (now - since > this.#options.graceMs) connection.stop(FEED_LOST);
    }
  }

  *#all(): Iterable<Connection> {
    for (const environment of this.#environments.values()) yield* environment.connections;
  }
}

const KEY_REVOKED: Stop = { refusal: 'token_untrusted', ending: 'key_revoked' };
const FEED_LOST: Stop = { refusal: 'facts_unavailable', ending: 'feed_lost' };
const SWEEP_MS = 1_000;

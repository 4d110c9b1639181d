/**
 * Every connection that is open or being opened, by environment. A change is judged here for all of them, so a revoked
 * authority ends what it opened within a second; and limits are counted here.
 */
import type { ChangeFeed } from '../core-lite/database/changes.ts';
import { bindingsOf } from '../core-lite/network/policy.ts';
import { decideStaleness, type EnvironmentFacts } from '../core-lite/state/environment.ts';
import { decideTurnStaleness, type TurnFacts } from '../core-lite/state/session.ts';
import type { Connection, Stop } from './connection.ts';
import { decideMode, decideStanding, type StandingFacts } from './decide/connect.ts';
import { isCovered } from './decide/rules.ts';
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
  /** Those that met the limits; the others wait for their facts, and stand in nobody's way yet. */
  readonly counted: Set<Connection>;
  readonly doubt: Doubt;
  /** HTTP/2 streams that are open inside its interceptions. */
  streams: number;
  second: number;
  recent: number;
}

/** A change that is known and not judged yet. */
interface Doubt {
  /** Milliseconds since the epoch. */
  since: number | null;
  attempts: number;
}

export class Registry {
  readonly #options: RegistryOptions;
  readonly #environments = new Map<string, Environment>();
  readonly #sweep: NodeJS.Timeout;
  readonly #keysDoubt: Doubt = { since: null, attempts: 0 };
  #lostAt: number;
  #size = 0;
  #stopped: Stop | null = null;

  constructor(options: RegistryOptions) {
    this.#options = options;
    this.#lostAt = options.now();
    options.feed.subscribe({
      change: (change) => {
        if (change.kind === 'environment') void this.#judgeEnvironment(change.id);
        if (change.kind === 'signing_key') void this.#judgeKeys();
        if (change.kind === 'session') this.#judgeSession(change.id);
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
    this.#sweep = setInterval(() => this.#sweepAll(), SWEEP_MS);
    this.#sweep.unref();
  }

  /** Connections open or being opened. */
  get size(): number {
    return this.#size;
  }

  /** Registers before the facts are read, so that a change which arrives meanwhile finds it. */
  add(connection: Connection): void {
    const held = this.#environments.get(connection.environmentId);
    const environment = held ?? {
      connections: new Set(),
      counted: new Set(),
      doubt: { since: null, attempts: 0 },
      streams: 0,
      second: 0,
      recent: 0,
    };
    if (!held) this.#environments.set(connection.environmentId, environment);
    environment.connections.add(connection);
    this.#size += 1;
    if (this.#stopped) connection.stop(this.#stopped);
  }

  remove(connection: Connection): void {
    const environment = this.#environments.get(connection.environmentId);
    if (!environment?.connections.delete(connection)) return;
    environment.counted.delete(connection);
    this.#size -= 1;
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
    const load = { open: environment.counted.size, recent: environment.recent };
    environment.counted.add(connection);
    environment.recent += 1;
    return load;
  }

  /** Counts a stream inside an interception. @returns how many of its environment were open before it */
  beginStream({ environmentId }: Connection): number {
    const environment = this.#environments.get(environmentId);
    if (!environment) return 0;
    environment.streams += 1;
    return environment.streams - 1;
  }

  endStream({ environmentId }: Connection): void {
    const environment = this.#environments.get(environmentId);
    if (environment) environment.streams -= 1;
  }

  /**
   * Whether a connection may still go on, after it had to wait for something. While the feed is lost, or a change is
   * not judged yet, its facts are read again. Rejects with Fault `database_unreachable`.
   */
  async recheck(connection: Connection): Promise<Stop | null> {
    if (connection.stopped || this.#isSure(connection)) return connection.stopped;
    const [keys, facts, turn] = await Promise.all([
      this.#options.facts.keys(),
      this.#options.facts.environment(connection.environmentId),
      this.#readTurn(connection),
    ]);
    if (!keys.byKid.has(connection.token.kid)) connection.stop(KEY_REVOKED);
    this.#judge(connection, facts, turn);
    return connection.stopped;
  }

  /** Ends all, those that still arrive too, for shutdown. */
  stopAll(stop: Stop): void {
    this.#stopped = stop;
    for (const connection of this.#all()) connection.stop(stop);
  }

  close(): void {
    clearInterval(this.#sweep);
  }

  /** Whether all that changed was judged. */
  #isSure({ environmentId }: Connection): boolean {
    const doubts = [this.#keysDoubt, this.#environments.get(environmentId)?.doubt];
    return this.#options.feed.live && doubts.every((doubt) => (doubt?.since ?? null) === null);
  }

  async #judgeEnvironment(id: string): Promise<void> {
    const environment = this.#environments.get(id);
    if (!environment) return;
    const read = async () => {
      const facts = await this.#options.facts.environment(id);
      const turns = [...environment.connections].map(
        async (connection) => [connection, await this.#readTurn(connection)] as const,
      );
      return { facts, turns: await Promise.all(turns) };
    };
    await this.#judgeBy(environment.doubt, read, ({ facts, turns }) => {
      for (const [connection, turn] of turns) this.#judge(connection, facts, turn);
    });
  }

  /** A session's turn moved on: what its runs opened is judged with everything else of their environment. */
  #judgeSession(id: string): void {
    for (const [environmentId, { connections }] of this.#environments) {
      const touched = [...connections].some((connection) => connection.token.claims.ses === id);
      if (touched) void this.#judgeEnvironment(environmentId);
    }
  }

  async #readTurn({ token }: Connection): Promise<TurnFacts | null> {
    return token.claims.ses === undefined ? null : this.#options.facts.turn(token.claims.ses);
  }

  async #judgeKeys(): Promise<void> {
    const read = () => this.#options.facts.keys();
    await this.#judgeBy(this.#keysDoubt, read, (keys) => {
      for (const connection of this.#all()) {
        if (!keys.byKid.has(connection.token.kid)) connection.stop(KEY_REVOKED);
      }
    });
  }

  /** What cannot be read now stays in doubt until the sweep has taken it up again: a notice comes only once. */
  async #judgeBy<Read>(doubt: Doubt, read: () => Promise<Read>, judge: (facts: Read) => void): Promise<void> {
    doubt.since ??= this.#options.now();
    doubt.attempts += 1;
    const attempt = doubt.attempts;
    try {
      judge(await read());
    } catch {
      return;
    }
    // A later notice has its own reading.
    if (doubt.attempts === attempt) doubt.since = null;
  }

  #judge(connection: Connection, facts: EnvironmentFacts | null, turn: TurnFacts | null): void {
    const stale = decideStaleness(connection.token, facts);
    if (stale || !facts) {
      const reason = stale ?? 'environment_gone';
      connection.stop({ refusal: reason, ending: reason });
      return;
    }
    const ended = decideTurnStaleness(connection.token.claims, turn);
    if (ended) {
      connection.stop({ refusal: ended, ending: ended });
      return;
    }
    const standing = { target: connection.target, network: facts.network, bindings: facts.bindings };
    const stop = judgeStanding(connection, standing) ?? judgeCarried(connection, facts);
    if (stop) connection.stop(stop);
    else connection.judgedAt = this.#options.now();
  }

  #sweepAll(): void {
    const second = Math.floor(this.#options.now() / 1000);
    if (this.#keysDoubt.since !== null) void this.#judgeKeys();
    for (const [id, environment] of this.#environments) {
      if (environment.doubt.since !== null) void this.#judgeEnvironment(id);
      // Not before its second is over: whoever closes at once must not escape the rate.
      if (environment.connections.size === 0 && environment.second !== second) this.#environments.delete(id);
    }
    this.#endUnjudged();
  }

  #endUnjudged(): void {
    const now = this.#options.now();
    const lostAt = this.#options.feed.live ? null : this.#lostAt;
    for (const { connections, doubt } of this.#environments.values()) {
      const since = earliest([lostAt, this.#keysDoubt.since, doubt.since]);
      if (since === null) continue;
      for (const connection of connections) {
        if (now - Math.max(since, connection.judgedAt) > this.#options.graceMs) connection.stop(FEED_LOST);
      }
    }
  }

  *#all(): Iterable<Connection> {
    for (const environment of this.#environments.values()) yield* environment.connections;
  }
}

/** Whether it is still allowed, and to be treated as it is. */
function judgeStanding(connection: Connection, standing: StandingFacts): Stop | null {
  const decision = decideStanding(standing);
  if (decision.verdict === 'denied') return { refusal: decision.reason, ending: 'policy_changed' };
  const mode = decideMode(standing);
  // Before its facts are read it has no mode yet: it will take the one that is true then.
  if (connection.mode === null || mode === connection.mode) return null;
  const ending = mode === 'interception' ? 'secret_bound' : 'secret_unbound';
  return { refusal: 'facts_unavailable', ending };
}

/** A secret under way that was taken away, or covers its request no more, ends the connection: that must not go on. */
function judgeCarried({ carried, target }: Connection, { bindings }: EnvironmentFacts): Stop | null {
  if (carried.length === 0) return null;
  const bound = bindingsOf(bindings, target);
  return carried.every((exchange) => isCovered(exchange, bound)) ? null : UNBOUND;
}

function earliest(moments: readonly (number | null)[]): number | null {
  const known = moments.filter((moment) => moment !== null);
  return known.length > 0 ? Math.min(...known) : null;
}

const UNBOUND: Stop = { refusal: 'injection_failed', ending: 'secret_unbound' };
const KEY_REVOKED: Stop = { refusal: 'token_untrusted', ending: 'key_revoked' };
const FEED_LOST: Stop = { refusal: 'facts_unavailable', ending: 'feed_lost' };
const SWEEP_MS = 1_000;

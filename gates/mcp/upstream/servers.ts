/**
 * The connections to MCP servers that this process holds: one for a session and a server, let go when nobody has used it
 * for a while. A session that has ended ends what its servers hold for it.
 */
import type { ChangeFeed } from '../../../core-lite/database/changes.ts';
import type { McpUpstreams, UpstreamPlace } from '../../../core-lite/record/mcp-upstreams.ts';
import type { Upstreams } from '../../act/upstream.ts';
import { Connection } from './connection.ts';
import { EraMemory } from './era-memory.ts';
import { type Failed, fail } from './failures.ts';
import type { ClientFacts, FindReach, UpstreamServer } from './server.ts';

/** What of a server's declaration in the manifest counts here. */
export interface ServerPlace {
  readonly url: string;
  readonly via: { readonly url: string } | null;
  readonly transport: 'auto' | 'streamable-http' | 'sse';
  readonly stateless: boolean;
  readonly timeoutMs: number;
  readonly resultBytes: number;
  readonly onLargeResult: 'error' | 'cut';
}

export interface OpenAsked {
  readonly place: UpstreamPlace;
  readonly server: ServerPlace;
  /** Asked for each HTTP request; of all that was given, the newest. */
  readonly find: FindReach;
  readonly client: ClientFacts;
  readonly signal: AbortSignal;
}

export interface UpstreamServersOptions {
  readonly upstreams: Upstreams;
  readonly records: McpUpstreams;
  readonly feed: ChangeFeed;
  readonly now: () => Date;
  /** Whether a session has ended. */
  readonly hasEnded: (sessionId: string) => Promise<boolean>;
  readonly onFailure: (error: unknown) => void;
  /** Default 15 minutes. */
  readonly idleMs?: number;
}

interface Held {
  readonly place: UpstreamPlace;
  readonly connection: Connection;
  find: FindReach;
  usedAt: number;
}

export class UpstreamServers {
  readonly #options: UpstreamServersOptions;
  readonly #memory: EraMemory;
  readonly #held = new Map<string, Held>();
  readonly #sweep: NodeJS.Timeout;
  readonly #idleMs: number;
  #closed = false;

  constructor(options: UpstreamServersOptions) {
    this.#options = options;
    this.#memory = new EraMemory(options.now);
    this.#idleMs = options.idleMs ?? IDLE_MS;
    this.#sweep = setInterval(() => this.#letGo(), this.#idleMs / 15).unref();
    options.feed.subscribe({
      change: (change) => {
        if (change.kind === 'session') void this.#endOf(change.id);
        if (change.kind === 'credential') this.#recheckAll();
      },
      restored: () => {
        this.#recheckAll();
        for (const id of new Set([...this.#held.values()].map(({ place }) => place.sessionId)))
          void this.#endOf(id);
      },
    });
  }

  /** How many connections are held. */
  get size(): number {
    return this.#held.size;
  }

  /**
   * The connection, begun or taken up: its era is known then, and what the server said of itself.
   * Rejects only with faults of our own.
   */
  async open({ place, server, find, client, signal }: OpenAsked): Promise<UpstreamServer | Failed> {
    if (this.#closed) return fail('stopped', false);
    const key = keyOf(place);
    const held = this.#held.get(key) ?? this.#hold(key, place, server, find);
    held.find = find;
    held.usedAt = this.#options.now().getTime();
    return (await held.connection.open(client, signal)) ?? held.connection;
  }

  /** Ends a connection and what the server holds for it. Rejects with Fault `database_unreachable`. */
  async end({ place, server, find }: Pick<OpenAsked, 'place' | 'server' | 'find'>): Promise<void> {
    const key = keyOf(place);
    const { connection } = this.#held.get(key) ?? this.#hold(key, place, server, find);
    this.#held.delete(key);
    await connection.end();
  }

  /** With each heartbeat: what sessions that have ended leave behind. */
  sweep(): Promise<void> {
    return this.#options.records.sweep();
  }

  close(): void {
    this.#closed = true;
    clearInterval(this.#sweep);
    for (const { connection } of this.#held.values()) connection.close();
    this.#held.clear();
  }

  #hold(key: string, place: UpstreamPlace, server: ServerPlace, find: FindReach): Held {
    const { upstreams, records, now } = this.#options;
    const { transport, stateless, timeoutMs } = server;
    const base = new URL((server.via ?? server).url);
    const session = place.sessionId;
    const fetch = { upstreams, session, base, find: () => held.find(), maxBytes: mostBytes(server) };
    const options = { place, fetch, transport, stateless, timeoutMs, records, memory: this.#memory, now };
    const held: Held = { place, connection: new Connection(options), find, usedAt: now().getTime() };
    this.#held.set(key, held);
    return held;
  }

  #recheckAll(): void {
    for (const { connection } of this.#held.values()) connection.recheck().catch(this.#options.onFailure);
  }

  #letGo(): void {
    const before = this.#options.now().getTime() - this.#idleMs;
    for (const [key, { connection, usedAt }] of this.#held) {
      if (!connection.idle || usedAt > before) continue;
      this.#held.delete(key);
      connection.close();
    }
  }

  async #endOf(sessionId: string): Promise<void> {
    const { hasEnded, onFailure } = this.#options;
    const ofSession = [...this.#held].filter(([, { place }]) => place.sessionId === sessionId);
    if (ofSession.length === 0) return;
    try {
      if (!(await hasEnded(sessionId))) return;
      for (const [key, { connection }] of ofSession) {
        this.#held.delete(key);
        await connection.end();
      }
    } catch (error) {
      onFailure(error);
    }
  }
}

function keyOf({ sessionId, server }: UpstreamPlace): string {
  return `${sessionId} ${server}`;
}

/** JSON spells a result out; what is to be cut must come whole first. */
function mostBytes({ resultBytes, onLargeResult }: ServerPlace): number {
  if (onLargeResult === 'cut') return MOST_BYTES;
  return Math.min(MOST_BYTES, Math.max(LEAST_BYTES, 2 * resultBytes));
}

const IDLE_MS = 15 * 60_000;
const MOST_BYTES = 32 * 1024 * 1024;
/** Lists of tools are longer than results may be. */
const LEAST_BYTES = 4 * 1024 * 1024;

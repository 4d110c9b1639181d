/**
 * HTTP/2 sessions with origins, by scope: the same environment, host, port and credential versions, and then by address.
 * Shared while they are used, kept for a while after. Also which scopes were found to speak HTTP/2.
 */
import type { ClientHttp2Stream, ClientSessionRequestOptions } from 'node:http2';
import type { Place } from '../origin-pool.ts';
import type { OriginSession } from './origin-session.ts';

export class SessionPool {
  readonly #sessions = new Map<string, Set<OriginSession>>();
  readonly #idle = new Map<OriginSession, NodeJS.Timeout>();
  /** In the order in which it was found, the oldest first. */
  readonly #speaking = new Set<string>();

  /** A session of this scope to one of these places that can take a stream, or `null`. */
  take(scope: string, places: readonly Place[]): OriginSession | null {
    const held = [...(this.#sessions.get(scope) ?? [])].filter(
      ({ fit, address }) => fit && places.some((place) => place?.text === address?.text),
    );
    const free = held.find(({ hasRoom }) => hasRoom);
    if (free || held.length < MAX_SESSIONS_OF_SCOPE) return free ?? null;
    // Enough of them: what is asked now waits its turn on the one that has least to do.
    return held.reduce((least, each) => (each.streams < least.streams ? each : least));
  }

  /** Shares a new session, until it is closed or nobody has used it for a while. */
  add(session: OriginSession): void {
    const held = this.#sessions.get(session.scope) ?? new Set();
    held.add(session);
    this.#sessions.set(session.scope, held);
    session.onClose(() => this.#forget(session));
    this.#rest(session);
  }

  request(
    session: OriginSession,
    head: readonly string[],
    options: ClientSessionRequestOptions,
  ): ClientHttp2Stream {
    clearTimeout(this.#idle.get(session));
    this.#idle.delete(session);
    return session.request(head, options, () => {
      if (session.streams === 0 && session.fit) this.#rest(session);
    });
  }

  /** Whether the origin of a scope chose HTTP/2 when it was offered both. */
  speaksHttp2(scope: string): boolean {
    return this.#speaking.has(scope);
  }

  note(scope: string, http2: boolean): void {
    this.#speaking.delete(scope);
    if (http2) this.#speaking.add(scope);
    const [oldest] = this.#speaking;
    if (this.#speaking.size > MAX_SCOPES && oldest !== undefined) this.#speaking.delete(oldest);
  }

  close(): void {
    for (const held of this.#sessions.values()) for (const session of held) session.destroy();
    for (const timer of this.#idle.values()) clearTimeout(timer);
    this.#idle.clear();
  }

  #rest(session: OriginSession): void {
    const timer = setTimeout(() => session.retire(), IDLE_MS);
    timer.unref();
    this.#idle.set(session, timer);
  }

  #forget(session: OriginSession): void {
    clearTimeout(this.#idle.get(session));
    this.#idle.delete(session);
    const held = this.#sessions.get(session.scope);
    if (held?.delete(session) && held.size === 0) this.#sessions.delete(session.scope);
  }
}

/** As for HTTP/1.1 connections: below the keep-alive time of common servers. */
const IDLE_MS = 30_000;
const MAX_SESSIONS_OF_SCOPE = 8;
const MAX_SCOPES = 5_000;

/**
 * Counts what is open, for each session and in all: calls, which may outlive their client's connection, and streams over
 * which clients hear what comes by itself. Those have no end of their own: they are ended when the gate shuts down.
 */
export interface OpenLimits {
  readonly ofSession: number;
  readonly inAll: number;
}

export class OpenStreams {
  readonly #limits: OpenLimits;
  readonly #ofSession = new Map<string, number>();
  readonly #ends = new Set<() => void>();
  #closed = false;

  constructor(limits: OpenLimits) {
    this.#limits = limits;
  }

  /** @returns how to let go of it, or `null` where there is no room */
  enter(session: string, end: () => void): (() => void) | null {
    const count = this.#ofSession.get(session) ?? 0;
    if (this.#closed || count >= this.#limits.ofSession || this.#ends.size >= this.#limits.inAll) return null;
    this.#ofSession.set(session, count + 1);
    this.#ends.add(end);
    return () => {
      if (!this.#ends.delete(end)) return;
      const left = (this.#ofSession.get(session) ?? 1) - 1;
      if (left > 0) this.#ofSession.set(session, left);
      else this.#ofSession.delete(session);
    };
  }

  /** Ends each, and lets no more in. */
  close(): void {
    this.#closed = true;
    for (const end of [...this.#ends]) end();
  }
}

export const STREAM_LIMITS: OpenLimits = { ofSession: 32, inAll: 4_096 };
export const CALL_LIMITS: OpenLimits = { ofSession: 256, inAll: 8_192 };

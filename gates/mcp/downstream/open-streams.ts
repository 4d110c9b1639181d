/**
 * The streams over which clients hear what comes by itself. They have no end of their own, so they are counted, for each
 * session and in all, and ended when the gate shuts down: nobody waits for them.
 */
export class OpenStreams {
  readonly #ofSession = new Map<string, number>();
  readonly #ends = new Set<() => void>();
  #closed = false;

  /** @returns how to let go of it, or `null` where there is no room */
  enter(session: string, end: () => void): (() => void) | null {
    const count = this.#ofSession.get(session) ?? 0;
    if (this.#closed || count >= MAX_OF_SESSION || this.#ends.size >= MAX_IN_ALL) return null;
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

const MAX_OF_SESSION = 32;
const MAX_IN_ALL = 4_096;

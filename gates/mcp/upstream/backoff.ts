/** When a server that could not be reached may be asked again: after a moment, then more and more rarely. */
export class Backoff {
  readonly #now: () => Date;
  #failures = 0;
  #until = 0;

  constructor(now: () => Date) {
    this.#now = now;
  }

  /** Milliseconds that it is not asked for; 0 when it may be. */
  get leftMs(): number {
    return Math.max(0, this.#until - this.#now().getTime());
  }

  failed(): void {
    const pauseMs = Math.min(LONGEST_MS, SHORTEST_MS * 2 ** Math.min(this.#failures, 16));
    this.#failures += 1;
    // Sessions that lost the same server do not come back in step.
    this.#until = this.#now().getTime() + pauseMs * (0.75 + Math.random() / 4);
  }

  reached(): void {
    this.#failures = 0;
    this.#until = 0;
  }
}

const SHORTEST_MS = 250;
const LONGEST_MS = 30_000;

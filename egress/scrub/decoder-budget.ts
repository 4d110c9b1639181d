/**
 * How many decoders with large windows work at once in this process: each may take megabytes, and origins choose how
 * many. What is over it passes without being looked at, and is counted.
 */

class DecoderBudget {
  readonly #most: number;
  #taken = 0;
  #unread = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** How many coded bodies passed that could not be decoded within measure. */
  get unread(): number {
    return this.#unread;
  }

  /** @returns what gives the place back, any number of times; `null` where there is none */
  take(): (() => void) | null {
    if (this.#taken >= this.#most) return null;
    this.#taken += 1;
    let held = true;
    return () => {
      if (held) this.#taken -= 1;
      held = false;
    };
  }

  noteUnread(): void {
    this.#unread += 1;
  }
}

/** At 16 MiB for the largest window of br, 512 MiB. */
export const decoderBudget = new DecoderBudget(32);

/**
 * How many decoders with large windows work at once in this process: each may take megabytes, and origins choose how
 * many. What is over it waits, and what waits is not read from the origin. No environment can take the places of all.
 */

/** A place, or the wait for one. */
export interface Slot {
  /** Resolves when the place is there, or was left. */
  readonly ready: Promise<void>;
  /** Gives it back, or waits no longer. Any number of times. */
  leave(): void;
}

interface Waiting {
  readonly holder: string;
  readonly take: () => void;
}

export class DecoderSlots {
  readonly #most: number;
  readonly #mostOfHolder: number;
  #taken = 0;
  readonly #byHolder = new Map<string, number>();
  /** In the order in which they came. */
  readonly #waiting = new Set<Waiting>();

  constructor(most: number, mostOfHolder: number) {
    this.#most = most;
    this.#mostOfHolder = mostOfHolder;
  }

  /** @param holder whose decoder it is: an environment */
  ask(holder: string): Slot {
    const { promise, resolve } = Promise.withResolvers<void>();
    let state: 'waiting' | 'taken' | 'left' = 'waiting';
    const waiting = {
      holder,
      take: () => {
        state = 'taken';
        this.#count(holder, 1);
        resolve();
      },
    };
    if (this.#isFree(holder)) waiting.take();
    else this.#waiting.add(waiting);
    const leave = () => {
      if (state === 'taken') this.#count(holder, -1);
      state = 'left';
      this.#waiting.delete(waiting);
      resolve();
      this.#admit();
    };
    return { ready: promise, leave };
  }

  /** One of each is always read, beyond all others: so nobody waits for another environment's origins. */
  #isFree(holder: string): boolean {
    const held = this.#byHolder.get(holder) ?? 0;
    return held === 0 || (held < this.#mostOfHolder && this.#taken < this.#most);
  }

  #admit(): void {
    for (const waiting of this.#waiting) {
      if (!this.#isFree(waiting.holder)) continue;
      this.#waiting.delete(waiting);
      waiting.take();
    }
  }

  #count(holder: string, change: number): void {
    this.#taken += change;
    const held = (this.#byHolder.get(holder) ?? 0) + change;
    if (held === 0) this.#byHolder.delete(holder);
    else this.#byHolder.set(holder, held);
  }
}

/** At 16 MiB for the largest window of br, 512 MiB, and one more for each further environment. */
export const decoderSlots = new DecoderSlots(32, 16);

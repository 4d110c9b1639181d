/**
 * How many decoders with large windows work at once in this process: each may take megabytes, and origins choose how
 * many. So many, and beyond them one for each environment that has none: no environment keeps another from its first.
 * What has no place waits, for so long only; it is not decoded meanwhile, and no more of it is asked for.
 */

/** A place, or the wait for one. */
export interface Slot {
  /**
   * Resolves when the place is there, or was left.
   * @returns whether it is there: `false` also where it was waited for too long
   */
  take(): Promise<boolean>;
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
    const { promise, resolve } = Promise.withResolvers<boolean>();
    let state: 'waiting' | 'taken' | 'left' = 'waiting';
    let limit: NodeJS.Timeout | undefined;
    const waiting = {
      holder,
      take: () => {
        state = 'taken';
        clearTimeout(limit);
        this.#count(holder, 1);
        resolve(true);
      },
    };
    if (this.#isFree(holder)) waiting.take();
    else this.#waiting.add(waiting);
    const leave = () => {
      if (state === 'taken') this.#count(holder, -1);
      state = 'left';
      clearTimeout(limit);
      this.#waiting.delete(waiting);
      resolve(false);
      this.#admit();
    };
    const take = () => {
      // Those who have places may be silent for hours.
      if (state === 'waiting') limit ??= setTimeout(leave, MAX_WAIT_MS);
      return promise;
    };
    return { take, leave };
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

export const MAX_WAIT_MS = 10_000;
/**
 * At 32 MiB for the largest window of br and what is held of its block, 2 GiB, and one more for each further environment.
 */
const MOST = 64;
/** Half of all: agents keep streams of events open by the dozen. */
export const MOST_OF_ENVIRONMENT = 32;
export const decoderSlots = new DecoderSlots(MOST, MOST_OF_ENVIRONMENT);

/**
 * How many rows of one kind an environment may have written in a second: nobody may flood the record by being refused.
 * Holds one number for each environment that asked in the running second.
 */
export class RowsPerSecond {
  readonly #most: number;
  readonly #counts = new Map<string, number>();
  #second = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** Whether one more may be written; it counts then. */
  take(environmentId: string, now: Date): boolean {
    const second = Math.floor(now.getTime() / 1000);
    if (second !== this.#second) {
      this.#second = second;
      this.#counts.clear();
    }
    const count = this.#counts.get(environmentId) ?? 0;
    if (count >= this.#most) return false;
    this.#counts.set(environmentId, count + 1);
    return true;
  }
}

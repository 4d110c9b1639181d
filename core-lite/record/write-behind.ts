/**
 * Rows that need not be committed before anything else happens: they are written in batches, and kept in bounded
 * memory while the database is away. What does not fit any more is dropped and counted, never waited for.
 */
export interface WriteBehindOptions<Row> {
  /** Writes the rows and resolves when they are committed; must bear being sent the same rows twice. */
  readonly write: (rows: readonly Row[]) => Promise<void>;
  readonly maxBatch: number;
  readonly maxHeld: number;
  /** Pause after a failure, milliseconds. */
  readonly retryMs: number;
}

export class WriteBehind<Row> {
  readonly #options: WriteBehindOptions<Row>;
  #held: Row[] = [];
  #dropped = 0;
  #working: Promise<void> | null = null;
  #wake: (() => void) | null = null;
  #closing = false;

  constructor(options: WriteBehindOptions<Row>) {
    this.#options = options;
  }

  /** How many rows did not fit. */
  get dropped(): number {
    return this.#dropped;
  }

  add(row: Row): void {
    if (this.#held.length >= this.#options.maxHeld) {
      this.#dropped += 1;
      return;
    }
    this.#held.push(row);
    this.#working ??= this.#work();
  }

  /** Writes what is held, trying once more where the database is away. @returns how many rows could not be written */
  async close(): Promise<number> {
    this.#closing = true;
    this.#wake?.();
    await this.#working;
    return this.#held.length + this.#dropped;
  }

  async #work(): Promise<void> {
    await Promise.resolve();
    while (this.#held.length > 0) {
      const batch = this.#held.slice(0, this.#options.maxBatch);
      const closing = this.#closing;
      try {
        await this.#options.write(batch);
        this.#held = this.#held.slice(batch.length);
      } catch {
        if (closing) break;
        await this.#pause();
      }
    }
    this.#working = null;
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(done, this.#options.retryMs);
      const wake = () => done();
      this.#wake = wake;
      function done(): void {
        clearTimeout(timer);
        resolve();
      }
      if (this.#closing) done();
    });
  }
}

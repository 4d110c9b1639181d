/**
 * Group commit: one batch is in flight while the next fills, so many rows share a commit and none waits for a timer.
 * An idle writer commits a single row at once.
 */
export interface GroupCommitOptions<Row, Result = undefined> {
  /** Writes the rows and resolves when they are committed: to what came of each, in their order, if anything does. */
  readonly write: (rows: readonly Row[]) => Promise<readonly Result[] | undefined>;
  readonly maxBatch: number;
  /** Rows that may wait; one more is refused at once, since whoever waits longest gives up anyway. */
  readonly maxWaiting: number;
}

interface Waiting<Row, Result> {
  readonly row: Row;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

export class GroupCommit<Row, Result = undefined> {
  readonly #options: GroupCommitOptions<Row, Result>;
  #waiting: Waiting<Row, Result>[] = [];
  #flight: Promise<void> | null = null;

  constructor(options: GroupCommitOptions<Row, Result>) {
    this.#options = options;
  }

  /** Resolves once the row is committed; rejects as `write` does, or with `QueueFull`. */
  add(row: Row): Promise<Result> {
    if (this.#waiting.length >= this.#options.maxWaiting) return Promise.reject(new QueueFull());
    return new Promise((resolve, reject) => {
      this.#waiting.push({ row, resolve, reject });
      this.#flight ??= this.#fly();
    });
  }

  /** Resolves when nothing waits any more. */
  async drain(): Promise<void> {
    while (this.#flight) await this.#flight;
  }

  async #fly(): Promise<void> {
    while (this.#waiting.length > 0) {
      // Rows of one turn of the event loop share a batch: it costs no time, and a commit each would cost much.
      await new Promise((resolve) => setImmediate(resolve));
      const batch = this.#waiting.slice(0, this.#options.maxBatch);
      this.#waiting = this.#waiting.slice(batch.length);
      await this.#write(batch);
    }
    this.#flight = null;
  }

  async #write(batch: readonly Waiting<Row, Result>[]): Promise<void> {
    try {
      const results = await this.#options.write(batch.map((waiting) => waiting.row));
      for (const [place, waiting] of batch.entries()) waiting.resolve(results?.[place] as Result);
    } catch (error) {
      for (const waiting of batch) waiting.reject(error);
    }
  }
}

export class QueueFull extends Error {
  constructor() {
    super('too many rows wait to be committed');
    this.name = 'QueueFull';
  }
}

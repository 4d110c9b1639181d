/**
 * Rows that need not be committed before anything else happens: they are gathered for a moment, written in batches, and
 * kept in bounded memory while the database is away. What does not fit any more, or is refused for what it holds, is
 * dropped and counted, never waited for.
 */
import { isFault } from '../errors.ts';

export interface WriteBehindOptions<Row> {
  /** Writes the rows and resolves when they are committed; must bear being sent the same rows twice. */
  readonly write: (rows: readonly Row[]) => Promise<void>;
  readonly maxBatch: number;
  readonly maxHeld: number;
  /** Pause after a failure, milliseconds. */
  readonly retryMs: number;
  /** Makes what is written in place of a row that the database refuses for what it holds. */
  readonly simplify?: (row: Row) => Row;
  /** Told of each row that is lost: with what the database said to it, or `null` where it did not fit. */
  readonly onDrop: (error: unknown) => void;
}

interface Flush {
  readonly place: number;
  readonly resolve: () => void;
}

export class WriteBehind<Row> {
  readonly #options: WriteBehindOptions<Row>;
  #held: Row[] = [];
  #dropped = 0;
  /** What stands at the head in place of a row that was refused. */
  #simplified: { readonly row: Row } | null = null;
  #working: Promise<void> | null = null;
  #wake: (() => void) | null = null;
  #closing = false;
  /** How many rows were taken, and how many of them are not held any more. */
  #taken = 0;
  #gone = 0;
  #gathering = false;
  #flushes: Flush[] = [];
  /** How many go in the next batch: fewer while the row is looked for that the database refuses. */
  #batch: number;

  constructor(options: WriteBehindOptions<Row>) {
    this.#options = options;
    this.#batch = options.maxBatch;
  }

  /** How many rows did not fit, or were refused. */
  get dropped(): number {
    return this.#dropped;
  }

  /** @returns its place, for `flush`; 0 where it did not fit */
  add(row: Row): number {
    if (this.#held.length >= this.#options.maxHeld) {
      this.#drop(null);
      return 0;
    }
    this.#held.push(row);
    this.#taken += 1;
    this.#working ??= this.#work();
    return this.#taken;
  }

  /** Whether the row in this place is still to be written. */
  holds(place: number): boolean {
    return place > this.#gone;
  }

  /** Writes at once. Resolves when the row in this place was written, or could not be: it never waits for a retry. */
  flush(place: number): Promise<void> {
    if (!this.holds(place)) return Promise.resolve();
    return new Promise((resolve) => {
      this.#flushes.push({ place, resolve });
      if (this.#gathering) this.#wake?.();
      else if (this.#wake) this.#endFlushes(true);
    });
  }

  /** Writes what is held, trying once more where the database is away. @returns how many rows could not be written */
  async close(): Promise<number> {
    this.#closing = true;
    this.#wake?.();
    await this.#working;
    return this.#held.length + this.#dropped;
  }

  async #work(): Promise<void> {
    this.#gathering = true;
    await this.#pause(GATHER_MS);
    this.#gathering = false;
    while (this.#held.length > 0) {
      const closing = this.#closing;
      const batch = this.#held.slice(0, this.#batch);
      const error = await this.#options.write(batch).then(
        () => null,
        (reason: unknown) => reason,
      );
      if (error === null) {
        this.#held = this.#held.slice(batch.length);
        this.#gone += batch.length;
        this.#batch = this.#options.maxBatch;
      } else if (isRefused(error)) this.#narrow(batch.length, error);
      else if (closing) break;
      else {
        this.#endFlushes(true);
        await this.#pause(this.#options.retryMs);
      }
      this.#endFlushes();
    }
    this.#endFlushes(true);
    this.#working = null;
  }

  /** @param all those too whose rows are still held */
  #endFlushes(all = false): void {
    const waiting: Flush[] = [];
    for (const flush of this.#flushes) {
      if (!all && this.holds(flush.place)) waiting.push(flush);
      else flush.resolve();
    }
    this.#flushes = waiting;
  }

  /** The database answers, but not to these rows: halves find the one, and it must not hold up the others. */
  #narrow(tried: number, error: unknown): void {
    if (tried > 1) {
      this.#batch = Math.ceil(tried / 2);
      return;
    }
    const [refused, ...others] = this.#held as [Row, ...Row[]];
    const { simplify } = this.#options;
    if (simplify && this.#simplified?.row !== refused) {
      this.#simplified = { row: simplify(refused) };
      this.#held = [this.#simplified.row, ...others];
      return;
    }
    this.#held = others;
    this.#gone += 1;
    this.#drop(error);
    this.#batch = this.#options.maxBatch;
  }

  #drop(error: unknown): void {
    this.#dropped += 1;
    this.#options.onDrop(error);
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        this.#wake = null;
        resolve();
      };
      const timer = setTimeout(done, ms);
      this.#wake = done;
      if (this.#closing) done();
    });
  }
}

/** Whether the database refuses what the rows hold (SQLSTATE classes 22 and 23). All else is its trouble, and passes. */
function isRefused(error: unknown): boolean {
  if (isFault(error)) return error.code === 'input_invalid';
  return /^2[23]/.test(String((error as { code?: unknown } | null)?.code));
}

/** Rows that come within a moment share a statement, milliseconds: many small batches cost more than few large ones. */
const GATHER_MS = 50;

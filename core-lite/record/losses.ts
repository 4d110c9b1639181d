/** Rows that could not be written: each is counted, and one line a second tells of them. */
import type { Logger } from '../log.ts';

export interface Losses {
  /** What the ledger `rows` reports its lost rows to. */
  of(rows: string): (error: unknown) => void;
}

/** @param count adds one to the ledger's lost rows */
export function reportLosses(log: Logger, count: (rows: string) => void, now: () => Date): Losses {
  let second = 0;
  return {
    of: (rows) => (error) => {
      count(rows);
      const current = Math.floor(now().getTime() / 1000);
      if (current === second) return;
      second = current;
      // Without an error the row did not fit: the database has been away for long.
      log.error({ rows, ...(error === null ? {} : { err: error }) }, 'rows of the record were lost');
    },
  };
}

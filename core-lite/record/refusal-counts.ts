/**
 * Refusals that are counted instead of recorded: nobody can be named for a refused token, and a row for each would let
 * anyone flood the record. A row counts a source's refusals of one reason in one minute, as far as they are known when
 * it is written; whoever reads adds them up.
 */
import type { Queryable } from '../database/pool.ts';
import { makeId } from '../id.ts';
import type { RefusalReason } from '../reasons.ts';
import { WriteBehind } from './write-behind.ts';

interface RefusalCount {
  readonly id: string;
  readonly minute: Date;
  readonly source: string;
  readonly environmentId: string | null;
  readonly reason: RefusalReason;
  count: number;
}

export class RefusalCounts {
  readonly #rows: WriteBehind<RefusalCount>;
  readonly #timer: NodeJS.Timeout;
  #counting = new Map<string, RefusalCount>();

  /** @param onDrop told of each count that is lost */
  constructor(db: Queryable, replica: string, onDrop: (error: unknown) => void) {
    this.#rows = new WriteBehind({
      write: (rows) => insertCounts(db, replica, rows),
      maxBatch: 500,
      maxHeld: 10_000,
      retryMs: 1_000,
      onDrop,
    });
    this.#timer = setInterval(() => this.#flush(), FLUSH_MS);
    this.#timer.unref();
  }

  /** @param environmentId whose token it was, where that is known */
  add(source: string, environmentId: string | null, reason: RefusalReason, now: Date): void {
    const minute = new Date(Math.floor(now.getTime() / 60_000) * 60_000);
    const keyOf = (from: string) => `${minute.getTime()} ${from} ${environmentId} ${reason}`;
    // A flood from ever new sources is one count: the memory stays bounded.
    const full = this.#counting.size >= MAX_SOURCES && !this.#counting.has(keyOf(source));
    const from = full ? OTHER_SOURCES : source;
    const key = keyOf(from);
    const held = this.#counting.get(key);
    if (held) held.count += 1;
    else
      this.#counting.set(key, { id: makeId('ref'), minute, source: from, environmentId, reason, count: 1 });
  }

  async close(): Promise<number> {
    clearInterval(this.#timer);
    this.#flush();
    return this.#rows.close();
  }

  #flush(): void {
    for (const row of this.#counting.values()) this.#rows.add(row);
    this.#counting = new Map();
  }
}

async function insertCounts(db: Queryable, replica: string, rows: readonly RefusalCount[]): Promise<void> {
  await db.query(
    `INSERT INTO refusal_counts (replica, id, minute, source, environment_id, reason, count)
     SELECT $1, * FROM unnest($2::text[], $3::timestamptz[], $4::text[], $5::text[], $6::text[], $7::bigint[])
     ON CONFLICT DO NOTHING`,
    [
      replica,
      rows.map((row) => row.id),
      rows.map((row) => row.minute),
      rows.map((row) => row.source),
      rows.map((row) => row.environmentId),
      rows.map((row) => row.reason),
      rows.map((row) => row.count),
    ],
  );
}

/** How old a count may be before it can be seen. */
const FLUSH_MS = 2_000;
const MAX_SOURCES = 1_000;
const OTHER_SOURCES = 'others';

/**
 * The record of exchanges: one row for each request that was read, inside an interception or plain, written behind its
 * connection's row. It names the credentials that were put on, never a value; the path without its query, which may
 * hold anything.
 */
import type { Queryable } from '../database/pool.ts';
import type { Reason } from '../reasons.ts';
import { WriteBehind } from './write-behind.ts';

export interface ExchangeEntry {
  readonly id: string;
  readonly connectionId: string;
  readonly at: Date;
  readonly method: string;
  readonly path: string;
  /** What the client got; `null` where it got nothing. */
  readonly status: number | null;
  readonly reason: Reason;
  /** `id@version` of each credential that was put on. */
  readonly credentials: readonly string[];
  readonly bytesUp: number;
  readonly bytesDown: number;
  /** How often a secret was masked in the answer. */
  readonly masked: number;
  /** More exactly why it was refused, where the reason leaves it open. */
  readonly code: string | null;
  readonly durationMs: number;
}

export class ExchangeLog {
  readonly #rows: WriteBehind<ExchangeEntry>;

  /** @param onDrop told of each row that is lost */
  constructor(db: Queryable, onDrop: (error: unknown) => void) {
    this.#rows = new WriteBehind({
      write: (rows) => insertExchanges(db, rows),
      maxBatch: 500,
      maxHeld: 100_000,
      retryMs: 500,
      onDrop,
    });
  }

  add(entry: ExchangeEntry): void {
    this.#rows.add(entry);
  }

  /** Writes what is held. @returns how many could not be written */
  close(): Promise<number> {
    return this.#rows.close();
  }
}

async function insertExchanges(db: Queryable, rows: readonly ExchangeEntry[]): Promise<void> {
  await db.query(INSERT, [
    rows.map((row) => row.id),
    rows.map((row) => row.connectionId),
    rows.map((row) => row.at),
    rows.map((row) => row.method),
    rows.map((row) => row.path),
    rows.map((row) => row.status),
    rows.map((row) => row.reason),
    rows.map((row) => row.credentials.join(' ')),
    rows.map((row) => row.bytesUp),
    rows.map((row) => row.bytesDown),
    rows.map((row) => Math.round(row.durationMs)),
    rows.map((row) => Math.min(row.masked, MAX_INTEGER)),
    rows.map((row) => row.code),
  ]);
}

/** What the column holds: one count too large must not lose the rows beside it. */
const MAX_INTEGER = 2 ** 31 - 1;
const INSERT = `
  INSERT INTO exchanges (id, connection_id, at, method, path, status, reason, credentials, bytes_up, bytes_down,
    duration_ms, masked, code)
  SELECT id, connection_id, at, method, path, status, reason, string_to_array(credentials, ' '), up, down, ms, masked, code
    FROM unnest($1::text[], $2::text[], $3::timestamptz[], $4::text[], $5::text[], $6::int[], $7::text[], $8::text[],
      $9::bigint[], $10::bigint[], $11::bigint[], $12::int[], $13::text[])
      AS t(id, connection_id, at, method, path, status, reason, credentials, up, down, ms, masked, code)
  ON CONFLICT DO NOTHING`;

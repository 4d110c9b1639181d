/**
 * The record of connections. A connection's row is committed before anything happens for it; its end is a row of its
 * own, so nothing is ever changed. Ends and counts are written behind: they wait for the database, in bounded memory.
 */
import type { Queryable } from '../database/pool.ts';
import type { Verdict } from '../decision.ts';
import type { Reason } from '../reasons.ts';
import { GroupCommit } from './group-commit.ts';
import { WriteBehind } from './write-behind.ts';

/** The first row: who wanted where, and what was decided. */
export interface ConnectionOpened {
  readonly id: string;
  readonly at: Date;
  readonly environmentId: string;
  readonly tokenId: string;
  readonly podUid: string;
  readonly sessionId: string | null;
  readonly turnId: string | null;
  /** The client's address. */
  readonly source: string;
  readonly host: string;
  readonly port: number;
  readonly verdict: Verdict;
  readonly reason: Reason;
}

/** The last row: where it went and how it ended. A denied connection has none. */
export interface ConnectionEnded {
  readonly connectionId: string;
  readonly at: Date;
  readonly verdict: Verdict;
  readonly reason: Reason;
  /** More exactly why, where the reason leaves it open. */
  readonly code: string | null;
  /** What the name resolved to. */
  readonly addresses: readonly string[];
  /** The address that was dialled and answered. */
  readonly address: string | null;
  readonly bytesUp: number;
  readonly bytesDown: number;
  readonly durationMs: number;
  /** Requests inside an interception; 0 for a tunnel. */
  readonly exchanges: number;
}

export class ConnectionLog {
  readonly #opens: GroupCommit<ConnectionOpened>;
  readonly #ends: WriteBehind<ConnectionEnded>;

  /** @param onDrop told of each end that is lost */
  constructor(db: Queryable, replica: string, onDrop: (error: unknown) => void) {
    this.#opens = new GroupCommit({
      write: (rows) => insertOpens(db, replica, rows),
      maxBatch: MAX_BATCH,
      maxWaiting: MAX_WAITING,
    });
    this.#ends = new WriteBehind({
      write: (rows) => insertEnds(db, rows),
      maxBatch: MAX_BATCH,
      maxHeld: MAX_HELD,
      retryMs: RETRY_MS,
      onDrop,
    });
  }

  /** Resolves when the row is committed. Whoever calls it opens nothing before that, and nothing if it rejects. */
  open(row: ConnectionOpened): Promise<void> {
    return this.#opens.add(row);
  }

  end(row: ConnectionEnded): void {
    this.#ends.add(row);
  }

  /** Writes what is held. @returns how many ends could not be written */
  async close(): Promise<number> {
    await this.#opens.drain();
    return this.#ends.close();
  }
}

// Columns go over as arrays: one statement with one plan, however many rows.
async function insertOpens(
  db: Queryable,
  replica: string,
  rows: readonly ConnectionOpened[],
): Promise<undefined> {
  await db.query(INSERT_OPENS, [
    replica,
    rows.map((row) => row.id),
    rows.map((row) => row.at),
    rows.map((row) => row.environmentId),
    rows.map((row) => row.tokenId),
    rows.map((row) => row.podUid),
    rows.map((row) => row.sessionId),
    rows.map((row) => row.turnId),
    rows.map((row) => row.source),
    rows.map((row) => row.host),
    rows.map((row) => row.port),
    rows.map((row) => row.verdict),
    rows.map((row) => row.reason),
  ]);
}

async function insertEnds(db: Queryable, rows: readonly ConnectionEnded[]): Promise<void> {
  await db.query(INSERT_ENDS, [
    rows.map((row) => row.connectionId),
    rows.map((row) => row.at),
    rows.map((row) => row.verdict),
    rows.map((row) => row.reason),
    // unnest() flattens arrays of arrays: the lists travel as text and are split in the statement.
    rows.map((row) => row.addresses.join(' ')),
    rows.map((row) => row.address),
    rows.map((row) => row.bytesUp),
    rows.map((row) => row.bytesDown),
    rows.map((row) => Math.round(row.durationMs)),
    rows.map((row) => row.exchanges),
    rows.map((row) => row.code),
  ]);
}

const INSERT_OPENS = `
  INSERT INTO connections (replica, id, at, environment_id, token_id, pod_uid, session_id, turn_id, source, host, port,
    verdict, reason)
  SELECT $1, * FROM unnest($2::text[], $3::timestamptz[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],
    $9::text[], $10::text[], $11::int[], $12::text[], $13::text[])`;
// A batch whose answer was lost is sent again: what is there already stays.
const INSERT_ENDS = `
  INSERT INTO connection_ends (connection_id, at, verdict, reason, addresses, address, bytes_up, bytes_down, duration_ms,
    exchanges, code)
  SELECT id, at, verdict, reason, string_to_array(addresses, ' '), address, up, down, ms, exchanges, code
    FROM unnest($1::text[], $2::timestamptz[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[],
      $8::bigint[], $9::bigint[], $10::int[], $11::text[])
      AS t(id, at, verdict, reason, addresses, address, up, down, ms, exchanges, code)
  ON CONFLICT DO NOTHING`;
/** A batch of 500 costs a quarter of the CPU a row of one of 20; more gains little. */
const MAX_BATCH = 500;
/** Opens that wait longer than a batch or two are refused sooner than they would be served. */
const MAX_WAITING = 20_000;
/** About 40 MiB of ends: a minute without a database at 1,500 connections a second. */
const MAX_HELD = 100_000;
const RETRY_MS = 500;

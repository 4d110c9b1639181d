/**
 * The ledger of model calls: one row for each call that was decided, written behind it. It holds what was counted and
 * how the call ended; never a prompt, an answer or a credential. A row and the settlement of its call are one
 * statement: a row that cannot be written leaves its reservation as it is, and one whose figures the database refuses is
 * written without them, charged what it had reserved.
 */
import type { Queryable } from '../database/pool.ts';
import type { Dialect } from '../state/dialect.ts';
import { proveReplica, type ReplicaName } from './replica-name.ts';
import { WriteBehind } from './write-behind.ts';

/** Tokens; `null` where the provider did not say. The columns of `model_usage` say what each one counts. */
export interface TokenCounts {
  readonly input: number | null;
  readonly output: number | null;
  readonly cached: number | null;
  readonly cacheWrite: number | null;
  readonly reasoning: number | null;
  /** Of `cacheWrite`, what is kept for an hour: only the price asks for it. */
  readonly cacheWriteHour?: number;
  /** Of all of these, what other models than the call's own read and wrote: only the price asks for them. */
  readonly apart?: readonly ApartCounts[];
  /** Searches that the provider made and charges one by one: only the price asks for them. */
  readonly webSearches?: number;
  /** What the provider itself says that the call cost, in US dollars. */
  readonly toldUsd?: number;
}

/** What one other model read and wrote. */
export interface ApartCounts {
  /** By its provider's name. */
  readonly model: string;
  readonly input: number;
  readonly output: number;
  readonly cached: number;
  readonly cacheWrite: number;
  readonly cacheWriteHour: number;
}

/**
 * With what a call is charged: nothing, what was counted, or what was reserved of all that has no figure in its entry.
 * The row of one that is charged what was reserved has those figures, and says that they are presumed.
 */
export type Charge = 'none' | 'counted' | 'reserved';

export interface UsageEntry {
  readonly id: string;
  /** When the call arrived. */
  readonly at: Date;
  readonly sessionId: string;
  readonly turnId: string;
  readonly agent: string;
  readonly model: string;
  readonly upstreamName: string;
  /** A name of `core-lite/providers/`; `null` where no model of the catalogue was found. */
  readonly provider: string | null;
  readonly dialect: Dialect;
  readonly streamed: boolean;
  /** The HTTP status that the caller got; `null` where it left before. */
  readonly status: number | null;
  /** A word of the gates' closed lists. */
  readonly outcome: string;
  readonly tokens: TokenCounts;
  /** US dollars; `null` where the tokens or their price are not known. */
  readonly costUsd: number | null;
  /** The call ran before and its outcome was lost: the provider may have charged twice. */
  readonly duplicate: boolean;
  /** What its reservation, if it has one, is settled with. */
  readonly charge: Charge;
  /** What the client said of itself, short and printable: hints, nothing is decided by them. */
  readonly clientSession: string | null;
  readonly clientAgent: string | null;
  readonly clientParentAgent: string | null;
  readonly firstByteMs: number | null;
  readonly durationMs: number;
}

export class UsageLedger {
  readonly #rows: WriteBehind<UsageEntry>;
  /** Of the last row that settles anything. */
  #settling = 0;

  /** @param onDrop told of each row that is lost */
  constructor(db: Queryable, replica: ReplicaName, onDrop: (error: unknown) => void) {
    this.#rows = new WriteBehind({
      write: (rows) => insertUsage(db, replica, rows),
      maxBatch: 500,
      maxHeld: 100_000,
      retryMs: 500,
      simplify: withoutFigures,
      onDrop,
    });
  }

  /** @param settles whether its call has a reservation */
  add(entry: UsageEntry, settles = true): void {
    const place = this.#rows.add(entry);
    if (settles) this.#settling = Math.max(this.#settling, place);
  }

  /** Settles what ended and waits for its row to be written. @returns whether there was anything */
  async settle(): Promise<boolean> {
    const place = this.#settling;
    if (!this.#rows.holds(place)) return false;
    await this.#rows.flush(place);
    return !this.#rows.holds(place);
  }

  /** Writes what is held. @returns how many could not be written */
  close(): Promise<number> {
    return this.#rows.close();
  }
}

async function insertUsage(db: Queryable, replica: ReplicaName, rows: readonly UsageEntry[]): Promise<void> {
  const whole = (value: number | null): number | null =>
    value === null ? null : Math.max(0, Math.round(value));
  await db.query(RECORD, [
    ...proveReplica(replica),
    rows.map((row) => row.id),
    rows.map((row) => row.at),
    rows.map((row) => row.sessionId),
    rows.map((row) => row.turnId),
    rows.map((row) => row.agent),
    rows.map((row) => row.model),
    rows.map((row) => row.upstreamName),
    rows.map((row) => row.provider),
    rows.map((row) => row.dialect),
    rows.map((row) => row.streamed),
    rows.map((row) => row.status),
    rows.map((row) => row.outcome),
    rows.map((row) => row.charge),
    rows.map((row) => row.tokens.input),
    rows.map((row) => row.tokens.output),
    rows.map((row) => row.tokens.cached),
    rows.map((row) => row.tokens.cacheWrite),
    rows.map((row) => row.tokens.reasoning),
    rows.map((row) => row.costUsd),
    rows.map((row) => row.duplicate),
    rows.map((row) => row.clientSession),
    rows.map((row) => row.clientAgent),
    rows.map((row) => row.clientParentAgent),
    rows.map((row) => whole(row.firstByteMs)),
    rows.map((row) => whole(row.durationMs)),
  ]);
}

/** The row that is written where the database refuses what the call's own one holds: as little as can be known. */
function withoutFigures(row: UsageEntry): UsageEntry {
  const clean = (text: string): string => text.replaceAll('\0', '');
  return {
    ...row,
    model: clean(row.model),
    upstreamName: clean(row.upstreamName),
    provider: row.provider === null ? null : clean(row.provider),
    outcome: clean(row.outcome),
    status: null,
    tokens: { input: null, output: null, cached: null, cacheWrite: null, reasoning: null },
    costUsd: null,
    charge: row.charge === 'none' ? 'none' : 'reserved',
    clientSession: null,
    clientAgent: null,
    clientParentAgent: null,
    firstByteMs: null,
    durationMs: 0,
  };
}

const RECORD = `SELECT record_calls(${Array.from({ length: 27 }, (_, i) => `$${i + 1}`).join(', ')})`;

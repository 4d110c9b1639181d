/**
 * The ledger of model calls: one row for each call that was decided, written behind it. It holds what was counted and
 * how the call ended; never a prompt, an answer or a credential. A row and the settlement of its call are one
 * statement: a row that cannot be written leaves its reservation as it is.
 */
import type { Queryable } from '../database/pool.ts';
import type { Dialect } from '../state/dialect.ts';
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
  /** Searches that the provider made and charges one by one: only the price asks for them. */
  readonly webSearches?: number;
  /** What the provider itself says that the call cost, in US dollars. */
  readonly toldUsd?: number;
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

  /** @param onDrop told of each row that is lost */
  constructor(db: Queryable, replica: string, onDrop: (error: unknown) => void) {
    this.#rows = new WriteBehind({
      write: (rows) => insertUsage(db, replica, rows),
      maxBatch: 500,
      maxHeld: 100_000,
      retryMs: 500,
      onDrop,
    });
  }

  add(entry: UsageEntry): void {
    this.#rows.add(entry);
  }

  /** Writes what is held. @returns how many could not be written */
  close(): Promise<number> {
    return this.#rows.close();
  }
}

async function insertUsage(db: Queryable, replica: string, rows: readonly UsageEntry[]): Promise<void> {
  const whole = (value: number | null): number | null => (value === null ? null : Math.round(value));
  await db.query(INSERT, [
    rows.map((row) => row.id),
    rows.map((row) => row.at),
    rows.map((row) => row.sessionId),
    rows.map((row) => row.turnId),
    rows.map((row) => row.agent),
    rows.map((row) => row.model),
    rows.map((row) => row.upstreamName),
    rows.map((row) => row.dialect),
    rows.map((row) => row.streamed),
    rows.map((row) => row.status),
    rows.map((row) => row.outcome),
    rows.map((row) => row.tokens.input),
    rows.map((row) => row.tokens.output),
    rows.map((row) => row.tokens.cached),
    rows.map((row) => row.tokens.cacheWrite),
    rows.map((row) => row.tokens.reasoning),
    rows.map((row) => whole(row.firstByteMs)),
    rows.map((row) => whole(row.durationMs)),
    rows.map((row) => row.provider),
    rows.map((row) => row.costUsd),
    rows.map((row) => row.duplicate),
    rows.map((row) => row.charge),
    rows.map((row) => row.clientSession),
    rows.map((row) => row.clientAgent),
    rows.map((row) => row.clientParentAgent),
    replica,
  ]);
}

// A batch whose answer was lost is sent again: what is there already stays, and nothing is charged twice.
const INSERT = `
  WITH calls AS (
    SELECT * FROM unnest($1::text[], $2::timestamptz[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[],
      $8::text[], $9::boolean[], $10::int[], $11::text[], $12::bigint[], $13::bigint[], $14::bigint[], $15::bigint[],
      $16::bigint[], $17::bigint[], $18::bigint[], $19::text[], $20::numeric[], $21::boolean[], $23::text[], $24::text[],
      $25::text[])
      AS t(id, at, session_id, turn_id, agent, model, upstream_name, dialect, streamed, status, outcome, input, output,
        cached, cache_write, reasoning, first_byte_ms, duration_ms, provider, cost, duplicate, client_session,
        client_agent, client_parent_agent)),
  settled AS (SELECT * FROM settle_calls($1::text[], $22::text[], $12::bigint[], $13::bigint[], $20::numeric[]))
  INSERT INTO model_usage (id, at, session_id, turn_id, agent, model, upstream_name, dialect, streamed, status, outcome,
    input_tokens, output_tokens, cached_tokens, cache_write_tokens, reasoning_tokens, first_byte_ms, duration_ms,
    provider, cost_usd, duplicate, presumed, client_session, client_agent, client_parent_agent, replica)
  SELECT c.id, at, session_id, turn_id, agent, model, upstream_name, dialect, streamed, status, outcome,
      coalesce(input, s.input_tokens), coalesce(output, s.output_tokens), cached, cache_write, reasoning, first_byte_ms,
      duration_ms, provider, coalesce(cost, s.cost_usd), duplicate, s.id IS NOT NULL,
      client_session, client_agent, client_parent_agent, $26
    FROM calls c LEFT JOIN settled s ON s.id = c.id
  ON CONFLICT DO NOTHING`;

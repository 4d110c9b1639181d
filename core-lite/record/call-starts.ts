/**
 * The start of calls: one round trip and one transaction for all that start together. It holds the fence (no call of a
 * run that a committed change has ended) and reserves what a call may cost in every budget that applies, in the
 * database alone: its commit is the start. What cannot be asked has not started.
 */
import type { Queryable } from '../database/pool.ts';
import type { BudgetScope, Measure, Period } from '../state/budget.ts';
import type { Dialect } from '../state/dialect.ts';
import { GroupCommit } from './group-commit.ts';
import { proveReplica, type ReplicaName } from './replica-name.ts';

/** A call that wants to start. */
export interface CallStart {
  /** Of its row in the ledger. */
  readonly id: string;
  readonly at: Date;
  readonly sessionId: string;
  readonly turnId: string;
  readonly agent: string;
  readonly leaseEpoch: number;
  /** `null` for a call that spends nothing: the fence alone. */
  readonly spend: Spend | null;
}

/** What a call may spend, and for which model. */
export interface Spend {
  readonly model: string;
  readonly upstreamName: string;
  readonly provider: string | null;
  readonly dialect: Dialect;
  readonly streamed: boolean;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** `null` where the price is not known. */
  readonly costUsd: number | null;
}

export type StartRefusal =
  | { readonly reason: 'run_stale' | 'replica_dead' }
  | (BudgetState & { readonly reason: 'budget' | 'price_unknown' });

/** The budget that refused a call, as it stood. */
export interface BudgetState {
  readonly budget: string;
  readonly scope: BudgetScope;
  readonly measure: Measure;
  readonly period: Period;
  readonly limit: number;
  readonly used: number;
  /** By calls that run now. */
  readonly reserved: number;
  /** What the call would reserve; `null` where its price is not known. */
  readonly need: number | null;
  /** `null` for a lifetime. */
  readonly resetsInMs: number | null;
}

export class CallStarts {
  readonly #db: Queryable;
  readonly #replica: ReplicaName;
  readonly #starts: GroupCommit<CallStart, StartRefusal | null>;

  constructor(db: Queryable, replica: ReplicaName) {
    this.#db = db;
    this.#replica = replica;
    this.#starts = new GroupCommit({
      write: (rows) => startCalls(db, replica, rows),
      maxBatch: MAX_BATCH,
      maxWaiting: MAX_WAITING,
    });
  }

  /** Resolves when the call has started, to `null`, or to why it may not. Rejects where that cannot be told. */
  start(call: CallStart): Promise<StartRefusal | null> {
    return this.#starts.add(call);
  }

  /** A call outside a run, for a session that is open. Rejects where that cannot be told. */
  async startService(sessionId: string): Promise<StartRefusal | null> {
    const [row] = await this.#db.query<{ said: 'started' | 'run_stale' | 'replica_dead' }>(
      'SELECT start_service_call($1, $2, $3) AS said',
      [...proveReplica(this.#replica), sessionId],
    );
    const said = row?.said ?? 'replica_dead';
    return said === 'started' ? null : { reason: said };
  }

  close(): Promise<void> {
    return this.#starts.drain();
  }
}

async function startCalls(
  db: Queryable,
  replica: ReplicaName,
  calls: readonly CallStart[],
): Promise<(StartRefusal | null)[]> {
  const [row] = await db.query<{ refused: Readonly<Record<number, StartRefusal>> | null }>(START, [
    ...proveReplica(replica),
    calls.map((call) => call.id),
    calls.map((call) => call.at),
    calls.map((call) => call.sessionId),
    calls.map((call) => call.turnId),
    calls.map((call) => call.agent),
    calls.map((call) => call.leaseEpoch),
    calls.map((call) => call.spend !== null),
    calls.map((call) => call.spend?.model ?? null),
    calls.map((call) => call.spend?.upstreamName ?? null),
    calls.map((call) => call.spend?.provider ?? null),
    calls.map((call) => call.spend?.dialect ?? null),
    calls.map((call) => call.spend?.streamed ?? null),
    calls.map((call) => call.spend?.inputTokens ?? null),
    calls.map((call) => call.spend?.outputTokens ?? null),
    calls.map((call) => call.spend?.costUsd ?? null),
  ]);
  const refused = row?.refused;
  if (!refused) return calls.map(() => ({ reason: 'replica_dead' }));
  return calls.map((_, place) => refused[place + 1] ?? null);
}

const START =
  'SELECT start_calls($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17) AS refused';
const MAX_BATCH = 200;
/** Calls that wait longer than some batches are refused sooner than they would start. */
const MAX_WAITING = 5_000;

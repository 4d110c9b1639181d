/** Sessions, budgets and calls as rows, for the tests of what starts and is settled in the database. */
import type { Database } from '../../core-lite/database/pool.ts';
import { makeId } from '../../core-lite/id.ts';
import {
  type CallStart,
  CallStarts,
  type Spend,
  type StartRefusal,
} from '../../core-lite/record/call-starts.ts';
import { nameReplica, proveReplica, type ReplicaName } from '../../core-lite/record/replica-name.ts';
import type { Charge, UsageEntry } from '../../core-lite/record/usage-ledger.ts';
import { takeLease } from '../../core-lite/state/lease-store.ts';
import { openSession } from '../../core-lite/state/session-store.ts';
import { startTurn } from '../../core-lite/state/turn-store.ts';
import { createInstallation, type Installation } from './installation.ts';

export interface Running {
  readonly session: string;
  readonly turn: string;
  readonly agent: string;
  readonly epoch: number;
}

export interface BudgetStand {
  readonly installation: Installation;
  readonly gates: Database;
  /** Starts calls for a replica that is alive. */
  readonly starts: CallStarts;
  /** Opens a session with a turn and takes its lease. */
  run(agent?: string): Promise<Running>;
  /** The one that is alive. */
  readonly name: ReplicaName;
  /** Another replica. */
  replica(id: string): Promise<CallStarts & { readonly name: ReplicaName }>;
  /** Used and reserved of a budget, all its counters together. */
  sums(budget: string): Promise<{ readonly used: number; readonly reserved: number }>;
  reservations(): Promise<number>;
  close(): Promise<void>;
}

export async function startBudgetStand(): Promise<BudgetStand> {
  const installation = await createInstallation();
  const { owner } = installation;
  const gates = installation.as('sallyport_gates');
  const names = new Map<string, ReplicaName>();
  const replica = async (id: string): Promise<CallStarts & { readonly name: ReplicaName }> => {
    const name = names.get(id) ?? nameReplica(id);
    names.set(id, name);
    const [, key] = proveReplica(name);
    await gates.query('SELECT join_replicas($1, $2, $3)', [id, 'gates', key]);
    return Object.assign(new CallStarts(gates, name), { name });
  };
  const starts = await replica('rep_one');
  return {
    installation,
    gates,
    starts,
    name: starts.name,
    replica,
    run: async (agent = 'tester') => {
      const manifest = { models: null, mcpServers: {}, httpTools: {} };
      const session = await owner.transaction((tx) =>
        openSession(tx, { agent, environment: null, user: null, manifest }),
      );
      const turn = await owner.transaction((tx) => startTurn(tx, session.id));
      const lease = await owner.transaction((tx) => takeLease(tx, turn.id, 'test'));
      return { session: session.id, turn: turn.id, agent, epoch: lease.leaseEpoch };
    },
    sums: async (budget) => {
      const [row] = await owner.query<{ used: number; reserved: number }>(
        `SELECT coalesce(sum(used), 0)::float8 AS used, coalesce(sum(reserved), 0)::float8 AS reserved
           FROM budget_counters k JOIN budgets b ON b.id = k.budget_id WHERE b.name = $1`,
        [budget],
      );
      return row ?? { used: 0, reserved: 0 };
    },
    reservations: async () => (await owner.query('SELECT id FROM reservations')).length,
    close: () => installation.close(),
  };
}

export function callOf(run: Running, spend: Partial<Spend> | null = {}): CallStart {
  const { session: sessionId, turn: turnId, agent, epoch: leaseEpoch } = run;
  return {
    id: makeId('usg'),
    at: new Date(),
    sessionId,
    turnId,
    agent,
    leaseEpoch,
    spend: spend && { ...SPEND, ...spend },
  };
}

/** The row of a call that ended. */
export function entryOf(
  { id, at, sessionId, turnId, agent }: CallStart,
  charge: Charge,
  more: {
    readonly input?: number | null;
    readonly output?: number | null;
    readonly costUsd?: number | null;
  } = {},
): UsageEntry {
  const { input = null, output = null, costUsd = null } = more;
  return {
    id,
    at,
    sessionId,
    turnId,
    agent,
    ...NAMES,
    status: 200,
    outcome: 'completed',
    tokens: { input, output, cached: null, cacheWrite: null, reasoning: null },
    costUsd,
    duplicate: false,
    charge,
    clientSession: null,
    clientAgent: null,
    clientParentAgent: null,
    firstByteMs: null,
    durationMs: 1,
  };
}

/** What became of calls, in the order in which they were asked. */
export function startAll(starts: CallStarts, calls: readonly CallStart[]): Promise<(StartRefusal | null)[]> {
  return Promise.all(calls.map((call) => starts.start(call)));
}

const NAMES = {
  model: 'm',
  upstreamName: 'm',
  provider: 'custom',
  dialect: 'openai',
  streamed: false,
} as const;
const SPEND: Spend = { ...NAMES, inputTokens: 10, outputTokens: 90, costUsd: 0.01 };

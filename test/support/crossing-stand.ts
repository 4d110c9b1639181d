/** Sessions, replicas and crossings as rows, for the tests of what a keyed call is in the database. */
import type { Database } from '../../core-lite/database/pool.ts';
import type { CrossingRequest, Outcome } from '../../core-lite/record/crossing.ts';
import { type Claim, type CrossingCaller, Crossings } from '../../core-lite/record/crossings.ts';
import { nameReplica, proveReplica } from '../../core-lite/record/replica-name.ts';
import { takeLease } from '../../core-lite/state/lease-store.ts';
import { openSession } from '../../core-lite/state/session-store.ts';
import { startTurn } from '../../core-lite/state/turn-store.ts';
import { createInstallation, type Installation } from './installation.ts';

export interface TestReplica {
  readonly id: string;
  readonly crossings: Crossings;
  /** As another gate buries it. */
  die(): Promise<void>;
  /** As it begins anew when it wakes. */
  join(): Promise<void>;
}

export interface CrossingStand {
  readonly installation: Installation;
  /** Acts as the gates. */
  readonly gates: Database;
  run(): Promise<RunCaller>;
  replica(): Promise<TestReplica>;
  /** Claims it for sure. */
  claim(replica: TestReplica, caller: CrossingCaller, request?: Partial<CrossingRequest>): Promise<Claim>;
  /** The one row of the session, as its owner sees it. */
  row(caller: CrossingCaller): Promise<CrossingRow>;
  close(): Promise<void>;
}

/** Of a run. */
interface RunCaller extends CrossingCaller {
  readonly turnId: string;
  readonly leaseEpoch: number;
}

interface CrossingRow {
  readonly state: string;
  readonly status: string | null;
  readonly code: string | null;
  readonly attempt: number;
  readonly cancelled: boolean;
  readonly replica: string;
  readonly outcome: Buffer | null;
  readonly settled_at: Date | null;
}

export async function startCrossingStand(): Promise<CrossingStand> {
  const installation = await createInstallation();
  const { owner } = installation;
  const gates = installation.as('sallyport_gates');
  return {
    installation,
    gates,
    run: () => openRun(owner),
    replica: async () => {
      const name = nameReplica();
      const [id, key] = proveReplica(name);
      const join = async (): Promise<void> => {
        await gates.query('SELECT join_replicas($1, $2, $3)', [id, 'gates', key]);
      };
      await join();
      const die = async (): Promise<void> => {
        await owner.query('DELETE FROM replicas WHERE id = $1', [id]);
      };
      return { id, crossings: new Crossings(gates, name, installation.seals.gates), die, join };
    },
    claim: async ({ crossings }, caller, request = {}) => {
      const answered = await crossings.claim(caller, requestOf(request));
      if (answered.answer !== 'mine') throw new Error(`not claimed: ${answered.answer}`);
      return answered.claim;
    },
    row: async ({ sessionId }) => {
      const [row] = await owner.query<CrossingRow>('SELECT * FROM crossings WHERE session_id = $1', [
        sessionId,
      ]);
      if (!row) throw new Error('there is no crossing');
      return row;
    },
    close: () => installation.close(),
  };
}

export function requestOf(more: Partial<CrossingRequest> = {}): CrossingRequest {
  const request = Buffer.from('{"n":1}');
  return { key: 'k', kind: 'http', server: null, tool: 'post', credentialId: null, request, ...more };
}

export function completed(body: string): Outcome {
  return { status: 'completed', code: null, body };
}

async function openRun(owner: Database): Promise<RunCaller> {
  const input = { agent: 'tester', environment: null, user: null, manifest: MANIFEST };
  const session = await owner.transaction((tx) => openSession(tx, input));
  const turn = await owner.transaction((tx) => startTurn(tx, session.id));
  const { leaseEpoch } = await owner.transaction((tx) => takeLease(tx, turn.id, 'test'));
  return { sessionId: session.id, turnId: turn.id, agent: 'tester', leaseEpoch };
}

const MANIFEST = { models: null, mcpServers: {}, httpTools: {} };

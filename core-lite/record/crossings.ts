/**
 * Crossings in the database: the claim in the transaction that starts the call, the compare-and-set before its first
 * byte, and its settlement. Whoever loses one of them writes nothing. All of it is decided by the database's functions
 * (migration 015), so that any number of replicas have one truth.
 */
import type { Queryable } from '../database/pool.ts';
import { makeId } from '../id.ts';
import type { SealKey } from '../vault/seal.ts';
import { bareOutcome, type CrossingRequest, type EndStatus, type Outcome } from './crossing.ts';
import { CrossingSeal } from './crossing-seal.ts';
import { proveReplica, type ReplicaName } from './replica-name.ts';

/** The run that asks. */
export interface CrossingCaller {
  readonly sessionId: string;
  /** `null`, both: outside a run. */
  readonly turnId: string | null;
  readonly agent: string;
  readonly leaseEpoch: number | null;
}

/** A crossing that this replica owns, until it is settled or given back. */
export interface Claim {
  readonly id: string;
  /** Tells this owner from a former or a later one. */
  readonly attempt: number;
}

export type ClaimAnswer =
  | { readonly answer: 'mine'; readonly claim: Claim }
  /** Another call runs it, here or on another replica. */
  | { readonly answer: 'running'; readonly id: string }
  | { readonly answer: 'done'; readonly outcome: Outcome }
  | { readonly answer: 'conflict' | 'expired' | 'run_stale' | 'replica_dead' };

/** `again`: nobody runs it, so it may be claimed. */
export type ReadAnswer = 'running' | 'again' | Outcome;

export type CancelAnswer =
  | { readonly answer: 'running'; readonly id: string }
  | { readonly answer: 'done'; readonly status: EndStatus }
  | { readonly answer: 'unknown' | 'run_stale' };

/** Why a running crossing must end. `lost`: it is not this replica's any more. */
export type WatchReason = 'cancelled' | 'ended' | 'lost';

/** All reject with Fault `database_unreachable`, or pg's DatabaseError. */
export class Crossings {
  readonly #db: Queryable;
  readonly #proof: readonly [id: string, key: string];
  readonly #seal: CrossingSeal;

  /** @param seal the class key `gates` */
  constructor(db: Queryable, replica: ReplicaName, seal: SealKey) {
    this.#db = db;
    this.#proof = proveReplica(replica);
    this.#seal = new CrossingSeal(seal);
  }

  async claim(caller: CrossingCaller, request: CrossingRequest): Promise<ClaimAnswer> {
    const { sessionId, turnId, agent, leaseEpoch } = caller;
    const { key, kind, server, tool, credentialId } = request;
    const mac = this.#seal.mac(sessionId, request);
    const of = [makeId('crs'), sessionId, turnId, agent, leaseEpoch, key, kind, server, tool, credentialId];
    const [row] = await this.#db.query<ClaimRow>(CLAIM, [...this.#proof, ...of, mac]);
    if (!row) throw new Error('a claim without an answer');
    const { answer, id, attempt } = row;
    switch (answer) {
      case 'mine':
        return { answer, claim: { id, attempt } };
      case 'running':
        return { answer, id };
      case 'done':
        return { answer, outcome: this.#open(id, row) };
      default:
        return { answer };
    }
  }

  /** @returns whether it was won: if not, nothing may be written */
  send({ id, attempt }: Claim): Promise<boolean> {
    return this.#won('SELECT send_crossing($1, $2, $3, $4) AS won', [id, attempt]);
  }

  /** @returns whether it was this that settled it */
  settle({ id, attempt }: Claim, { status, code, body }: Outcome): Promise<boolean> {
    const sealed = this.#seal.sealBody(id, attempt, body);
    const of = [id, attempt, status, code, sealed, Buffer.byteLength(body)];
    return this.#won('SELECT settle_crossing($1, $2, $3, $4, $5, $6, $7, $8) AS won', of);
  }

  /** Gives a claim back from which nothing was written. @returns whether it was still this one's */
  release({ id, attempt }: Claim, code: string | null): Promise<boolean> {
    return this.#won('SELECT release_crossing($1, $2, $3, $4, $5) AS won', [id, attempt, code]);
  }

  async read(sessionId: string, id: string): Promise<ReadAnswer> {
    const [row] = await this.#db.query<DoneRow & { answer: 'running' | 'again' | 'done' }>(
      'SELECT * FROM read_crossing($1, $2)',
      [sessionId, id],
    );
    if (!row) return 'again';
    return row.answer === 'done' ? this.#open(id, row) : row.answer;
  }

  /** Which of these must end. */
  async watch(claims: readonly Claim[]): Promise<ReadonlyMap<string, WatchReason>> {
    const ids = claims.map(({ id }) => id);
    const attempts = claims.map(({ attempt }) => attempt);
    const rows = await this.#db.query<{ id: string; why: WatchReason }>(
      'SELECT * FROM watch_crossings($1, $2, $3, $4)',
      [...this.#proof, ids, attempts],
    );
    return new Map(rows.map(({ id, why }) => [id, why]));
  }

  async cancel({ sessionId, turnId, leaseEpoch }: CrossingCaller, key: string): Promise<CancelAnswer> {
    const [row] = await this.#db.query<CancelAnswer>('SELECT * FROM cancel_crossing($1, $2, $3, $4)', [
      sessionId,
      turnId,
      leaseEpoch,
      key,
    ]);
    return row ?? { answer: 'unknown' };
  }

  /**
   * Ends what nobody runs any more: crossings of replicas that died, and those of this one that it does not know. Empties
   * outcomes whose time is over.
   */
  async tend(known: readonly string[]): Promise<void> {
    for (let pieces = 0; pieces < MAX_PIECES; pieces += 1) {
      const [row] = await this.#db.query<{ ended: number }>('SELECT bury_crossings() AS ended');
      if (!row?.ended) break;
    }
    await this.#db.query('SELECT drop_crossings($1, $2, $3)', [...this.#proof, known]);
    await this.#db.query('SELECT sweep_outcomes()');
  }

  async #won(text: string, values: readonly unknown[]): Promise<boolean> {
    const [row] = await this.#db.query<{ won: boolean }>(text, [...this.#proof, ...values]);
    return row?.won === true;
  }

  #open(id: string, { attempt, status, code, outcome }: DoneRow): Outcome {
    if (!outcome) return bareOutcome(status, code ?? status);
    return { status, code, body: this.#seal.openBody(id, attempt, outcome) };
  }
}

interface DoneRow {
  readonly attempt: number;
  readonly status: EndStatus;
  readonly code: string | null;
  readonly outcome: Buffer | null;
}

interface ClaimRow extends DoneRow {
  readonly answer: ClaimAnswer['answer'];
  readonly id: string;
}

const CLAIM = 'SELECT * FROM claim_crossing($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)';
/** Of 500 crossings each: more than a gate runs at once. */
const MAX_PIECES = 20;

/**
 * Keyed calls: each runs at most once, whoever asks, how often, and on whichever gate. It is claimed in the transaction
 * that starts it; who asks again with the same request joins it or gets what it gave. The run is not its caller's: it
 * ends by itself, and what it gave is kept before anybody is told.
 */
import { isFault } from '../core-lite/errors.ts';
import type { CrossingRequest, Outcome } from '../core-lite/record/crossing.ts';
import type { Claim, ClaimAnswer, Crossings } from '../core-lite/record/crossings.ts';
import type { BodyHold, BodyRoom } from './body-room.ts';
import type { AnyCall } from './calls.ts';
import { type Conclusion, concludeRun } from './crossing/conclude.ts';
import { Joins } from './crossing/joins.ts';
import { Keeper, type Kept } from './crossing/keeper.ts';
import type { CrossingRecord } from './crossing/record.ts';
import { CrossingRun, type Run } from './crossing/run.ts';
import { type CrossingEnding, callerOf, whileCalled } from './crossing/waiting.ts';
import { CrossingWatch } from './crossing/watch.ts';
import type { Facts } from './facts.ts';
import type { Unstarted } from './start.ts';

export interface CrosserOptions {
  readonly crossings: Crossings;
  readonly facts: Pick<Facts, 'keys'>;
  readonly room: BodyRoom;
  readonly record: CrossingRecord;
}

/** What a keyed call is answered with. */
export type Crossed = Outcome | Unstarted | 'gate_conflict' | 'outcome_expired';
export type CrossingWork = (run: Run) => Promise<Outcome>;

interface Running {
  readonly run: CrossingRun;
  readonly ended: Promise<CrossingEnding>;
}

export class Crosser {
  readonly #options: CrosserOptions;
  /** Those that run here, by id. */
  readonly #running = new Map<string, Running>();
  readonly #joins: Joins;
  readonly #keeper: Keeper;
  readonly #watch: CrossingWatch;
  #closing = false;

  constructor(options: CrosserOptions) {
    this.#options = options;
    const { crossings, facts, record } = options;
    const onFailure = record.failure;
    this.#joins = new Joins(crossings, onFailure);
    this.#keeper = new Keeper(crossings, onFailure);
    this.#watch = new CrossingWatch({
      crossings,
      facts,
      running: () => [...this.#running.values()].map(({ run }) => run),
      onFailure,
    });
  }

  /** How many run here. */
  get size(): number {
    return this.#running.size;
  }

  /**
   * Answers a keyed call: runs it, joins it, or gives what it gave. Never rejects.
   * @param work called at most once for each claim. What it gives without having asked `send` is answered to those who
   *   wait now and not kept; a rejection after `send` is `uncertain`
   */
  async cross(call: AnyCall, request: CrossingRequest, work: CrossingWork): Promise<Crossed> {
    for (;;) {
      if (call.stopped) return { refusal: call.stopped };
      const claimed = await this.#claim(call, request);
      const ending = await this.#answer(call, request, claimed, work);
      if (ending !== 'again') return ending;
    }
  }

  /** What runs here under this id, if it does. */
  find(id: string): Running | undefined {
    return this.#running.get(id);
  }

  /** Ends what runs, and whatever still begins: what was sent is uncertain, what was not may be tried again. */
  stopAll(): void {
    this.#closing = true;
    for (const { run } of this.#running.values()) run.stop('shutting_down');
  }

  /** Ends crossings of gates that died, and empties old outcomes: with each heartbeat. */
  tend(): Promise<void> {
    return this.#options.crossings.tend([...this.#running.keys()]);
  }

  close(): void {
    this.stopAll();
    this.#watch.close();
    this.#joins.close();
    this.#keeper.close();
  }

  async #claim(call: AnyCall, request: CrossingRequest): Promise<ClaimAnswer> {
    const { crossings, record } = this.#options;
    return crossings.claim(callerOf(call.token), request).catch((error: unknown) => {
      record.failure(error);
      return { answer: 'replica_dead' as const };
    });
  }

  async #answer(
    call: AnyCall,
    request: CrossingRequest,
    claimed: ClaimAnswer,
    work: CrossingWork,
  ): Promise<Crossed | 'again'> {
    const { record } = this.#options;
    switch (claimed.answer) {
      case 'mine':
        return whileCalled(call, this.#begin(call, request, claimed.claim, work));
      case 'running': {
        record.keyedCall('joined');
        const here = this.#running.get(claimed.id);
        return here ? whileCalled(call, here.ended) : this.#joins.wait(call, claimed.id);
      }
      case 'done':
        record.keyedCall('replayed');
        return claimed.outcome;
      case 'conflict':
        record.keyedCall('conflict');
        return 'gate_conflict';
      case 'expired':
        record.keyedCall('expired');
        return 'outcome_expired';
      case 'run_stale':
        return { refusal: 'run_stale' };
      case 'replica_dead':
        return { refusal: 'facts_unavailable' };
      default:
        return claimed satisfies never;
    }
  }

  /** Runs what was claimed. It never rejects. */
  #begin(call: AnyCall, request: CrossingRequest, claim: Claim, work: CrossingWork): Promise<CrossingEnding> {
    const { crossings, room, record } = this.#options;
    const kept: Kept = { claim, kind: request.kind, sessionId: call.token.claims.sub };
    const hold = room.open(kept.sessionId);
    const full = hold.set(request.request.length + ANSWER_BYTES);
    if (full) return this.#keeper.release(kept, full).then(() => ({ refusal: full }));
    record.keyedCall('ran');
    const run = new CrossingRun(claim, call.token.kid, (each) => crossings.send(each));
    if (this.#closing) run.stop('shutting_down');
    const ended = this.#run(call, request, kept, run, work).finally(() => this.#leave(claim.id, hold));
    this.#running.set(claim.id, { run, ended });
    return ended;
  }

  #leave(id: string, hold: BodyHold): void {
    this.#running.delete(id);
    hold.release();
  }

  async #run(
    call: AnyCall,
    request: CrossingRequest,
    kept: Kept,
    run: CrossingRun,
    work: CrossingWork,
  ): Promise<CrossingEnding> {
    const { record } = this.#options;
    let fault: 'internal' | 'facts_unavailable' = 'internal';
    const outcome = await work(run).catch((error: unknown) => {
      record.failure(error);
      if (isFault(error, 'database_unreachable')) fault = 'facts_unavailable';
      return null;
    });
    run.end();
    const { stopped, sentAt } = run;
    const conclusion = concludeRun({ kind: kept.kind, outcome, sent: sentAt !== null, stopped });
    const ending = await this.#keep(kept, run, conclusion, fault);
    record.crossing(call.token, request, kept.claim, { ending, sentAt, conclusion });
    return ending;
  }

  /** @param fault what those who wait are told of a run that gave nothing */
  async #keep(
    kept: Kept,
    { stopped, beaten }: CrossingRun,
    conclusion: Conclusion,
    fault: Unstarted['refusal'],
  ): Promise<CrossingEnding> {
    if ('settle' in conclusion) return this.#keeper.settle(kept, conclusion.settle);
    await this.#keeper.release(kept, conclusion.release);
    if (beaten || stopped === 'lost') return 'again';
    return conclusion.answer ?? { refusal: stopped === 'shutting_down' ? stopped : fault };
  }
}

/** What a run is counted with beside its request: most answers are smaller, and none outgrows its own limit. */
const ANSWER_BYTES = 512 * 1024;

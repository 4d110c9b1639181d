/**
 * Stage 5: the call starts, in one transaction with all that start at this moment. It is asked once more, in the
 * database, whether the run still holds: what came since its facts were read, a bump of the epoch above all, ends it
 * here. What it may cost is reserved in every budget that applies. Nothing leaves before that is committed. A budget
 * whose room is held by calls that have ended here is asked a second time, when they are settled.
 */
import type { BudgetState, CallStarts, StartRefusal } from '../core-lite/record/call-starts.ts';
import type { UsageLedger } from '../core-lite/record/usage-ledger.ts';
import type { RefusalDetail } from './answer.ts';
import type { AnyCall } from './calls.ts';
import type { Reserved } from './estimate.ts';
import type { RefusalReason, StopReason } from './reasons.ts';

/** Why a call may not start. */
export interface Unstarted {
  readonly refusal: RefusalReason | StopReason;
  /** Which budget, how much of it, until when. */
  readonly detail?: RefusalDetail;
}

export interface StarterOptions {
  readonly starts: CallStarts;
  readonly ledger: Pick<UsageLedger, 'settle'>;
  readonly now: () => Date;
  readonly onFailure: (error: unknown) => void;
}

export class Starter {
  readonly #options: StarterOptions;

  constructor(options: StarterOptions) {
    this.#options = options;
  }

  /**
   * `null` when the call has started, else why it may not.
   * @param spend what it may cost; `null` for the fence alone: what counts against no budget
   */
  async start(call: AnyCall, spend: Reserved | null): Promise<Unstarted | null> {
    if (call.stopped) return { refusal: call.stopped };
    const first = await this.#ask(call, spend);
    const again = first && heldByOthers(first) && (await this.#options.ledger.settle());
    if (call.stopped && again) return { refusal: call.stopped };
    const refused = again ? await this.#ask(call, spend) : first;
    if (refused) return explain(refused, this.#options.now());
    call.reserved = spend;
    return call.stopped ? { refusal: call.stopped } : null;
  }

  #ask({ id, at, token }: AnyCall, spend: Reserved | null): Promise<StartRefusal | null> {
    const { starts, onFailure } = this.#options;
    const { sub: sessionId, trn: turnId, agt: agent, epc: leaseEpoch } = token.claims;
    const started =
      turnId === undefined
        ? starts.startService(sessionId)
        : starts.start({ id, at, sessionId, turnId, agent, leaseEpoch, spend });
    return started.catch((error: unknown) => {
      onFailure(error);
      return UNTOLD;
    });
  }
}

/** Whether it would fit, were what others have reserved let go. */
function heldByOthers(refused: StartRefusal): boolean {
  if (refused.reason !== 'budget') return false;
  const { limit, used, need } = refused;
  return limit - used - (need ?? 0) > -LEAST_COST;
}

/** US dollars: less than any two sums differ that are not the same. */
const LEAST_COST = 1e-10;
const UNTOLD: StartRefusal = { reason: 'replica_dead' };

function explain(refused: StartRefusal, now: Date): Unstarted {
  switch (refused.reason) {
    case 'run_stale':
      return { refusal: 'run_stale' };
    case 'replica_dead':
      return { refusal: 'facts_unavailable' };
    case 'price_unknown':
      return { refusal: 'price_unknown', detail: { text: nameBudget(refused) } };
    case 'budget': {
      const { period, resetsInMs } = refused;
      const reset = resetsInMs === null ? null : new Date(now.getTime() + resetsInMs);
      return {
        refusal: period === 'minute' ? 'rate_limited' : 'budget_exceeded',
        detail: {
          text: `${nameBudget(refused)}: ${describeUse(refused)}; ${describeReset(reset)}${adviseOn(refused)}`,
          ...(resetsInMs === null ? {} : { retryAfterSeconds: Math.max(1, Math.ceil(resetsInMs / 1000)) }),
        },
      };
    }
    default:
      return refused satisfies never;
  }
}

function nameBudget({ budget, scope, measure, period, limit }: BudgetState): string {
  const per = period === 'lifetime' ? 'over its lifetime' : `a ${period}`;
  return `budget ${budget} of the ${scope}, ${formatAmount(measure, limit)} ${per}`;
}

function describeUse({ measure, used, reserved, need }: BudgetState): string {
  const amount = (value: number): string => formatAmount(measure, value);
  return `${amount(used)} used, ${amount(reserved)} reserved by running calls, and this one may take ${amount(need ?? 0)}`;
}

function describeReset(reset: Date | null): string {
  return reset ? `it resets at ${reset.toISOString().slice(0, 19)}Z` : 'it does not reset';
}

/** A request is one, whatever is written. */
function adviseOn({ measure }: BudgetState): string {
  return measure === 'requests' ? '' : '; a smaller output limit reserves less';
}

function formatAmount(measure: BudgetState['measure'], value: number): string {
  switch (measure) {
    case 'cost_usd':
      return `$${value.toFixed(10).replace(/\.?0+$/, '')}`;
    case 'tokens':
      return `${value} ${value === 1 ? 'token' : 'tokens'}`;
    case 'requests':
      return `${value} ${value === 1 ? 'request' : 'requests'}`;
    default:
      return measure satisfies never;
  }
}

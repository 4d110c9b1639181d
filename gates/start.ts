/**
 * Stage 5: the call starts, in one transaction with all that start at this moment. It is asked once more, in the
 * database, whether the run still holds: what came since its facts were read, a bump of the epoch above all, ends it
 * here. What it may cost is reserved in every budget that applies. Nothing leaves before that is committed.
 */
import type { BudgetState, CallStarts, Spend, StartRefusal } from '../core-lite/record/call-starts.ts';
import type { RefusalDetail } from './answer.ts';
import type { Call } from './calls.ts';
import type { RefusalReason, StopReason } from './reasons.ts';

/** Why a call may not start. */
export interface Unstarted {
  readonly refusal: RefusalReason | StopReason;
  /** Which budget, how much of it, until when. */
  readonly detail?: RefusalDetail;
}

export interface StarterOptions {
  readonly starts: CallStarts;
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
  async start(call: Call, spend: Spend | null): Promise<Unstarted | null> {
    if (call.stopped) return { refusal: call.stopped };
    const { starts, now, onFailure } = this.#options;
    const { sub: sessionId, trn: turnId, agt: agent, epc: leaseEpoch } = call.token.claims;
    const { id, at } = call;
    const refused = await starts
      .start({ id, at, sessionId, turnId, agent, leaseEpoch, spend })
      .catch((error: unknown) => {
        onFailure(error);
        return UNTOLD;
      });
    if (refused) return explain(refused, now());
    call.reserved = spend;
    return call.stopped ? { refusal: call.stopped } : null;
  }
}

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
      return `$${Number(value.toFixed(6))}`;
    case 'tokens':
      return `${value} ${value === 1 ? 'token' : 'tokens'}`;
    case 'requests':
      return `${value} ${value === 1 ? 'request' : 'requests'}`;
    default:
      return measure satisfies never;
  }
}

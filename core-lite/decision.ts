/**
 * What a decision is: a value with a verdict and a reason. Decisions are made only by pure functions in `decide/`
 * folders; nothing else may construct an `Allow` (the layer check holds this), so an act that asks for an `Allow`
 * cannot be reached without one.
 */
import type { ApprovalReason, RefusalReason } from './reasons.ts';

export type Verdict = 'allowed' | 'denied' | 'reported';

export class Allow {
  // Nominal: a plain object of the same shape does not pass for a decision.
  declare private readonly brand: 'allow';
  readonly verdict: 'allowed' | 'reported';
  readonly reason: ApprovalReason;

  constructor(reason: ApprovalReason) {
    this.verdict = reason === 'reported' ? 'reported' : 'allowed';
    this.reason = reason;
  }
}

export class Deny {
  declare private readonly brand: 'deny';
  readonly verdict = 'denied';
  readonly reason: RefusalReason;

  constructor(reason: RefusalReason) {
    this.reason = reason;
  }
}

export type Decision = Allow | Deny;

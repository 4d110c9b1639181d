/**
 * What a decision is: a value with a verdict and a reason. Decisions are made only by pure functions in `decide/`
 * folders; nothing else may construct an `Allow` (the layer check holds this), so an act that asks for an `Allow`
 * cannot be reached without one.
 */
import type { ApprovalReason, RefusalReason } from './reasons.ts';

export type Verdict = 'allowed' | 'denied' | 'reported';

/** @template Reason the closed list of whoever decides: egress's by default */
export class Allow<Reason extends string = ApprovalReason> {
  // Nominal: a plain object of the same shape does not pass for a decision.
  declare private readonly brand: 'allow';
  readonly verdict: 'allowed' | 'reported';
  readonly reason: Reason;

  constructor(reason: Reason) {
    this.verdict = reason === 'reported' ? 'reported' : 'allowed';
    this.reason = reason;
  }
}

export class Deny<Reason extends string = RefusalReason> {
  declare private readonly brand: 'deny';
  readonly verdict = 'denied';
  readonly reason: Reason;

  constructor(reason: Reason) {
    this.reason = reason;
  }
}

export type Decision = Allow | Deny;

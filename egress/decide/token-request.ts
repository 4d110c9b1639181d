/**
 * Whether a token endpoint may be dialled: by the addresses alone, as every origin. Its URL is the operator's word, so
 * no allowlist of an environment is asked.
 */
import { Allow, Deny } from '../../core-lite/decision.ts';
import type { Address } from '../../core-lite/network/address.ts';
import { type AddressFacts, decideAddresses } from '../../core-lite/network/decide-address.ts';
import type { Target } from '../../core-lite/network/target.ts';
import { decideInsideName } from './inside-name.ts';

export interface TokenRequestDecision {
  readonly decision: Allow | Deny;
  readonly allowed: readonly Address[];
}

export function decideTokenRequest(facts: AddressFacts): TokenRequestDecision {
  const { allowed } = decideAddresses(facts);
  return { allowed, decision: allowed.length > 0 ? new Allow('injected') : new Deny('address_refused') };
}

/** Behind a parent proxy, which looks the name up itself: only what the name says can be judged. */
export function decideTokenName({ host }: Target): Allow | Deny {
  return decideInsideName({ host }) ?? new Allow('injected');
}

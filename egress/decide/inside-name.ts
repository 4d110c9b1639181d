/**
 * Whether a name may be handed to somebody else who looks it up, where no address can be judged here: names that lead
 * inside whoever resolves them are refused by name. Pure, like every decision.
 */
import { Deny } from '../../core-lite/decision.ts';
import { isInsideName } from '../../core-lite/network/host-name.ts';
import type { Target } from '../../core-lite/network/target.ts';

/** `null` where the name says nothing against it. */
export function decideInsideName({ host }: Pick<Target, 'host'>): Deny | null {
  return isInsideName(host) ? new Deny('address_refused') : null;
}

/**
 * Stage 5: the call starts. It is asked once more, right before anything leaves, whether the run still holds: what
 * came since its facts were read, a bump of the epoch above all, ends it here. What claims a key or reserves a budget
 * belongs here too.
 */
import { decideRunStaleness } from '../core-lite/state/session.ts';
import type { Call } from './calls.ts';
import type { Facts } from './facts.ts';
import type { StopReason } from './reasons.ts';

/** `null` when the call has started, else why it may not. */
export async function startCall(facts: Facts, call: Call): Promise<StopReason | null> {
  if (call.stopped) return call.stopped;
  const session = await facts.session(call.token.claims.sub).catch(() => undefined);
  if (session === undefined) return 'facts_unavailable';
  return call.stopped ?? decideRunStaleness(call.token.claims, session);
}

/** Whose a call is: a run's, or core's own outside a run, for one server or tool of a session that is open. */
import { decideRunStaleness, decideServiceStaleness, type SessionFacts } from '../core-lite/state/session.ts';
import type { VerifiedToken } from '../core-lite/tokens/verify.ts';

export type CallerToken = VerifiedToken<'run'> | VerifiedToken<'service'>;

/** Whether a token does not speak for its session any more. */
export function decideStaleness(token: CallerToken, session: SessionFacts | null): 'run_stale' | null {
  return token.kind === 'run'
    ? decideRunStaleness(token.claims, session)
    : decideServiceStaleness(token.claims, session);
}

/** Whether it may ask for that server, or that HTTP tool: a run for any, core for the one that its token names. */
export function mayAsk(token: CallerToken, kind: 'server' | 'tool', name: string): boolean {
  return token.kind === 'run' || (kind === 'server' ? token.claims.srv : token.claims.tol) === name;
}

/** How a caller waits for what it does not own: until it is there, or the caller's own call ends. */
import type { Outcome } from '../../core-lite/record/crossing.ts';
import type { CrossingCaller } from '../../core-lite/record/crossings.ts';
import type { CallerToken } from '../caller-token.ts';
import type { AnyCall } from '../calls.ts';
import type { Unstarted } from '../start.ts';

/** What those who wait for a crossing are told. `again`: nobody runs it any more, so it may be claimed. */
export type CrossingEnding = Outcome | Unstarted | 'again';

/** @returns what `work` gives, or why the call ended first; the work goes on */
export function whileCalled<T>(call: AnyCall, work: Promise<T>): Promise<T | Unstarted> {
  return new Promise((resolve, reject) => {
    const leave = (): void => resolve({ refusal: call.stopped ?? 'client_left' });
    call.signal.addEventListener('abort', leave, { once: true });
    if (call.signal.aborted) leave();
    work.then(resolve, reject).finally(() => call.signal.removeEventListener('abort', leave));
  });
}

export function callerOf({ claims: { sub, trn, agt, epc } }: CallerToken): CrossingCaller {
  return { sessionId: sub, turnId: trn ?? null, agent: agt, leaseEpoch: epc ?? null };
}

/** Asks for the end of a keyed call of the session, on whatever gate it runs, and waits a moment for it to be settled. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { CrossingStatus } from '../../core-lite/record/crossing.ts';
import type { Crossings } from '../../core-lite/record/crossings.ts';
import type { RunToken } from '../calls.ts';
import type { Crosser } from '../cross.ts';
import type { RefusalReason } from '../reasons.ts';
import { callerOf } from './waiting.ts';

/** How the call stands then: `invoking` where it takes longer to end. Rejects where the database cannot say. */
export async function cancelCrossing(
  crossings: Pick<Crossings, 'cancel' | 'read'>,
  crosser: Pick<Crosser, 'find'>,
  token: RunToken,
  key: string,
): Promise<{ readonly status: CrossingStatus } | RefusalReason> {
  const caller = callerOf(token);
  const asked = await crossings.cancel(caller, key);
  switch (asked.answer) {
    case 'run_stale':
      return 'run_stale';
    case 'unknown':
      return 'call_unknown';
    case 'done':
      return { status: asked.status };
    case 'running':
      // What runs here need not wait until it is looked for.
      crosser.find(asked.id)?.run.stop('cancelled');
      return { status: await waitForEnd(crossings, caller.sessionId, asked.id) };
    default:
      return asked satisfies never;
  }
}

async function waitForEnd(
  crossings: Pick<Crossings, 'read'>,
  sessionId: string,
  id: string,
): Promise<CrossingStatus> {
  for (const pauseMs of PAUSES_MS) {
    await sleep(pauseMs);
    const read = await crossings.read(sessionId, id);
    if (typeof read === 'object') return read.status;
  }
  return 'invoking';
}

/** Two seconds together: another gate sees it within one. */
const PAUSES_MS = [20, 50, 130, 300, 500, 500, 500];

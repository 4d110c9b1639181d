/** The fence of a request, and what the end of its run makes of what came of it. */
import type { AnyCall } from '../../calls.ts';
import type { Gate } from '../../gate.ts';
import type { McpRefusal } from '../way.ts';
import type { Said } from './server-talk.ts';

/** Whether a start that came before still stands for the next request. */
export interface Started {
  now: boolean;
}

export async function startAndAsk(
  { starter }: Pick<Gate, 'starter'>,
  call: AnyCall,
  started: Started,
  ask: () => Promise<Said>,
): Promise<Said | McpRefusal> {
  const unstarted = started.now ? null : await starter.start(call, null);
  started.now = false;
  if (unstarted) return unstarted;
  return tellStop(call, await ask());
}

/** What the end of the run ended is told as that. */
export function tellStop<T extends object>(call: AnyCall, outcome: T): T | McpRefusal {
  const ended = 'failure' in outcome && outcome.failure === 'stopped' && call.stopped;
  return ended && ended !== 'client_left' ? { refusal: ended } : outcome;
}

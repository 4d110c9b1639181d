/**
 * Runs the workload as a shell would: in our place, with our input and output, in our process group, so that a terminal
 * reaches it as it reaches us. Its exit status is ours.
 */
import { spawn } from 'node:child_process';
import { constants } from 'node:os';

export interface Workload {
  readonly command: string;
  readonly args: readonly string[];
  /** Its whole environment. */
  readonly variables: Readonly<Record<string, string>>;
  /** Whether a terminal sends its Ctrl-C to the workload by itself. */
  readonly inTerminal: boolean;
}

export interface Ended {
  /** Its own, or 128 and the number of the signal that ended it; 127 or 126, as a shell says it, where it never ran. */
  readonly status: number;
  /** Why it never ran. */
  readonly failure?: 'not found' | 'not executable';
}

export interface RunningWorkload {
  readonly ended: Promise<Ended>;
  /** Passes a signal on that we were sent. */
  signal(name: NodeJS.Signals): void;
}

export function startWorkload({ command, args, variables, inTerminal }: Workload): RunningWorkload {
  const child = spawn(command, args, { stdio: 'inherit', env: variables });
  const ended = new Promise<Ended>((resolve) => {
    child.once('error', (error: NodeJS.ErrnoException) => {
      // Also told of a signal that could not be delivered.
      if (child.pid === undefined) resolve(error.code === 'ENOENT' ? NOT_FOUND : NOT_EXECUTABLE);
    });
    child.once('exit', (code, signal) => resolve({ status: code ?? signalStatus(signal) }));
  });
  return {
    ended,
    signal: (name) => {
      // It has it from the terminal already: a second one would cut its own shutdown short.
      if (!(inTerminal && FROM_TERMINAL.has(name))) child.kill(name);
    },
  };
}

/** As a shell says it. */
export function signalStatus(name: NodeJS.Signals | null): number {
  return 128 + (name === null ? 0 : constants.signals[name]);
}

const NOT_FOUND: Ended = { status: 127, failure: 'not found' };
const NOT_EXECUTABLE: Ended = { status: 126, failure: 'not executable' };
const FROM_TERMINAL: ReadonlySet<NodeJS.Signals> = new Set(['SIGINT', 'SIGQUIT']);

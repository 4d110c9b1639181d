/**
 * What ends a command: one line for the person who typed it, with its remedy, and an exit status. Faults of our own
 * modules become such a line too. Nothing here may show a secret: an error we do not know is named, never quoted.
 */

import { isFault } from '../core-lite/errors.ts';
import { describeError } from '../core-lite/log.ts';

export class CommandError extends Error {
  readonly status: ExitStatus;
  /** What to do; `null` where the message says it already. */
  readonly remedy: string | null;

  constructor(message: string, remedy: string | null, status: ExitStatus = EXIT.failed) {
    super(message);
    this.name = 'CommandError';
    this.remedy = remedy;
    this.status = status;
  }
}

/** What was typed is no command of ours. */
export function usageError(message: string, remedy: string | null): CommandError {
  return new CommandError(message, remedy, EXIT.usage);
}

/** The line that is shown, and the exit status. */
export function describeFailure(error: unknown): { readonly line: string; readonly status: ExitStatus } {
  if (error instanceof CommandError) return { line: join(error.message, error.remedy), status: error.status };
  if (isFault(error)) return { line: join(error.message, error.remedy), status: EXIT.failed };
  const { name, code, at } = describeError(error);
  const where = Array.isArray(at) && at.length > 0 ? ` ${at[0]}` : '';
  const what = `something unexpected went wrong (${[name, code].filter(Boolean).join(' ')}${where})`;
  return { line: join(what, 'please report this line'), status: EXIT.failed };
}

function join(what: string, remedy: string | null): string {
  const line = remedy === null ? what : `${what}; ${remedy}`;
  return `sallyport: ${line.replace(/\s+/g, ' ')}`;
}

/** 0 done or allowed; 1 failed or denied; 2 typed wrongly; 130 interrupted, as a shell says it. */
export const EXIT = { done: 0, failed: 1, usage: 2, interrupted: 130 } as const;
/** One of these, or what a command that `run` ran ended with. */
export type ExitStatus = number;

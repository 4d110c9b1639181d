/**
 * Signals for a command that answers for them itself, since it runs another program in its place: while they are taken,
 * Ctrl-C and SIGTERM are what that program makes of them and end nothing of ours.
 */

/** Whether a command has taken them; then nobody else may act on one. */
export function signalsTaken(): boolean {
  return taken;
}

/** Calls `take` for every signal that asks this process to end. @returns gives them back */
export function takeSignals(take: (name: NodeJS.Signals) => void): () => void {
  taken = true;
  for (const name of ENDING) process.on(name, take);
  return () => {
    for (const name of ENDING) process.removeListener(name, take);
    taken = false;
  };
}

let taken = false;
const ENDING = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const;

/**
 * The command line `sallyport`, tied to the process; everything else is in `run.ts`. The first Ctrl-C or SIGTERM asks
 * the command to end, as does the end of the `sallyport up` that started it; the second ends it at once.
 */
import { processVariables } from '../core-lite/config.ts';
import { EXIT } from './command-error.ts';
import { runCommand } from './run.ts';
import { signalsTaken } from './signals.ts';
import { stopWithParent } from './up/stop-with-parent.ts';

const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    if (signalsTaken()) return;
    if (stop.signal.aborted) process.exit(EXIT.interrupted);
    stop.abort();
  });
}
stopWithParent(() => stop.abort());
for (const stream of [process.stdout, process.stderr]) {
  // `sallyport connections | head`: whoever read has seen enough.
  stream.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));
}

const status = await runCommand(process.argv.slice(2), {
  out: (line) => process.stdout.write(`${line}\n`),
  err: (line) => process.stderr.write(`${line}\n`),
  stdin: process.stdin,
  variables: processVariables(),
  signal: stop.signal,
});
for (const stream of [process.stdout, process.stderr]) {
  await new Promise((written) => stream.write('', written));
}
// Not left to end by itself: Node gives the signals back before it is gone, and a late Ctrl-C would change the status.
process.exit(status);

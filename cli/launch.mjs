/**
 * Runs a program on the pinned Node in our place: its input, output, signals and exit status are ours, and so is its
 * life: the channel to it closes with us, which main.ts takes as the wish to end. Plain JavaScript, since the Node that
 * runs this may be the machine's old one.
 */
import { spawn } from 'node:child_process';
import { constants } from 'node:os';

/**
 * For services: a small nursery. Node's own grows to 48 MiB in a burst and keeps it: a third of an egress that is idle
 * again, for no less CPU (docs/performance.md).
 */
export const NODE_FLAGS = ['--max-semi-space-size=4'];

/**
 * Runs `node` with `args` and ends this process as the child ended.
 * @param {string} node program file
 * @param {readonly string[]} args
 * @returns {import('node:child_process').ChildProcess}
 */
export function launch(node, args) {
  const child = spawn(node, args, { stdio: ['inherit', 'inherit', 'inherit', 'ipc'] });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => {
      // A terminal has sent its Ctrl-C to the child as well: a second one would cut its shutdown short.
      if (signal !== 'SIGINT' || !inTerminal()) child.kill(signal);
    });
  }
  child.once('error', (error) => {
    console.error(
      `sallyport: ${node} could not be run (${error.message}): run \`npm start\` or \`npm ci\` first`,
    );
    process.exit(1);
  });
  child.once('exit', (code, signal) => process.exit(code ?? 128 + (constants.signals[signal] ?? 0)));
  return child;
}

function inTerminal() {
  return [process.stdin, process.stdout, process.stderr].some((stream) => stream.isTTY === true);
}

/** Ends what `npm start` launched when npm is gone. Plain JavaScript, as launch.mjs is. */
import { readFileSync } from 'node:fs';

/**
 * A killed npm takes nobody with it; nothing must run on that nobody started any more.
 * @param {import('node:child_process').ChildProcess} up
 */
export function endWithNpm(up) {
  const before = parents();
  const watch = setInterval(() => {
    if (parents() === before) return;
    clearInterval(watch);
    up.kill('SIGTERM');
  }, 250);
}

/** Our parent, and on Linux its parent too: npm has a shell between. A process whose parent ends gets another one. */
function parents() {
  try {
    const fields = readFileSync(`/proc/${process.ppid}/stat`, 'utf8');
    return `${process.ppid} ${fields.slice(fields.lastIndexOf(')')).split(' ')[2]}`;
  } catch {
    return `${process.ppid}`;
  }
}

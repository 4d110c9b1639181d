/** Ends what `npm start` launched when npm is gone. Plain JavaScript, as launch.mjs is. */

/**
 * A killed npm takes nobody with it; nothing must run on that nobody started any more. The script's `exec` makes npm
 * our parent, and a process whose parent ends gets another one.
 * @param {import('node:child_process').ChildProcess} up
 * @param {number} npm our parent when we began
 */
export function endWithNpm(up, npm) {
  const watch = setInterval(() => {
    if (process.ppid === npm) return;
    clearInterval(watch);
    up.kill('SIGTERM');
  }, 250);
}

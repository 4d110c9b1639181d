/** The kits' network namespace: only loopback is up, every address is local, and so a leak lands on a canary. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** Whether this process may make one: the kit's script, root, util-linux and iproute2, no container that forbids it. */
export function canIsolate(dir: string): boolean {
  if (process.getuid?.() !== 0 || !existsSync(scriptOf(dir))) return false;
  return PROBES.every(([program, ...args]) => spawnSync(program, args, { stdio: 'ignore' }).status === 0);
}

/** The command that runs `command` inside. */
export function isolated(dir: string, command: readonly string[]): [program: string, ...args: string[]] {
  return ['sh', scriptOf(dir), ...command];
}

function scriptOf(dir: string): string {
  return join(dir, 'hostile', 'netns.sh');
}

const PROBES: readonly [string, ...string[]][] = [
  ['unshare', '-n', '-m', 'true'],
  ['ip', '-V'],
];

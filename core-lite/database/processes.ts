/**
 * What the system knows of another process: enough to tell a living one from a dead one and from a stranger that got
 * its pid. Never signals one.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/**
 * When the process was started, in the system's own unit, only to be compared; `undefined` when it is gone, when it
 * has ended and is not reaped, or when the system hides it from us.
 */
export function startOf(pid: number): string | undefined {
  if (process.platform !== 'linux') return String(Date.parse(ask(pid, 'lstart')) || '') || undefined;
  const { state, started } = statOf(pid) ?? {};
  return state === 'Z' || state === 'X' ? undefined : started;
}

/** The command line, its arguments joined by blanks; empty when it is gone, ended or hidden from us. */
export function commandOf(pid: number): string {
  if (process.platform !== 'linux') return ask(pid, 'command');
  return (readOr(`/proc/${pid}/cmdline`) ?? '').replaceAll('\0', ' ');
}

/** Whether there is such a process at all, be it ended and not reaped, or hidden from us. */
export function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

/** Whether it has ended and its parent has not taken notice. */
export function isUnreaped(pid: number): boolean {
  const state = process.platform === 'linux' ? statOf(pid)?.state : ask(pid, 'state').at(0);
  return state === 'Z' || state === 'X';
}

/** Fields 3 and 22 of proc_pid_stat(5); the command in field 2 may itself hold blanks and brackets. */
function statOf(
  pid: number,
): { readonly state: string | undefined; readonly started: string | undefined } | undefined {
  const text = readOr(`/proc/${pid}/stat`);
  if (text === undefined) return undefined;
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return { state: fields[0], started: fields[19] };
}

function ask(pid: number, field: string): string {
  try {
    const env = { PATH: '/usr/bin:/bin', LC_ALL: 'C' };
    return execFileSync('ps', ['-ww', '-o', `${field}=`, '-p', String(pid)], {
      encoding: 'utf8',
      env,
    }).trim();
  } catch {
    return '';
  }
}

function readOr(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

/**
 * One starter per folder. A lock is an empty file named after the process that made it (pid and start time), so a
 * lock of a killed process is known to be dead and a pid that was given out again is not mistaken for its owner.
 * A process first puts its own file there and then looks for others: of two that come at once at least one sees the
 * other. Nobody ever removes the lock of a living process.
 */
import { closeSync, openSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Fault } from '../errors.ts';
import { exists, isUnreaped, startOf } from './processes.ts';

/**
 * Takes the lock of an existing folder and returns what gives it back. Waits three seconds at most, for one that is ending.
 * @throws Fault `home_in_use` when another living process, or another part of this one, holds it
 */
export async function lockFolder(folder: string): Promise<() => void> {
  const mine = fileOf({ pid: process.pid, started: startOf(process.pid) ?? 'unknown' });
  for (let attempt = 1; ; attempt += 1) {
    const holder = tryLock(folder, mine);
    if (holder === undefined) return () => rmSync(join(folder, mine), { force: true });
    if (attempt === ATTEMPTS) throw new Fault('home_in_use', `${folder} is in use by process ${holder.pid}`);
    // Two that saw each other both step back: a random pause lets one of them through.
    await delay(20 + Math.random() * 80);
  }
}

/** Whether the folder holds locks, and only of processes that are gone. */
export function isAbandoned(folder: string): boolean {
  const owners = ownersIn(folder);
  return owners.length > 0 && !owners.some(isAlive);
}

interface Owner {
  readonly pid: number;
  /** When the process was started, in the system's own unit; only compared. */
  readonly started: string;
}

function tryLock(folder: string, mine: string): Owner | undefined {
  const ourselves = ownersIn(folder).find((owner) => fileOf(owner) === mine);
  if (ourselves !== undefined) return ourselves;
  closeSync(openSync(join(folder, mine), 'wx', 0o600));
  const others = ownersIn(folder).filter((owner) => fileOf(owner) !== mine);
  const living = others.find(isAlive);
  if (living !== undefined) {
    rmSync(join(folder, mine), { force: true });
    return living;
  }
  for (const gone of others) rmSync(join(folder, fileOf(gone)), { force: true });
  return undefined;
}

function ownersIn(folder: string): readonly Owner[] {
  return readdirSync(folder).flatMap((name) => {
    const [, pid, started] = LOCK_FILE.exec(name) ?? [];
    return pid === undefined || started === undefined ? [] : [{ pid: Number(pid), started }];
  });
}

function fileOf(owner: Owner): string {
  return `lock-${owner.pid}-${owner.started}`;
}

function isAlive({ pid, started }: Owner): boolean {
  const found = startOf(pid);
  // One that the system hides from us may be the owner: it is not taken for dead.
  return found === undefined ? exists(pid) && !isUnreaped(pid) : found === started;
}

const LOCK_FILE = /^lock-(\d+)-(\w+)$/;
const ATTEMPTS = 40;

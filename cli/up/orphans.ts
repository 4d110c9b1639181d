/**
 * The services of a killed `sallyport up`. They notice and end by themselves, but not at once: a start that follows
 * waits for them, so that it finds their ports free. No process is ever signalled that is not known to be one.
 */
import { readFile, rm } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { commandOf, startOf } from '../../core-lite/database/processes.ts';
import { writePrivately } from './home.ts';
import { type RunningService, type ServiceName, serviceCommand } from './supervise.ts';

/** Writes down who runs here, for the start after a kill; `close` takes it away again. */
export async function rememberServices(
  file: string,
  services: readonly RunningService[],
): Promise<{ close(): Promise<void> }> {
  const known = services.flatMap(({ name, pid }) => {
    const started = pid === undefined ? undefined : startOf(pid);
    return pid === undefined || started === undefined ? [] : [{ name, pid, started }];
  });
  const up = { pid: process.pid, started: startOf(process.pid) };
  await writePrivately(file, `${JSON.stringify({ up, services: known })}\n`);
  return { close: () => rm(file, { force: true }) };
}

/**
 * Waits until the services of an earlier start that is gone have ended, and kills them when they do not.
 * Leaves them alone while the `up` that started them lives.
 * @param drainMs how long a service may let open connections finish
 */
export async function endOrphans(file: string, drainMs: number, signal: AbortSignal): Promise<void> {
  const { up, services } = await readMemory(file);
  if (up === undefined || isAlive(up)) return;
  const until = Date.now() + drainMs + SLACK_MS;
  for (const orphan of services) {
    while (isService(orphan) && Date.now() < until) await delay(POLL_MS, undefined, { signal });
    if (isService(orphan)) process.kill(orphan.pid, 'SIGKILL');
    while (isService(orphan)) await delay(POLL_MS);
  }
}

interface Known {
  readonly pid: number;
  /** When it was started, in the system's own unit; only compared. */
  readonly started: string;
}

interface KnownService extends Known {
  readonly name: ServiceName;
}

interface Memory {
  readonly up: Known | undefined;
  readonly services: readonly KnownService[];
}

async function readMemory(file: string): Promise<Memory> {
  try {
    const { up, services } = JSON.parse(await readFile(file, 'utf8')) as Partial<Memory>;
    // Written by us, into a folder that is ours alone; each process is looked at again before it is signalled.
    return { up, services: services ?? [] };
  } catch {
    return { up: undefined, services: [] };
  }
}

function isService(orphan: KnownService): boolean {
  return isAlive(orphan) && commandOf(orphan.pid).includes(serviceCommand(orphan.name));
}

function isAlive({ pid, started }: Known): boolean {
  return startOf(pid) === started;
}

const SLACK_MS = 3_000;
const POLL_MS = 30;

/**
 * A service as a process of its own, under `sallyport up`. It is in a process group of its own, so that a Ctrl-C in
 * the terminal reaches `up` alone, which stops the services in their order; a channel tells it when `up` is gone.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readSync, renameSync, statSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { childEnvironment } from '../../core-lite/config.ts';

export type ServiceName = 'core' | 'egress' | 'gates';

export interface ServicePlan {
  readonly name: ServiceName;
  readonly environment: Readonly<Record<string, string>>;
  readonly logFile: string;
  /** How long the service may let open connections finish when it is stopped. */
  readonly drainMs: number;
}

export interface RunningService {
  readonly name: ServiceName;
  /** `undefined` where the process could not be made. */
  readonly pid: number | undefined;
  /** Resolves when the process has ended, to one line for the user on why. */
  readonly ended: Promise<string>;
  /** Asks it to end and waits for that; kills it when it takes too long, or when `hurry` is aborted. */
  close(hurry: AbortSignal): Promise<void>;
}

export function startService({ name, environment, logFile, drainMs }: ServicePlan): RunningService {
  turnLog(logFile);
  const log = openSync(logFile, 'a', 0o600);
  const logStart = statSync(logFile).size;
  const child = spawn(process.execPath, [...process.execArgv, MAIN, name], {
    env: childEnvironment({ ...NO_ADMIN_KEY, ...environment }),
    detached: true,
    stdio: ['ignore', log, log, 'ipc'],
  });
  closeSync(log);
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(`sallyport: ${name} could not be run: ${error.message}`));
    child.once('exit', (code, signal) => {
      const how = signal ?? `status ${code}`;
      const own = lastOwnLine(logFile, logStart);
      resolve(own ?? `sallyport: ${name} ended (${how}); read ${logFile}`);
    });
  });
  return { name, pid: child.pid, ended, close: (hurry) => end(child, ended, hurry, drainMs + SLACK_MS) };
}

/** How a running service is found again among the system's processes. */
export function serviceCommand(name: ServiceName): string {
  return `${MAIN} ${name}`;
}

async function end(
  child: ChildProcess,
  ended: Promise<string>,
  hurry: AbortSignal,
  patienceMs: number,
): Promise<void> {
  if (child.pid === undefined) return;
  const gone = new AbortController();
  const signal = AbortSignal.any([hurry, gone.signal]);
  ended.then(() => gone.abort());
  if (!hasEnded(child)) child.kill('SIGTERM');
  await delay(patienceMs, undefined, { signal }).catch(() => {});
  if (!hasEnded(child)) child.kill('SIGKILL');
  await ended;
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

/** The last line that the command wrote for a user, rather than for the log. */
function lastOwnLine(file: string, from: number): string | undefined {
  // Someone may have moved the log away; a size is then missing, and so is the line.
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  if (size <= from) return undefined;
  const log = openSync(file, 'r');
  try {
    const buffer = Buffer.alloc(TAIL_BYTES);
    const read = readSync(log, buffer, 0, TAIL_BYTES, Math.max(from, size - TAIL_BYTES));
    const lines = buffer.toString('utf8', 0, read).split('\n');
    return lines.findLast((line) => line.startsWith('sallyport: '));
  } finally {
    closeSync(log);
  }
}

/** Keeps the log of one service under twice its limit: the one before is kept beside it. */
function turnLog(file: string): void {
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  if (size > MAX_LOG_BYTES) renameSync(file, `${file}.old`);
}

const MAIN = fileURLToPath(new URL('../sallyport.mjs', import.meta.url));
/** No service needs to be an admin of itself. */
const NO_ADMIN_KEY = { SALLYPORT_ADMIN_KEY: '', SALLYPORT_ADMIN_KEY_FILE: '' };
/** For what follows the drain: the last rows of the record. */
const SLACK_MS = 10_000;
const TAIL_BYTES = 64 * 1024;
const MAX_LOG_BYTES = 10 * 1024 * 1024;

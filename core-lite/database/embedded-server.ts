/**
 * One run of the embedded PostgreSQL: the process, when it is ready, how it ends, and what a killed start left
 * running. The server is in a process group of its own, so that a Ctrl-C in the terminal ends our services first.
 * No process is ever signalled that is not known to be a server on our data folder.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Fault } from '../errors.ts';
import type { Account, Binaries } from './embedded-account.ts';
import { SERVER_ENVIRONMENT } from './embedded-cluster.ts';
import { commandOf, isUnreaped } from './processes.ts';

export interface ServerPlan {
  readonly binaries: Binaries;
  readonly account: Account | undefined;
  readonly data: string;
  readonly logFile: string;
  /** TCP port on 127.0.0.1. */
  readonly port: number;
  /** Whether what is committed must outlive a crash of the machine. */
  readonly durable: boolean;
}

export interface RunningServer {
  readonly pid: number;
  readonly child: ChildProcess;
}

/**
 * Starts the server and resolves when it has bound its port and takes connections, within 30 s.
 * @throws Fault `port_taken` when something else came to listen on the port,
 *   `database_start_failed` with the last complaint in the log otherwise
 */
export async function startServer(plan: ServerPlan, signal: AbortSignal | undefined): Promise<RunningServer> {
  const logStart = statSync(plan.logFile, { throwIfNoEntry: false })?.size ?? 0;
  const child = spawnServer(plan);
  const failure = new Promise<Error>((resolve) => child.once('error', resolve));
  const { pid } = child;
  if (pid === undefined) throw await failure;
  try {
    const until = Date.now() + READY_MS;
    while (!isReady(plan.data, pid)) {
      if (hasEnded(child)) throw await explainEnd(plan, logStart);
      if (Date.now() > until)
        throw new Fault('database_start_failed', `PostgreSQL is not ready, see ${plan.logFile}`);
      await delay(POLL_MS, undefined, { ...(signal && { signal }) });
    }
    return { pid, child };
  } catch (error) {
    await stopServer(pid, () => hasEnded(child));
    throw error;
  }
}

/**
 * Ends a server fast (open transactions are rolled back), within 25 s.
 * @param hasGone says whether the process is gone
 * @throws Fault `internal` when it lives on
 */
export async function stopServer(pid: number, hasGone: () => boolean): Promise<void> {
  for (const [signal, patienceMs] of STOP_SIGNALS) {
    if (hasGone()) return;
    sendSignal(pid, signal);
    const until = Date.now() + patienceMs;
    while (!hasGone() && Date.now() < until) await delay(POLL_MS);
  }
  if (!hasGone()) throw new Fault('internal', `PostgreSQL (process ${pid}) does not end`);
}

/**
 * Stops the server that a killed start left on `data` and returns its pid, or `undefined` when there is none. Only
 * for who holds the folder's lock.
 */
export async function stopOrphan(data: string): Promise<number | undefined> {
  const pid = Number(pidFile(data)[0] ?? 0);
  const found = pid > 1 && runsOn(pid, data);
  if (found) await stopServer(pid, () => !runsOn(pid, data));
  // PostgreSQL would take a dead server that nobody has reaped yet for a living one, and refuse to start.
  for (const until = Date.now() + REAP_MS; pid > 1 && isUnreaped(pid) && Date.now() < until; )
    await delay(POLL_MS);
  return found ? pid : undefined;
}

export function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

/** Whether a server could listen there now. */
async function isPortFree(port: number): Promise<boolean> {
  return (await listenOnce(port)) !== undefined;
}

/** A port on 127.0.0.1 that was free a moment ago. */
export async function freePort(): Promise<number> {
  const port = await listenOnce(0);
  if (port === undefined) throw new Fault('database_start_failed', 'no TCP port is free on 127.0.0.1');
  return port;
}

function spawnServer(plan: ServerPlan): ChildProcess {
  const settings = { ...SETTINGS, ...(plan.durable ? {} : THROWAWAY_SETTINGS), port: plan.port };
  const options = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const log = openSync(plan.logFile, 'a', 0o600);
  try {
    return spawn(plan.binaries.postgres, ['-D', plan.data, ...options], {
      cwd: '/',
      env: SERVER_ENVIRONMENT,
      detached: true,
      stdio: ['ignore', log, log],
      ...plan.account,
    });
  } finally {
    closeSync(log);
  }
}

/** The server writes its own port and state into its pid file: nothing that merely listens there passes for it. */
function isReady(data: string, pid: number): boolean {
  const lines = pidFile(data);
  return lines[0] === String(pid) && lines[STATE_LINE]?.trim() === 'ready';
}

function pidFile(data: string): readonly string[] {
  try {
    return readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n');
  } catch {
    return [];
  }
}

function runsOn(pid: number, data: string): boolean {
  return commandOf(pid).includes(`postgres -D ${data} -c`);
}

async function explainEnd(plan: ServerPlan, logStart: number): Promise<Fault> {
  if (!(await isPortFree(plan.port))) return new Fault('port_taken', `127.0.0.1:${plan.port} is taken`);
  const complaint = await lastComplaint(plan.logFile, logStart);
  return new Fault('database_start_failed', `PostgreSQL ended: ${complaint} (log: ${plan.logFile})`);
}

async function lastComplaint(file: string, from: number): Promise<string> {
  const handle = await open(file);
  try {
    const { buffer, bytesRead } = await handle.read({ buffer: Buffer.alloc(MAX_LOG_BYTES), position: from });
    const lines = buffer.toString('utf8', 0, bytesRead).trim().split('\n');
    return (
      lines.findLast((line) => /FATAL:|PANIC:/.test(line))?.replace(/^.*?(?=FATAL:|PANIC:)/, '') ??
      lines.at(-1) ??
      ''
    );
  } finally {
    await handle.close();
  }
}

function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}

function listenOnce(port: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(undefined));
    probe.listen({ port, host: '127.0.0.1', exclusive: true }, () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === 'object' && address !== null ? address.port : undefined));
    });
  });
}

const READY_MS = 30_000;
const REAP_MS = 5_000;
const POLL_MS = 25;
const MAX_LOG_BYTES = 65_536;
/** Line 8 of postmaster.pid, see PostgreSQL's miscadmin.h. */
const STATE_LINE = 7;
/** PostgreSQL's fast shutdown, then the one that leaves recovery to the next start. */
const STOP_SIGNALS = [
  ['SIGINT', 15_000],
  ['SIGQUIT', 10_000],
] as const;
const SETTINGS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: 200,
  shared_buffers: '64MB',
  // A failing statement is not written to the log: some hold a password.
  log_min_error_statement: 'panic',
};
const THROWAWAY_SETTINGS = { fsync: 'off', full_page_writes: 'off' };

/**
 * One run of a kit: a work folder under the system's temporary one, what was started in it, and the end of all that.
 * It ends only what it started itself.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { childEnvironment } from '../../core-lite/config.ts';

type Variables = Readonly<Record<string, string>>;

export interface StartOptions {
  /** Names the log in the work folder. */
  readonly name: string;
  /** The program and its arguments, for this Node. */
  readonly args: readonly string[];
  readonly variables?: Variables;
  /** Asked until it says yes, at most `READY_MS`. An error is a no. */
  readonly isReady: () => Promise<boolean>;
}

export class KitRun {
  readonly folder: string;
  readonly signal: AbortSignal;
  readonly #closers: (() => Promise<void>)[] = [];

  private constructor(folder: string, signal: AbortSignal) {
    this.folder = folder;
    this.signal = signal;
  }

  static async open(signal: AbortSignal): Promise<KitRun> {
    return new KitRun(await mkdtemp(join(tmpdir(), 'sallyport-kit-')), signal);
  }

  /** What has to be done at the end; the last that was held is done first. */
  hold(close: () => Promise<void>): void {
    this.#closers.push(close);
  }

  /** Starts a program in the background and resolves when it is ready. @returns its process id */
  async start({ name, args, variables = {}, isReady }: StartOptions): Promise<number> {
    this.signal.throwIfAborted();
    const logFile = join(this.folder, `${name}.log`);
    const log = openSync(logFile, 'w');
    const child = spawn(process.execPath, args, {
      env: childEnvironment(variables),
      stdio: ['ignore', log, log],
    });
    closeSync(log);
    this.hold(() => end(child));
    const until = Date.now() + READY_MS;
    while (!(await isReady().catch(() => false))) {
      if (hasEnded(child) || Date.now() > until) throw new Error(`${name} did not start, see ${logFile}`);
      await delay(POLL_MS, undefined, { signal: this.signal });
    }
    return child.pid ?? 0;
  }

  /** Runs a program on our own input and output. @returns its exit status */
  runToEnd(program: string, args: readonly string[], variables: Variables = {}): Promise<number> {
    return runToEnd(program, args, { signal: this.signal, variables });
  }

  /** Ends all that was started and removes the folder. @returns the folder, where its logs were to be kept */
  async close(keepLogs: boolean): Promise<string | null> {
    for (const close of this.#closers.toReversed()) {
      await close().catch((error: unknown) => console.error(`kit: ${String(error)}`));
    }
    const names = keepLogs ? (await readdir(this.folder)).filter((name) => !name.endsWith('.log')) : [''];
    for (const name of names) await rm(join(this.folder, name), { recursive: true, force: true });
    return keepLogs ? this.folder : null;
  }
}

/** Runs a program on our own input and output; ends it when `signal` is aborted. @returns its exit status */
export async function runToEnd(
  program: string,
  args: readonly string[],
  { signal, variables = {} }: { readonly signal: AbortSignal; readonly variables?: Variables },
): Promise<number> {
  signal.throwIfAborted();
  const child = spawn(program, args, { env: childEnvironment(variables), stdio: 'inherit' });
  const onAbort = () => child.kill(signal.reason as NodeJS.Signals);
  signal.addEventListener('abort', onAbort);
  try {
    return await new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('exit', (code, killed) => resolve(code ?? 128 + (killed ? constants.signals[killed] : 0)));
    });
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (hasEnded(child)) return;
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  child.kill('SIGTERM');
  const kill = setTimeout(() => child.kill('SIGKILL'), PATIENCE_MS);
  await ended;
  clearTimeout(kill);
}

function hasEnded(child: ChildProcess): boolean {
  return child.pid === undefined || child.exitCode !== null || child.signalCode !== null;
}

const READY_MS = 30_000;
const POLL_MS = 50;
const PATIENCE_MS = 15_000;

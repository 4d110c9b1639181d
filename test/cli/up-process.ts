/** `sallyport up` as a process of its own, in a home of its own and on free ports, as a user starts it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { recallCluster } from '../../core-lite/database/embedded-cluster.ts';
import { exists } from '../../core-lite/database/processes.ts';

export interface Up {
  readonly child: ChildProcess;
  /** The lines so far, of both outputs. */
  readonly lines: () => readonly string[];
  /** Resolves when it has ended. */
  readonly ended: Promise<Ended>;
  /** Resolves when it said that it is ready; rejects when it ended before. */
  ready(): Promise<void>;
  /** Sends a signal and waits for the end. */
  end(signal: NodeJS.Signals): Promise<Ended>;
}

interface Ended {
  readonly status: number | null;
  readonly out: readonly string[];
  readonly err: readonly string[];
}

export interface Home {
  readonly folder: string;
  start(settings?: Readonly<Record<string, string>>, ...words: readonly string[]): Up;
  read(file: string): string;
  /** The processes of the services, as they are written down. */
  services(): readonly number[];
  /** Removes the home and what its database kept elsewhere. */
  remove(): Promise<void>;
}

export function makeHome(): Home {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport up-'));
  const read = (file: string) => readFileSync(join(folder, file), 'utf8');
  return {
    folder,
    start: (settings = {}, ...words) => start({ ...FREE_PORTS, ...settings, SALLYPORT_HOME: folder }, words),
    read,
    services: () => JSON.parse(read('services.json')).services.map((service: { pid: number }) => service.pid),
    remove: async () => {
      const data = (await recallCluster(folder).catch(() => undefined))?.data;
      rmSync(folder, { recursive: true, force: true });
      if (data !== undefined && existsSync(data)) rmSync(dirname(data), { recursive: true });
    },
  };
}

/** Resolves when none of these processes is there any more; rejects after 15 s. */
export async function allGone(pids: readonly number[]): Promise<void> {
  for (const until = Date.now() + 15_000; pids.some(exists); await delay(20)) {
    if (Date.now() > until) throw new Error(`still there: ${pids.filter(exists)}`);
  }
}

/** The environment of a user's shell: what this test run has, and none of its settings. */
export function userEnvironment(): Record<string, string> {
  return { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '/' };
}

function start(settings: Readonly<Record<string, string>>, words: readonly string[]): Up {
  const env = { ...userEnvironment(), ...settings };
  const child = spawn(process.execPath, [MAIN, 'up', ...words], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const texts = { out: '', err: '' };
  child.stdout.on('data', (chunk) => {
    texts.out += chunk;
  });
  child.stderr.on('data', (chunk) => {
    texts.err += chunk;
  });
  const linesOf = (text: string) => text.split('\n').filter((line) => line !== '');
  const ended = once(child, 'close').then(([status]) => ({
    status: status as number | null,
    out: linesOf(texts.out),
    err: linesOf(texts.err),
  }));
  const untilReady = async (): Promise<void> => {
    while (!/^Ctrl-C /m.test(texts.out)) await Promise.race([once(child.stdout, 'data'), failed()]);
  };
  const failed = async (): Promise<never> => {
    throw new Error(`it ended: ${(await ended).err.join('\n')}`);
  };
  return {
    child,
    lines: () => linesOf(texts.out + texts.err),
    ended,
    ready: untilReady,
    end: (signal) => {
      child.kill(signal);
      return ended;
    },
  };
}

const MAIN = fileURLToPath(new URL('../../cli/sallyport.mjs', import.meta.url));
const FREE_PORTS = {
  SALLYPORT_CORE_LISTEN: '127.0.0.1:0',
  SALLYPORT_CORE_OBSERVE_LISTEN: '127.0.0.1:0',
  SALLYPORT_EGRESS_LISTEN: '127.0.0.1:0',
  SALLYPORT_EGRESS_TLS_LISTEN: '127.0.0.1:0',
  SALLYPORT_EGRESS_OBSERVE_LISTEN: '127.0.0.1:0',
  SALLYPORT_GATES_LISTEN: '127.0.0.1:0',
  SALLYPORT_GATES_OBSERVE_LISTEN: '127.0.0.1:0',
};

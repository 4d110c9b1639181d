/** `sallyport run` as a user starts it: a process of its own, with its own environment and temporary folder. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { formatAddress, type Service } from '../../core-lite/service.ts';
import type { World } from './world.ts';

export interface Finished {
  readonly status: number;
  readonly out: string;
  readonly err: string;
}

export interface StartedRun {
  readonly ended: Promise<Finished>;
  /** Resolves once its standard output has a match; rejects where it ends without. */
  said(pattern: RegExp): Promise<RegExpExecArray>;
  signal(name: NodeJS.Signals): void;
}

export interface Runner {
  /** @param words what stands behind `sallyport run` */
  start(words: readonly string[], more?: NodeJS.ProcessEnv): StartedRun;
  run(words: readonly string[], more?: NodeJS.ProcessEnv): Promise<Finished>;
  /** What runs have left in their temporary folder. */
  left(): Promise<string[]>;
  close(): Promise<void>;
}

/** Runs for a world, with the settings that an operator's shell would have. */
export async function makeRunner(world: World, egress: Service, gates: Service): Promise<Runner> {
  const folder = await mkdtemp(join(tmpdir(), 'sallyport-runner-'));
  const settings = {
    PATH: process.env['PATH'] ?? '',
    HOME: folder,
    TMPDIR: join(folder, 'tmp'),
    SALLYPORT_CORE_URL: `http://${formatAddress(world.core.address)}`,
    SALLYPORT_ADMIN_KEY: world.adminKey,
    SALLYPORT_EGRESS_LISTEN: formatAddress(egress.address),
    SALLYPORT_GATES_LISTEN: formatAddress(gates.address),
    ...(world.config.extraCa ? { SALLYPORT_EXTRA_CA: world.config.extraCa } : {}),
  };
  await mkdtemp(settings.TMPDIR).then((made) => {
    settings.TMPDIR = made;
  });
  const children = new Set<ChildProcess>();
  const start: Runner['start'] = (words, more = {}) => {
    const child = spawn(process.execPath, [MAIN, 'run', ...words], { env: { ...settings, ...more } });
    children.add(child);
    child.once('exit', () => children.delete(child));
    return watch(child);
  };
  return {
    start,
    run: (words, more) => start(words, more).ended,
    left: () => readdir(settings.TMPDIR),
    close: async () => {
      for (const child of children) child.kill('SIGKILL');
      await rm(folder, { recursive: true });
    },
  };
}

function watch(child: ChildProcess): StartedRun {
  const texts = { out: '', err: '' };
  child.stdin?.end();
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    texts.out += text;
    child.emit('said');
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    texts.err += text;
  });
  const ended = new Promise<Finished>((resolve) => {
    child.once('close', (code) => resolve({ status: code ?? -1, ...texts }));
  });
  return {
    ended,
    said: (pattern) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          const match = pattern.exec(texts.out);
          if (match) resolve(match);
        };
        child.on('said', look);
        void ended.then(({ err }) => reject(new Error(`it ended without ${pattern}: ${texts.out}${err}`)));
        look();
      }),
    signal: (name) => void child.kill(name),
  };
}

const MAIN = fileURLToPath(new URL('../../cli/sallyport.mjs', import.meta.url));

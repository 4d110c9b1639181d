/**
 * `npm run kit -- KIT [--dir DIR] [-- OPTIONS]`: starts the product as a kit needs it and runs the kit found under DIR
 * against it. Kits are programs of their own: nothing of them is ever imported here. Exits as the kit did; 2 for wrong
 * usage, 3 without the kit's folder, 1 when the product could not be started.
 */
import { existsSync, realpathSync } from 'node:fs';
import { constants } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { isFault } from '../../core-lite/errors.ts';
import { runAgents } from './agents.ts';
import { runBenchBodies } from './bench-bodies.ts';
import { runBenchConnect } from './bench-connect.ts';
import { runBenchModel } from './bench-model.ts';
import { runClients } from './clients.ts';
import { runHostileConnect } from './hostile-connect.ts';
import { runHostileGates } from './hostile-gates.ts';
import { KitRun, runToEnd } from './kit-run.ts';
import { canIsolate, isolated } from './namespace.ts';

interface Kit {
  /** What DIR must hold. */
  readonly program: string;
  /** Whether it wants a network where nothing can leave and every port is free. */
  readonly isolated: boolean;
  readonly run: (run: KitRun, dir: string, options: readonly string[]) => Promise<number>;
}

interface Command {
  readonly name: string;
  readonly kit: Kit;
  readonly dir: string;
  readonly inNamespace: boolean;
  /** The kit's own. */
  readonly options: readonly string[];
}

async function main(words: readonly string[]): Promise<number> {
  const command = parseCommand(words);
  if (typeof command === 'string') return say(2, command);
  const { kit, dir } = command;
  if (!existsSync(join(dir, kit.program))) {
    return say(3, `there is no ${kit.program} under ${dir}: name the kits' folder with --dir`);
  }
  const stop = new AbortController();
  // Each time, not once: a second Ctrl-C must not cut the clearing up short.
  for (const signal of SIGNALS) process.on(signal, () => stop.abort(signal));
  if (kit.isolated && !command.inNamespace && canIsolate(dir)) return runIsolated(command, stop.signal);
  return runKit(command, stop.signal);
}

function parseCommand(words: readonly string[]): Command | string {
  const end = words.includes('--') ? words.indexOf('--') : words.length;
  try {
    const { values, positionals } = parseArgs({
      args: words.slice(0, end),
      allowPositionals: true,
      options: { dir: { type: 'string' }, 'in-namespace': { type: 'boolean' } },
    });
    const [name = '', ...rest] = positionals;
    const kit = Object.hasOwn(KITS, name) ? KITS[name] : undefined;
    if (!kit || rest.length > 0) return USAGE;
    // Programs of a kit ask whether they are the main module: by their real path.
    const named = values.dir === undefined ? resolve(ROOT, '../shared') : resolve(values.dir);
    const dir = existsSync(named) ? realpathSync(named) : named;
    return { name, kit, dir, inNamespace: values['in-namespace'] === true, options: words.slice(end + 1) };
  } catch {
    return USAGE;
  }
}

/** The same command once more, inside. */
function runIsolated({ name, dir, options }: Command, signal: AbortSignal): Promise<number> {
  const again = [fileURLToPath(import.meta.url), name, '--dir', dir, '--in-namespace', '--', ...options];
  const [program, ...args] = isolated(dir, [process.execPath, ...again]);
  return runToEnd(program, args, { signal });
}

async function runKit({ kit, dir, options }: Command, signal: AbortSignal): Promise<number> {
  const run = await KitRun.open(signal);
  let status = 1;
  try {
    status = await kit.run(run, dir, options);
  } catch (error) {
    if (!signal.aborted) say(1, describe(error));
  } finally {
    const kept = await run.close(status !== 0 && !signal.aborted);
    if (kept) console.error(`kit: the logs are kept in ${kept}`);
  }
  return signal.aborted ? 128 + constants.signals[signal.reason as NodeJS.Signals] : status;
}

function describe(error: unknown): string {
  if (isFault(error)) return `${error.message}; ${error.remedy}`;
  return error instanceof Error ? error.message : String(error);
}

function say(status: number, line: string): number {
  console.error(`kit: ${line}`);
  return status;
}

const KITS: Readonly<Record<string, Kit>> = {
  'hostile-connect': { program: 'hostile/run-connect.mjs', isolated: true, run: runHostileConnect },
  'hostile-gates': { program: 'hostile/run-gates.mjs', isolated: true, run: runHostileGates },
  clients: { program: 'clients/run.mjs', isolated: true, run: runClients },
  agents: { program: 'node_modules', isolated: true, run: runAgents },
  'bench-connect': { program: 'bench/connect-bench.mjs', isolated: false, run: runBenchConnect },
  'bench-bodies': { program: 'bench/origin.mjs', isolated: false, run: runBenchBodies },
  'bench-model': { program: 'bench/model-bench.mjs', isolated: false, run: runBenchModel },
};
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const USAGE = `usage: npm run kit -- ${Object.keys(KITS).join('|')} [--dir DIR] [-- OPTIONS of the kit]`;
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

process.exitCode = await main(process.argv.slice(2));

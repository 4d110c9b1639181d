/**
 * The agents kit: command-line agents that were installed under DIR with npm run an offline turn each, against a provider
 * that speaks their dialect, first told by two settings, then inside of `sallyport run`, then with a run that is over.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { delimiter, dirname, join } from 'node:path';
import { childEnvironment } from '../../core-lite/config.ts';
import { DIALECTS } from '../../core-lite/state/dialect.ts';
import { startProvider } from '../support/provider.ts';
import { speakBehind } from '../support/speaking-provider.ts';
import { AGENTS, type Agent } from './agents-table.ts';
import type { KitRun } from './kit-run.ts';
import { openRun } from './leased-run.ts';
import { CLI, type Product, startProduct } from './product.ts';

/** @returns 1 where an agent that is there failed */
export async function runAgents(run: KitRun, dir: string): Promise<number> {
  const product = await startStand(run);
  const failed = 0;
  for (const agent of AGENTS) {
    const program = await findProgram(dir, agent);
    if (program === null) console.log(`absent  ${agent.name}: npm install ${agent.package}`);
    else
      for (const way of WAYS) {
        const ok =
    way === 'with a run that is over'
      ? requests === 1 && output.includes('the run is over')
      : status === 0 && requests > 0 && output.includes(PROMPT);
  console.log(
    `${ok ? 'ok    ' : 'FAILED'}  ${agent.name} ${await versionOf(trial)}, ${way}: exit ${status}, ${requests} requests, ${seconds} s`,
  );
  if (!ok) console.log(output.replaceAll(/^/gm, '        '));
  return ok;
}

async function execute(
  run: KitRun,
  [program = '', ...args]: readonly string[],
  variables: Readonly<Record<string, string>>,
) {
  const child = spawn(program, args, {
    cwd: variables['HOME'],
    env: {
      ...childEnvironment(variables),
      PATH: `${dirname(process.execPath)}${delimiter}${process.env['PATH']}`,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    signal: run.signal,
    timeout: LIMIT_MS,
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += text));
  await once(child, 'close');
  return { status: child.exitCode, output };
}

/** Every model call that the gates told of, refused or not. */
async function countRequests({ commandLine }: Product): Promise<number> {
  const text = await (await fetch(`http://${commandLine['SALLYPORT_GATES_OBSERVE_LISTEN']}/metrics`)).text();
  const counts = text.matchAll(/^sallyport_gates_(?:model_calls|refusals)_total\{[^}]*\} (\d+)$/gm);
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
}

/** How it is started; `null` where it is not installed. */
async function findProgram(dir: string, agent: Agent): Promise<readonly string[] | null> {
  for (const from of [join(dir, 'x'), import.meta.filename]) {
    try {
      const file = createRequire(from).resolve(`${agent.package}/package.json`);
      const { bin } = JSON.parse(await readFile(file, 'utf8')) as { bin: Record<string, string> | string };
      const entry = typeof bin === 'string' ? bin : Object.values(bin)[0];
      const path = join(dirname(file), entry ?? '');
      return /\.[cm]?js$/.test(path) ? [process.execPath, path] : [path];
    } catch {
      // Not there.
    }
  }
  return null;
}

async function versionOf({ run, program }: Trial): Promise<string> {
  const { output } = await execute(run, [...program, '--version'], { HOME: run.folder });
  return /\d+\.\d+\.\d+/.exec(output)?.[0] ?? '';
}

const KEY = 'sk-of-the-agents-kit';
const PROMPT = 'say pineapple twice';
const LIMIT_MS = 120_000;

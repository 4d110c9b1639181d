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
  let failed = 0;
  for (const agent of AGENTS) {
    const program = await findProgram(dir, agent);
    if (program === null) console.log(`absent  ${agent.name}: npm install ${agent.package}`);
    else
      for (const way of WAYS) {
        const ok = await tryOut({ run, product, agent, program }, way);
        if (!ok) failed += 1;
      }
  }
  return failed > 0 ? 1 : 0;
}

async function startStand(run: KitRun): Promise<Product> {
  const provider = await startProvider('models.test', { plain: true });
  run.hold(() => provider.close());
  provider.behave = speakBehind(KEY);
  const hostsFile = join(run.folder, 'hosts');
  await writeFile(hostsFile, '127.0.0.1 models.test\n');
  const product = await startProduct(run, {
    SALLYPORT_HOSTS_FILE: hostsFile,
    SALLYPORT_OPEN_NETWORKS: 'models.test=127.0.0.0/8',
  });
  const { call } = product;
  const place = `models.test:${provider.port}`;
  const credential = { kind: 'model_key', hosts: [place], secret: { value: KEY } };
  await call('PUT', '/v1/vaults/kit');
  await call('PUT', '/v1/vaults/kit/credentials/key', credential);
  const model = { baseUrl: `http://${place}`, dialects: DIALECTS, credential: 'kit/key' };
  for (const { model: name } of AGENTS) await call('PUT', `/v1/models/${name}`, model);
  await call('PUT', '/v1/environments/kit', {});
  return product;
}

interface Trial {
  readonly run: KitRun;
  readonly product: Product;
  readonly agent: Agent;
  readonly program: readonly string[];
}

const WAYS = ['by its settings', 'in a run', 'with a run that is over'] as const;

async function tryOut(trial: Trial, way: (typeof WAYS)[number]): Promise<boolean> {
  const { run, product, agent, program } = trial;
  const home = join(run.folder, `home-${Date.now()}`);
  await mkdir(home);
  await agent.prepare?.(home);
  const { runToken, turn } = await openRun(product.call, {});
  if (way === 'with a run that is over') await product.call('POST', `/v1/turns/${turn}/cancel`);
  const own = { HOME: home, ...QUIET };
  // A shell puts the run's variables into the arguments.
  const words = [...program, ...agent.args(PROMPT)].map((word) => `"${word.replaceAll(/["\\]/g, '\\$&')}"`);
  const command = ['sh', '-c', `CODEX_API_KEY=$OPENAI_API_KEY exec ${words.join(' ')}`];
  const inRun = [process.execPath, CLI, 'run', '--env', 'kit', '--', ...command];
  const before = await countRequests(product);
  const began = Date.now();
  const { status, output } =
    way === 'in a run'
      ? await execute(run, inRun, { ...product.commandLine, ...own })
      : await execute(run, command, { ...agent.settings(product.gatesUrl, runToken), ...own });
  const seconds = ((Date.now() - began) / 1000).toFixed(1);
  const requests = (await countRequests(product)) - before;
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
/** No updates and no questions, where nobody answers. */
const QUIET = { CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', GEMINI_CLI_TRUST_WORKSPACE: 'true' };

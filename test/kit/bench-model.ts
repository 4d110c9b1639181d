/**
 * The bench kit's figures of model calls: the gates and, beside them in the same rounds, the kit's bare Node gateway,
 * since figures of one run can be compared and others cannot.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../core-lite/database/embedded-server.ts';
import type { KitRun } from './kit-run.ts';
import { openRun } from './leased-run.ts';
import { startProduct } from './product.ts';

/** @returns the kit's exit status */
export async function runBenchModel(run: KitRun, dir: string, options: readonly string[]): Promise<number> {
  const kit = join(dir, 'bench');
  const variables = { BENCH_WORK: run.folder };
  // The kit starts it; a product must know beforehand where it will listen.
  const originPort = await freePort();
  const targets = [await startGatesTarget(run, originPort)];
  if (!options.includes('--target')) targets.push(await startFloorTarget(run, kit, originPort));
  const ours = [
    ['--origin-http', String(originPort)],
    ...targets.map(({ name, base, token, pid }) => [
      '--target',
      `name=${name},base=${base},token=${token},pid=${pid}`,
    ]),
  ].flat();
  const program = join(kit, 'model-bench.mjs');
  return run.runToEnd(process.execPath, [program, ...ours, ...SHORT, ...options], variables);
}

/** What is measured: where it is, what it takes for a key, and whose CPU and memory count. */
export interface ModelTarget {
  readonly name: string;
  readonly base: string;
  readonly token: string;
  readonly pid: number;
}

/** The origin speaks plain HTTP on loopback: the gates go there only where the operator opened that network. */
async function settingsFor(run: KitRun): Promise<Record<string, string>> {
  const hostsFile = join(run.folder, 'hosts');
  await writeFile(hostsFile, `127.0.0.1 ${ORIGIN}\n`);
  return { SALLYPORT_HOSTS_FILE: hostsFile, SALLYPORT_OPEN_NETWORKS: `${ORIGIN}=127.0.0.0/8` };
}

/** The gates as they are used: with the ledger, and with budgets that every call has to find room in. */
export async function startGatesTarget(run: KitRun, port: number): Promise<ModelTarget> {
  const { call, gatesUrl, gatesPid } = await startProduct(run, await settingsFor(run));
  await call('PUT', '/v1/vaults/bench');
  await call('PUT', '/v1/vaults/bench/credentials/key', {
    kind: 'model_key',
    hosts: [`${ORIGIN}:${port}`],
    secret: { value: 'a-key-of-the-bench' },
  });
  await call('PUT', `/v1/models/${MODEL}`, {
    baseUrl: `http://${ORIGIN}:${port}`,
    dialects: ['openai', 'anthropic'],
    credential: 'bench/key',
  });
  // The model has no list price, so they are in tokens.
  const most = { measure: 'tokens', limit: 1e12 };
  await call('PUT', '/v1/budgets/everybody', { ...most, scope: 'tenant', period: 'day' });
  await call('PUT', '/v1/budgets/each-turn', { ...most, scope: 'turn', period: 'lifetime' });
  const { runToken } = await openRun(call, { models: [MODEL] });
  return { name: 'gates', base: gatesUrl, token: runToken, pid: gatesPid };
}

/** The kit's bare gateway as it is nearest to ours: it dispatches with undici, the copy that we use. */
export async function startFloorTarget(run: KitRun, kit: string, originPort: number): Promise<ModelTarget> {
  const port = await freePort();
  const upstream = `http://127.0.0.1:${originPort}`;
  const pid = await run.start({
    name: 'floor',
    args: [
      join(kit, 'peers/gateway-floor.mjs'),
      ...`--port ${port} --upstream ${upstream} --client undici-stream`.split(' '),
    ],
    variables: { BENCH_WORK: run.folder, PEERS_DIR: ROOT },
    // Any answer is a yes.
    isReady: async () => (await fetch(`http://127.0.0.1:${port}`)).status > 0,
  });
  return { name: 'floor', base: `http://127.0.0.1:${port}`, token: 'bench-token', pid };
}

/** About three minutes with all figures: the run token, which the kit takes once, lives 15. */
const SHORT = ['--rounds', '3', '--seconds', '1'];
/** The kit asks for this one. */
export const MODEL = 'bench-model';
const ORIGIN = 'origin.bench.test';
const ROOT = fileURLToPath(new URL('../..', import.meta.url));

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
import { type Product, startProduct } from './product.ts';

/** @returns the kit's exit status */
export async function runBenchModel(run: KitRun, dir: string, options: readonly string[]): Promise<number> {
  const kit = join(dir, 'bench');
  const variables = { BENCH_WORK: run.folder };
  // The kit starts it; a product must know beforehand where it will listen.
  const originPort = await freePort();
  const product = await startProduct(run, await settingsFor(run));
  const targets = [await gatesTarget(product, originPort)];
  if (!options.includes('--target')) targets.push(await floorTarget(run, kit, originPort));
  const ours = [
    ['--origin-http', String(originPort)],
    ...targets.map((target) => ['--target', target]),
  ].flat();
  const program = join(kit, 'model-bench.mjs');
  return run.runToEnd(process.execPath, [program, ...ours, ...SHORT, ...options], variables);
}

/** The origin speaks plain HTTP on loopback: the gates go there only where the operator opened that network. */
async function settingsFor(run: KitRun): Promise<Record<string, string>> {
  const hostsFile = join(run.folder, 'hosts');
  await writeFile(hostsFile, `127.0.0.1 ${ORIGIN}\n`);
  return { SALLYPORT_HOSTS_FILE: hostsFile, SALLYPORT_OPEN_NETWORKS: `${ORIGIN}=127.0.0.0/8` };
}

async function gatesTarget({ call, gatesUrl, gatesPid }: Product, port: number): Promise<string> {
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
  const { runToken } = await openRun(call, { models: [MODEL] });
  return `name=gates,base=${gatesUrl},token=${runToken},pid=${gatesPid}`;
}

/** The kit's bare gateway as it is nearest to ours: it dispatches with undici, the copy that we use. */
async function floorTarget(run: KitRun, kit: string, originPort: number): Promise<string> {
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
  return `name=floor,base=http://127.0.0.1:${port},token=bench-token,pid=${pid}`;
}

/** About three minutes with all figures: the run token, which the kit takes once, lives 15. */
const SHORT = ['--rounds', '3', '--seconds', '1'];
/** The kit asks for this one. */
const MODEL = 'bench-model';
const ORIGIN = 'origin.bench.test';
const ROOT = fileURLToPath(new URL('../..', import.meta.url));

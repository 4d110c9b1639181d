/**
 * The hostile kit's cases for the gates: the kit's stage plays providers and tools, each of them is declared as an
 * operator would, and the kit's runner is told by our hook what a token and a route is.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isFault } from '../../core-lite/errors.ts';
import { NO_POD } from '../../core-lite/state/environment.ts';
import { parseManifest } from '../../core-lite/state/manifest/manifest.ts';
import { issuerOf } from '../../core-lite/tokens/token-kinds.ts';
import type { GatesFacts } from './gates-hook.ts';
import { factsFile } from './hook-tokens.ts';
import type { KitRun } from './kit-run.ts';
import { type LeasedRun, openRun, takeLease } from './leased-run.ts';
import { type KitEnvironment, type Product, startProduct } from './product.ts';
import {
  allowedNames,
  importTokenKey,
  type Stage,
  splitScheme,
  stageFile,
  stageSettings,
  startStage,
} from './stage.ts';

/** @returns the kit's exit status */
export async function runHostileGates(run: KitRun, dir: string, options: readonly string[]): Promise<number> {
  const kit = join(dir, 'hostile');
  const stage = await startStage(run, kit);
  const settings = { ...stageSettings(stage, allowedNames(stage)), ...PATIENCE };
  const product = await startProduct(run, settings);
  await putCredentials(product, stage);
  await putModels(product, stage);
  await writeFile(factsFile(run.folder), JSON.stringify(await makeFacts(product, stage)));
  const ours = [
    ['--stage', stageFile(stage)],
    ['--base', product.gatesUrl],
    ['--hook', fileURLToPath(new URL('./gates-hook.ts', import.meta.url))],
  ].flat();
  return run.runToEnd(process.execPath, [join(kit, 'run-gates.mjs'), ...ours, '--quiet', ...options]);
}

async function putCredentials(product: Product, stage: Stage): Promise<void> {
  await product.call('PUT', `/v1/vaults/${VAULT}`);
  for (const [host, stageSecret] of Object.entries(stage.secrets)) {
    if (host.endsWith('.bound.test')) continue;
    const { scheme, secret } = splitScheme(stageSecret);
    const kind = scheme === '' ? 'model_key' : 'bearer';
    const body = { kind, hosts: [host], secret: { value: secret } };
    await product.call('PUT', `/v1/vaults/${VAULT}/credentials/${host}`, body);
  }
}

async function putModels(product: Product, { providers }: Stage): Promise<void> {
  for (const [name, baseUrl] of Object.entries(providers)) {
    const dialects = ['anthropic', ...(name === BOTH_DIALECTS ? ['openai'] : [])];
    const credential = `${VAULT}/${new URL(baseUrl).hostname}`;
    await product
      .call('PUT', `/v1/models/${name}`, { baseUrl, dialects, credential })
      .catch((error: unknown) => console.error(`kit: left out: the model ${name}: ${String(error)}`));
  }
}

/** Opens the sessions, each at an epoch that has one before it, and imports the key that the hook signs with. */
async function makeFacts(product: Product, stage: Stage): Promise<GatesFacts> {
  const { call, coreUrl, adminKey, tenantId } = product;
  const kid = await importTokenKey(call, stage);
  const { id, hostEpoch } = await call<KitEnvironment>('PUT', '/v1/environments/kit', {});
  const ofPod = { sub: id, hep: hostEpoch, pod: NO_POD };
  const manifest = { httpTools: declareTools(stage), mcpServers: declareServers(stage) };
  const runs: Record<string, LeasedRun> = {};
  for (const session of SESSIONS) {
    const run = await openRun(call, manifest);
    runs[session] = { ...run, ...(await takeLease(call, run.turn)) };
  }
  const claims = Object.entries(runs).map(([name, { session: sub, turn: trn, agent: agt, leaseEpoch }]) => [
    name,
    { proxy: ofPod, gates: { sub, trn, agt, epc: leaseEpoch }, other: ofPod },
  ]);
  const issuer = issuerOf(tenantId);
  return { coreUrl, adminKey, issuer, kid, runs, claims: Object.fromEntries(claims) };
}

/** As a manifest has them, without those that the product refuses to load. */
function declareTools({ tools, secrets }: Stage): Readonly<Record<string, object>> {
  const declared = Object.entries(tools).map(([name, tool]) => {
    return [name, { ...tool, ...credentialOf(tool.url, secrets), inputSchema: { type: 'object' } }] as const;
  });
  return Object.fromEntries(declared.filter(([name, tool]) => isLoaded('httpTools', name, tool)));
}

function declareServers({ mcpServers, secrets }: Stage): Readonly<Record<string, object>> {
  const declared = Object.entries(mcpServers).map(
    ([name, url]) => [name, { url, ...credentialOf(url, secrets) }] as const,
  );
  return Object.fromEntries(declared.filter(([name, server]) => isLoaded('mcpServers', name, server)));
}

function credentialOf(url: string, secrets: Stage['secrets']): { readonly credential?: string } {
  const host = URL.parse(url)?.hostname ?? '';
  return Object.hasOwn(secrets, host) ? { credential: `${VAULT}/${host}` } : {};
}

function isLoaded(kind: 'httpTools' | 'mcpServers', name: string, declared: object): boolean {
  try {
    parseManifest({ [kind]: { [name]: declared } });
    return true;
  } catch (error) {
    if (!isFault(error)) throw error;
    console.error(`kit: left out: ${name} of ${kind}: ${error.message}`);
    return false;
  }
}

const VAULT = 'kit';
/** The kit's runs 1 and 2, those that it revokes and those that it cancels. */
const SESSIONS = ['1', '2', 'r1', 'r2', 'r3', 'r4', 'r5', 'r6'].map((name) => `session-${name}`);
/** The one provider that answers in each. */
const BOTH_DIALECTS = 'json';
/** The kit waits a minute for a silent stream to end (`--slow`). */
const PATIENCE = { SALLYPORT_STREAM_IDLE: '20s' };

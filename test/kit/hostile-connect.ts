/**
 * The hostile kit's CONNECT cases: the kit's stage plays the internet (names, origins, canaries), the product is
 * started with what the stage says, and the kit's runner is told by our hook what a token is.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { makeId } from '../../core-lite/id.ts';
import { NO_POD } from '../../core-lite/state/environment.ts';
import { issuerOf } from '../../core-lite/tokens/token-kinds.ts';
import type { ConnectFacts } from './connect-hook.ts';
import { factsFile } from './hook-tokens.ts';
import type { KitRun } from './kit-run.ts';
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
import { supersedePod } from './supersede.ts';

/** @returns the kit's exit status */
export async function runHostileConnect(
  run: KitRun,
  dir: string,
  options: readonly string[],
): Promise<number> {
  const kit = join(dir, 'hostile');
  const stage = await startStage(run, kit);
  const allow = allowedNames(stage);
  const product = await startProduct(run, stageSettings(stage, allow));
  await writeFile(factsFile(run.folder), JSON.stringify(await makeFacts(product, stage, allow)));
  const authority = join(run.folder, 'authority.pem');
  await writeFile(authority, await (await fetch(`${product.coreUrl}/authority.pem`)).text());
  const ours = [
    ['--stage', stageFile(stage)],
    ['--proxy', `http://${product.proxy}`],
    ['--hook', fileURLToPath(new URL('./connect-hook.ts', import.meta.url))],
    ['--proxy-ca', authority],
    // The product's longest patience with a silent client, that for the first byte of an interception, and a little.
    ['--limit-ms', '65000'],
  ].flat();
  return run.runToEnd(process.execPath, [join(kit, 'run-connect.mjs'), ...ours, '--quiet', ...options]);
}

/** Makes environments and the signing key, and what the hook makes tokens of. */
async function makeFacts(product: Product, stage: Stage, allow: readonly string[]): Promise<ConnectFacts> {
  const kid = await importTokenKey(product.call, stage);
  const credentials = await putSecrets(product, stage);
  const environments: Record<string, KitEnvironment> = {};
  for (const [session, name] of ENVIRONMENTS) {
    environments[session] = await putEnvironment(product, name, { ...LIMITS, allow, credentials });
  }
  const claims = Object.entries(environments).map(([session, { id, hostEpoch }]) => {
    const ofPod = { sub: id, hep: hostEpoch, pod: NO_POD };
    return [session, { proxy: ofPod, gates: noRun(), other: ofPod }];
  });
  const { databaseUrl, tenantId } = product;
  const issuer = issuerOf(tenantId);
  return { databaseUrl, issuer, kid, environments, claims: Object.fromEntries(claims) };
}

/** Of no session: at the proxy a run token is the wrong kind, whosever it is. */
function noRun() {
  return { sub: makeId('ses'), trn: makeId('trn'), agt: 'kit', epc: 1 };
}

/** At an epoch that has one before it, so that the kit can make a token of that one. */
async function putEnvironment(product: Product, name: string, body: object): Promise<KitEnvironment> {
  const { id } = await product.call<KitEnvironment>('PUT', `/v1/environments/${name}`, body);
  await supersedePod(product.databaseUrl, id);
  return product.call<KitEnvironment>('GET', `/v1/environments/${name}`);
}

async function putSecrets(product: Product, stage: Stage): Promise<readonly string[]> {
  await product.call('PUT', `/v1/vaults/${VAULT}`);
  const bound = Object.entries(stage.secrets).filter(([host]) => host.endsWith('.bound.test'));
  for (const [host, stageSecret] of bound) {
    const { scheme, secret } = splitScheme(stageSecret);
    await product.call('PUT', `/v1/vaults/${VAULT}/credentials/${host}`, {
      kind: 'environment_secret',
      hosts: [host],
      variable: host.replaceAll('.', '_').toUpperCase(),
      placement: { header: stageSecret.header, format: `${scheme}{}` },
      secret: { value: secret },
    });
  }
  return bound.map(([host]) => `${VAULT}/${host}`);
}

const VAULT = 'kit';
/** A run of the kit's cases to the environment that plays it. */
const ENVIRONMENTS: readonly (readonly [session: string, name: string])[] = [
  ['session-1', 'good'],
  ['session-2', 'two'],
  ...[1, 2, 3, 4, 5, 6].map((number) => [`session-r${number}`, `r${number}`] as const),
];
/** The kit floods from one environment, and what it looks for is not this limit. */
const LIMITS = { maxConnections: 100_000, newPerSecond: 1_000_000 };

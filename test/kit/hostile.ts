/**
 * The hostile kit's CONNECT cases: the kit's stage plays the internet (names, origins, canaries), the product is
 * started with what the stage says, and the kit's runner is told by our hook what a token is.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { HostPatternFault, parseHostPattern } from '../../core-lite/network/host-pattern.ts';
import { issuerOf } from '../../core-lite/tokens/token-kinds.ts';
import type { HookFacts } from './hostile-hook.ts';
import type { KitRun } from './kit-run.ts';
import { type KitEnvironment, type Product, startProduct } from './product.ts';
import { supersedePod } from './supersede.ts';

/** The stage's own description, as far as it is used here. */
interface Stage {
  readonly dir: string;
  /** `address:port` of its DNS server. */
  readonly dns: string;
  readonly allowNames: readonly string[];
  /** By host: the header that carries the secret there, and its whole value. */
  readonly secrets: Readonly<Record<string, { readonly header: string; readonly value: string }>>;
  readonly listenFailures: readonly string[];
}

/** @returns the kit's exit status */
export async function runHostile(run: KitRun, dir: string, options: readonly string[]): Promise<number> {
  const kit = join(dir, 'hostile');
  const stageFile = join(run.folder, 'stage', 'stage.json');
  const stage = await startStage(run, kit, stageFile);
  const allow = stage.allowNames.filter(isPattern);
  const product = await startProduct(run, settingsFor(stage, allow));
  await writeFacts(run, product, stage, allow);
  const authority = join(run.folder, 'authority.pem');
  await writeFile(authority, await (await fetch(`${product.coreUrl}/authority.pem`)).text());
  const ours = [
    ['--stage', stageFile],
    ['--proxy', `http://${product.proxy}`],
    ['--hook', fileURLToPath(new URL('./hostile-hook.ts', import.meta.url))],
    ['--proxy-ca', authority],
  ].flat();
  return run.runToEnd(process.execPath, [join(kit, 'run-connect.mjs'), ...ours, '--quiet', ...options]);
}

async function startStage(run: KitRun, kit: string, file: string): Promise<Stage> {
  // The kit reads the file too, so what is parsed here is what it was written as.
  const read = async (): Promise<Stage> => JSON.parse(await readFile(file, 'utf8')) as Stage;
  await run.start({
    name: 'stage',
    args: [join(kit, 'stage.mjs'), '--dir', join(run.folder, 'stage'), '--seconds', STAGE_LIFE_S],
    isReady: async () => (await read()).dns !== '',
  });
  const stage = await read();
  const [first, ...others] = stage.listenFailures;
  if (first !== undefined)
    console.error(`kit: the stage cannot listen on ${first} and ${others.length} more: run this as root`);
  return stage;
}

/** The stage's origins have a CA of their own; the setting for it comes together with interception. */
function settingsFor({ dns }: Stage, allow: readonly string[]): Record<string, string> {
  return {
    SALLYPORT_DNS_SERVERS: dns,
    SALLYPORT_OPEN_NETWORKS: allow.map((host) => `${host}=${PUBLIC_NETWORK}`).join(','),
  };
}

/** The product refuses to load some of what the kit lists; the kit says to leave it out then. */
function isPattern(entry: string): boolean {
  const pattern = parseHostPattern(entry);
  if (!(pattern instanceof HostPatternFault)) return true;
  console.error(`kit: left out of the allowlist: ${entry}: ${pattern.message}`);
  return false;
}

/** Makes environments and the signing key, and leaves in the work folder what the hook makes tokens of. */
async function writeFacts(run: KitRun, product: Product, stage: Stage, allow: readonly string[]) {
  const pem = await readFile(join(stage.dir, 'token-pub.pem'), 'utf8');
  const { kid } = await product.call<{ kid: string }>('POST', '/v1/signing-keys/import', { pem });
  const credentials = await putSecrets(product, stage);
  const environments: Record<string, KitEnvironment> = {};
  for (const [session, name] of ENVIRONMENTS) {
    environments[session] = await putEnvironment(product, name, { ...LIMITS, allow, credentials });
  }
  const issuer = issuerOf(product.tenantId);
  const facts: HookFacts = { databaseUrl: product.databaseUrl, issuer, kid, environments };
  await writeFile(join(run.folder, 'facts.json'), JSON.stringify(facts));
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
  for (const [host, { header, value }] of bound) {
    const scheme = /^Bearer /.exec(value)?.[0] ?? '';
    await product.call('PUT', `/v1/vaults/${VAULT}/credentials/${host}`, {
      kind: 'environment_secret',
      hosts: [host],
      variable: host.replaceAll('.', '_').toUpperCase(),
      placement: { header, format: `${scheme}{}` },
      secret: { value: value.slice(scheme.length) },
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
/** The loopback addresses that play the public internet. */
const PUBLIC_NETWORK = '127.77.0.0/24';
const STAGE_LIFE_S = '7200';

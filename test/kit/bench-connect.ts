/**
 * The bench kit's CONNECT figures: the product and, beside it in the same rounds, the kit's bare Node proxy, since
 * figures of one run can be compared and others cannot.
 */
import { createPrivateKey } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '../../core-lite/database/embedded-server.ts';
import { NO_POD } from '../../core-lite/state/environment.ts';
import { mintToken } from '../../core-lite/tokens/mint.ts';
import type { SigningKey } from '../../core-lite/tokens/signing-keys.ts';
import type { KitRun } from './kit-run.ts';
import { type KitEnvironment, type Product, startProduct } from './product.ts';

/** Where the kit's origin will listen: a product must know it beforehand. */
interface Origin {
  readonly http: number;
  readonly https: number;
}

/** @returns the kit's exit status */
export async function runBenchConnect(run: KitRun, dir: string, options: readonly string[]): Promise<number> {
  const kit = join(dir, 'bench');
  const variables = { BENCH_WORK: run.folder };
  const pki = join(run.folder, 'pki');
  const made = await run.runToEnd('sh', [join(kit, 'pki.sh'), pki], variables);
  if (made !== 0) throw new Error(`the kit's pki.sh failed (${made}): it needs openssl`);
  const origin: Origin = { http: await freePort(), https: await freePort() };
  const product = await startProduct(run, await settingsFor(run));
  const key = await importKey(run, product);
  const targets = [
    await tunnelTarget(run, product, origin, key),
    await interceptionTarget(run, product, origin, key),
  ];
  if (!options.includes('--target')) {
    targets.push(await floorTarget(run, kit), await interceptionFloorTarget(run, kit));
  }
  const ours = [
    ['--origin-http', String(origin.http)],
    ['--origin-https', String(origin.https)],
    ...targets.map((target) => ['--target', target]),
  ].flat();
  const program = join(kit, 'connect-bench.mjs');
  return run.runToEnd(process.execPath, [program, ...ours, ...SHORT, ...options], variables);
}

async function settingsFor(run: KitRun): Promise<Record<string, string>> {
  const hostsFile = join(run.folder, 'hosts');
  const names = Array.from({ length: COLD_HOSTS }, (_, index) => `h${String(index).padStart(3, '0')}`);
  const lines = ['origin', ...names].map((name) => `127.0.0.1 ${name}.bench.test\n`);
  await writeFile(hostsFile, lines.join(''));
  return {
    SALLYPORT_HOSTS_FILE: hostsFile,
    SALLYPORT_OPEN_NETWORKS: '*.bench.test=127.0.0.0/8',
    SALLYPORT_EXTRA_CA: join(run.folder, 'pki', 'ca.crt'),
  };
}

async function tunnelTarget(
  run: KitRun,
  product: Product,
  { http, https }: Origin,
  key: SigningKey,
): Promise<string> {
  const allow = [`origin.bench.test:${https}`, `origin.bench.test:${http}`, `*.bench.test:${https}`];
  const file = await openEnvironment(run, product, key, { name: 'tunnel', allow });
  return `name=egress,url=http://run@${product.proxy},tokens=${file},pid=${product.egressPid}`;
}

/** The same origin with a secret bound to it: its TLS ends at the gate. */
async function interceptionTarget(
  run: KitRun,
  product: Product,
  { https }: Origin,
  key: SigningKey,
): Promise<string> {
  const hosts = [`origin.bench.test:${https}`, `*.bench.test:${https}`];
  await product.call('PUT', '/v1/vaults/bench');
  await product.call('PUT', '/v1/vaults/bench/credentials/secret', {
    kind: 'environment_secret',
    hosts,
    variable: 'BENCH_KEY',
    secret: { value: 'a-secret-of-the-bench' },
  });
  const file = await openEnvironment(run, product, key, {
    name: 'interception',
    allow: hosts,
    credentials: ['bench/secret'],
  });
  const authority = join(run.folder, 'authority.pem');
  await writeFile(authority, await (await fetch(`${product.coreUrl}/authority.pem`)).text());
  const at = `url=http://run@${product.proxy},tokens=${file},pid=${product.egressPid}`;
  return `name=egress-mitm,${at},mode=mitm,ca=${authority}`;
}

/** Makes an environment, and keeps a file of fresh tokens for it. @returns the file */
async function openEnvironment(
  run: KitRun,
  product: Product,
  key: SigningKey,
  {
    name,
    ...policy
  }: { readonly name: string; readonly allow: readonly string[]; readonly credentials?: readonly string[] },
): Promise<string> {
  const environment = await product.call<KitEnvironment>('PUT', `/v1/environments/${name}`, {
    ...policy,
    // The kit's figures are thousands a second; it holds up to 5,000 idle tunnels beside what runs.
    maxConnections: 10_000,
    newPerSecond: 1_000_000,
  });
  const file = tokensOf(run, name);
  const write = (): Promise<void> => writeTokens(file, product.tenantId, environment, key);
  await write();
  const timer = setInterval(() => {
    write().catch((error: unknown) => console.error(`kit: no fresh tokens: ${String(error)}`));
  }, REFRESH_MS);
  run.hold(async () => clearInterval(timer));
  return file;
}

function tokensOf(run: KitRun, environment: string): string {
  return join(run.folder, `tokens-${environment}.txt`);
}

/** The kit's bare proxy as it is nearest to ours: ES256 passwords and names, both remembered for a while. */
async function floorTarget(run: KitRun, kit: string): Promise<string> {
  return `name=floor,${await startFloor(run, kit, 'floor', [])}`;
}

/** The same, ending TLS: what the least Node program takes for an interception. */
async function interceptionFloorTarget(run: KitRun, kit: string): Promise<string> {
  const pki = (name: string): string => join(run.folder, 'pki', name);
  const keys = [
    '--ca-key',
    pki('mitm-ec.key'),
    '--ca-cert',
    pki('mitm-ec.crt'),
    '--origin-ca',
    pki('ca.crt'),
  ];
  const at = await startFloor(run, kit, 'mitm-floor', ['--mitm', ...keys]);
  return `name=mitm-floor,${at},mode=mitm,ca=${pki('mitm-ec.crt')}`;
}

/** It takes whatever the kit's key signed. @returns where it is, for the kit */
async function startFloor(run: KitRun, kit: string, name: string, more: readonly string[]): Promise<string> {
  const port = await freePort();
  const program = join(kit, 'peers/node-floor.mjs');
  const pid = await run.start({
    name,
    // It asks the system for names, which has no origin.bench.test.
    args: ['--import', NAMES, program, ...`--port ${port} --auth jwt-cached --dns cache`.split(' '), ...more],
    variables: { BENCH_WORK: run.folder },
    // Any answer is a yes.
    isReady: async () => (await fetch(`http://127.0.0.1:${port}`)).status > 0,
  });
  return `url=http://run@127.0.0.1:${port},tokens=${tokensOf(run, 'tunnel')},pid=${pid}`;
}

/** Every name is at loopback. */
const NAMES = `data:text/javascript,${encodeURIComponent(
  `import dns from 'node:dns';
   dns.lookup = (_host, options, done = options) =>
     options?.all ? done(null, [{ address: '127.0.0.1', family: 4 }]) : done(null, '127.0.0.1', 4);`,
)}`;

async function importKey(run: KitRun, product: Product): Promise<SigningKey> {
  const read = (name: string): Promise<string> => readFile(join(run.folder, 'pki', name), 'utf8');
  const body = { pem: await read('jwt.pub') };
  const { kid } = await product.call<{ kid: string }>('POST', '/v1/signing-keys/import', body);
  return { kid, privateKey: createPrivateKey(await read('jwt.key')) };
}

/** The kit reads the file before each window, so a new one takes the old one's place in one step. */
async function writeTokens(
  file: string,
  tenantId: string,
  { id, hostEpoch }: KitEnvironment,
  key: SigningKey,
): Promise<void> {
  const claims = { sub: id, hep: hostEpoch, pod: NO_POD };
  const mint = () => mintToken('egress', claims, key, tenantId, new Date());
  const minted = await Promise.all(Array.from({ length: TOKEN_COUNT }, mint));
  await writeFile(`${file}.new`, minted.map(({ token }) => `${token.reveal()}\n`).join(''), { mode: 0o600 });
  await rename(`${file}.new`, file);
}

/** About five minutes with all figures; what the user names comes after it and counts. */
const SHORT = ['--rounds', '3', '--seconds', '1'];
/** Some hundreds, so that remembering tokens is seen to have a price. */
const TOKEN_COUNT = 300;
/** A token lives 15 minutes, a window half a minute at most. */
const REFRESH_MS = 5 * 60_000;
const COLD_HOSTS = 200;

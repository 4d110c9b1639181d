/**
 * The clients kit: real clients through the proxy, first with an egress token of their own, then through the relay of
 * `sallyport run` with the secret of a run. It runs those that are there; the kit's install.sh installs the others.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { trustBundlePem } from '../../certs/bundle.ts';
import { freePort } from '../../core-lite/database/embedded-server.ts';
import { TOKEN_KINDS } from '../../core-lite/tokens/token-kinds.ts';
import type { KitRun } from './kit-run.ts';
import { CLI, type Product, startProduct } from './product.ts';

interface Origin {
  readonly port: number;
  /** The base URL of its control listener. */
  readonly control: string;
  readonly caFile: string;
}

/** @returns the worse of the kit's two exit statuses */
export async function runClients(run: KitRun, dir: string, options: readonly string[]): Promise<number> {
  const kit = join(dir, 'clients');
  const origin = await startOrigin(run, kit);
  const product = await startProduct(run, await settingsFor(run, origin));
  await putEnvironment(product, origin);
  console.error(`kit: clients that are not installed are counted as absent; ${kit}/install.sh installs them`);
  const program = join(kit, 'run.mjs');
  const direct = await runDirect(run, product, origin, [program, ...options]);
  const relayed = await runRelayed(run, product, origin, [program, ...options]);
  if (!options.includes('--out')) console.error(`kit: what each run saw is in ${RESULTS}`);
  return Math.max(direct, relayed);
}

async function startOrigin(run: KitRun, kit: string): Promise<Origin> {
  const dir = join(run.folder, 'origin');
  const [port, controlPort] = [(await canListen(443)) ? 443 : await freePort(), await freePort()];
  const control = `http://127.0.0.1:${controlPort}`;
  await run.start({
    name: 'origin',
    args: [
      join(kit, 'origin.mjs'),
      ...['--dir', dir, '--port', String(port), '--control-port', String(controlPort)],
    ],
    isReady: async () => (await fetch(`${control}/info`)).ok,
  });
  return { port, control, caFile: join(dir, 'origin-ca.crt') };
}

/** Some clients take no other port than 443; binding it needs root or a namespace. */
function canListen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
  });
}

async function settingsFor(run: KitRun, { caFile }: Origin): Promise<Record<string, string>> {
  const hostsFile = join(run.folder, 'hosts');
  const hosts = [INTERCEPTED, TUNNELLED];
  await writeFile(hostsFile, hosts.map((host) => `127.0.0.1 ${host}\n`).join(''));
  return {
    SALLYPORT_HOSTS_FILE: hostsFile,
    SALLYPORT_OPEN_NETWORKS: hosts.map((host) => `${host}=127.0.0.0/8`).join(','),
    SALLYPORT_EXTRA_CA: caFile,
  };
}

async function putEnvironment({ call }: Product, { port }: Origin): Promise<void> {
  const bound = `${INTERCEPTED}:${port}`;
  await call('PUT', '/v1/vaults/clients');
  await call('PUT', '/v1/vaults/clients/credentials/secret', {
    kind: 'environment_secret',
    hosts: [bound],
    variable: 'CLIENTS_SECRET',
    secret: { value: SECRET },
  });
  await call('PUT', `/v1/environments/${ENVIRONMENT}`, {
    allow: [bound, `${TUNNELLED}:${port}`],
    credentials: ['clients/secret'],
  });
}

/** The clients hold the token. */
async function runDirect(
  run: KitRun,
  product: Product,
  origin: Origin,
  program: readonly string[],
): Promise<number> {
  const authority = await (await fetch(`${product.coreUrl}/authority.pem`)).text();
  const bundle = join(run.folder, 'bundle.pem');
  await writeFile(bundle, trustBundlePem(authority, [await readFile(origin.caFile, 'utf8')]));
  const at = `/v1/environments/${ENVIRONMENT}/egress-tokens`;
  const { token } = await product.call<{ token: string }>('POST', at);
  const beganAt = Date.now();
  console.log('\n# with an egress token\n');
  const variables = {
    ...kitVariables(origin, 'direct'),
    PROXY_URL: `http://pod:${token}@${product.proxy}`,
    CA_BUNDLE: bundle,
  };
  const status = await run.runToEnd(process.execPath, program, variables);
  if (Date.now() - beganAt > TOKEN_KINDS.egress.lifetimeS * 1000)
    console.error('kit: this took longer than the token lives: what failed last may have failed for that');
  return status;
}

/** The clients hold the secret of the run; its relay keeps the token fresh. */
function runRelayed(
  run: KitRun,
  { commandLine }: Product,
  origin: Origin,
  program: readonly string[],
): Promise<number> {
  console.log('\n# through the relay of sallyport run\n');
  // The kit makes each client's environment itself, of these two.
  const shell = 'PROXY_URL=$HTTPS_PROXY CA_BUNDLE=$SSL_CERT_FILE exec "$@"';
  const command = ['sh', '-c', shell, 'sh', process.execPath, ...program];
  const variables = { ...commandLine, ...kitVariables(origin, 'relay') };
  return run.runToEnd(process.execPath, [CLI, 'run', '--env', ENVIRONMENT, '--', ...command], variables);
}

/** The kit's options as variables: those that are typed come first. */
function kitVariables({ port, control, caFile }: Origin, name: string): Record<string, string> {
  return {
    INTERCEPTED_URL: `https://${INTERCEPTED}:${port}`,
    TUNNELLED_URL: `https://${TUNNELLED}:${port}`,
    ORIGIN_CONTROL: control,
    ORIGIN_CA: caFile,
    INJECT: `authorization: Bearer ${SECRET}`,
    OUT: join(RESULTS, name),
  };
}

/** The kit's own names and secret. */
const INTERCEPTED = 'api.intercepted.test';
const TUNNELLED = 'plain.tunnelled.test';
const SECRET = 'REAL-SECRET';
const ENVIRONMENT = 'clients';
const RESULTS = join(tmpdir(), 'sallyport-clients');

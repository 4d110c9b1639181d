/**
 * The product as an operator runs it, for a kit: a database of its own, set up, then each service as a process of its
 * own with real settings. Whatever a kit needs beyond that goes through the admin API.
 */
import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { setUp } from '../../cli/set-up.ts';
import { describeConfig, readConfig } from '../../core-lite/config.ts';
import { startTemporary } from '../../core-lite/database/embedded.ts';
import { freePort } from '../../core-lite/database/embedded-server.ts';
import { openDatabase } from '../../core-lite/database/pool.ts';
import { Secret } from '../../core-lite/secret.ts';
import { loadTenantId } from '../../core-lite/state/tenant.ts';
import type { KitRun } from './kit-run.ts';

type Settings = Readonly<Record<string, string>>;

export interface Product {
  /** The owner's. */
  readonly databaseUrl: string;
  readonly tenantId: string;
  readonly coreUrl: string;
  /** `address:port` of the proxy. */
  readonly proxy: string;
  readonly egressPid: number;
  /** Calls the admin API; rejects unless the answer is 2xx. */
  call<T>(method: string, path: string, body?: unknown): Promise<T>;
}

/** An environment, as far as kits use it. */
export interface KitEnvironment {
  readonly id: string;
  readonly hostEpoch: number;
}

/** Resolves when both services serve; `run` ends them. */
export async function startProduct(run: KitRun, settings: Settings): Promise<Product> {
  const database = await startTemporary({ signal: run.signal });
  run.hold(() => database.close());
  const [core, coreObserve, egress, egressObserve] = await freeAddresses();
  const all = {
    ...UNSET,
    DATABASE_URL: database.url,
    SALLYPORT_MASTER_KEY: randomBytes(32).toString('base64'),
    SALLYPORT_CORE_LISTEN: core,
    SALLYPORT_CORE_OBSERVE_LISTEN: coreObserve,
    SALLYPORT_EGRESS_LISTEN: egress,
    SALLYPORT_EGRESS_OBSERVE_LISTEN: egressObserve,
    SALLYPORT_DRAIN: '0s',
    ...settings,
  };
  const { adminKey, tenantId } = await makeInstallation(all);
  const start = (name: string, observe: string): Promise<number> =>
    run.start({
      name,
      args: [CLI, name],
      variables: all,
      isReady: async () => (await fetch(`http://${observe}/ready`)).ok,
    });
  await start('core', coreObserve);
  const egressPid = await start('egress', egressObserve);
  const coreUrl = `http://${core}`;
  const call = callApi(coreUrl, adminKey);
  return { databaseUrl: database.url, tenantId, coreUrl, proxy: egress, egressPid, call };
}

async function makeInstallation(settings: Settings): Promise<{ adminKey: string; tenantId: string }> {
  const config = readConfig(settings);
  const owner = openDatabase(new Secret(settings['DATABASE_URL'] ?? ''), null);
  try {
    const { adminKey } = await setUp(owner, config);
    if (!adminKey) throw new Error('the database was set up before');
    return { adminKey: adminKey.reveal(), tenantId: await loadTenantId(owner) };
  } finally {
    await owner.close();
  }
}

function callApi(base: string, adminKey: string): Product['call'] {
  return async <T>(method: string, path: string, body?: unknown): Promise<T> => {
    const answer = await fetch(base + path, {
      method,
      headers: {
        authorization: `Bearer ${adminKey}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    // The route's own schema is what the caller names.
    return (text === '' ? null : JSON.parse(text)) as T;
  };
}

async function freeAddresses(): Promise<[string, string, string, string]> {
  const free = async (): Promise<string> => `127.0.0.1:${await freePort()}`;
  return [await free(), await free(), await free(), await free()];
}

const CLI = fileURLToPath(new URL('../../cli/main.ts', import.meta.url));
/** None of the settings of whoever runs the kit: an empty one counts as unset. */
const UNSET = Object.fromEntries(describeConfig({}).map(({ name }) => [name, '']));

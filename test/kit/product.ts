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
import { adminApi, type CallApi } from './admin-api.ts';
import type { KitRun } from './kit-run.ts';

export type Settings = Readonly<Record<string, string>>;

export interface Product {
  /** The owner's. */
  readonly databaseUrl: string;
  readonly tenantId: string;
  readonly coreUrl: string;
  readonly adminKey: string;
  /** `address:port` of the proxy. */
  readonly proxy: string;
  readonly egressPid: number;
  readonly gatesUrl: string;
  readonly gatesPid: number;
  /** What the command line is given to find all of it. */
  readonly commandLine: Settings;
  /** Calls the admin API. */
  readonly call: CallApi;
}

/** An environment, as far as kits use it. */
export interface KitEnvironment {
  readonly id: string;
  readonly hostEpoch: number;
}

/** Resolves when all services serve; `run` ends them. */
export async function startProduct(run: KitRun, settings: Settings): Promise<Product> {
  const database = await startTemporary({ signal: run.signal });
  run.hold(() => database.close());
  const addresses = await chooseAddresses();
  const all = {
    ...UNSET,
    DATABASE_URL: database.url,
    SALLYPORT_MASTER_KEY: randomBytes(32).toString('base64'),
    ...addresses,
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
  await start('core', addresses.SALLYPORT_CORE_OBSERVE_LISTEN);
  const egressPid = await start('egress', addresses.SALLYPORT_EGRESS_OBSERVE_LISTEN);
  const gatesPid = await start('gates', addresses.SALLYPORT_GATES_OBSERVE_LISTEN);
  const coreUrl = `http://${addresses.SALLYPORT_CORE_LISTEN}`;
  return {
    databaseUrl: database.url,
    tenantId,
    coreUrl,
    adminKey,
    proxy: addresses.SALLYPORT_EGRESS_LISTEN,
    egressPid,
    gatesUrl: `http://${addresses.SALLYPORT_GATES_LISTEN}`,
    gatesPid,
    commandLine: {
      ...UNSET,
      ...addresses,
      ...settings,
      SALLYPORT_CORE_URL: coreUrl,
      SALLYPORT_ADMIN_KEY: adminKey,
    },
    call: adminApi(coreUrl, adminKey),
  };
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

async function chooseAddresses() {
  const free = async (): Promise<string> => `127.0.0.1:${await freePort()}`;
  return {
    SALLYPORT_CORE_LISTEN: await free(),
    SALLYPORT_CORE_OBSERVE_LISTEN: await free(),
    SALLYPORT_GATES_LISTEN: await free(),
    SALLYPORT_GATES_OBSERVE_LISTEN: await free(),
    SALLYPORT_EGRESS_LISTEN: await free(),
    SALLYPORT_EGRESS_TLS_LISTEN: await free(),
    SALLYPORT_EGRESS_OBSERVE_LISTEN: await free(),
  };
}

/** The command line's program. */
export const CLI = fileURLToPath(new URL('../../cli/sallyport.mjs', import.meta.url));
/** None of the settings of whoever runs the kit: an empty one counts as unset. */
const UNSET = Object.fromEntries(describeConfig({}).map(({ name }) => [name, '']));

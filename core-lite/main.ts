/** Starts core: the admin API, and health and metrics beside it. */
import { collectDefaultMetrics, Registry } from 'prom-client';
import { buildApp } from './api/app.ts';
import { buildObserve } from './api/observe.ts';
import type { Config } from './config.ts';
import { checkSchema } from './database/migrate.ts';
import { type Database, openDatabase } from './database/pool.ts';
import { Fault } from './errors.ts';
import type { Logger } from './log.ts';
import { boundAddress, type Service, translateListenError } from './service.ts';
import { loadTenantId } from './state/tenant.ts';
import { openClassKey } from './vault/class-keys.ts';
import type { Seals } from './vault/credential-store.ts';

/** Rejects with the Fault that keeps it from starting; then nothing is left open. */
export async function startCore(config: Config, log: Logger): Promise<Service> {
  if (!config.databaseUrl) throw new Fault('config_invalid', 'DATABASE_URL is not set');
  const database = openDatabase(config.databaseUrl, 'sallyport_core', { max: config.databaseConnections });
  try {
    return await serve(config, log, database);
  } catch (error) {
    await database.close();
    throw error;
  }
}

async function serve(config: Config, log: Logger, database: Database): Promise<Service> {
  await checkSchema(database);
  const seals = await openSeals(database, config);
  const tenantId = await loadTenantId(database);
  const app = await buildApp({ database, seals, tenantId, now: () => new Date() }, log);
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const observe = buildObserve({ registry, database });
  const close = async (): Promise<void> => {
    await Promise.all([app.close(), observe.close()]);
    await database.close();
  };
  for (const [server, address] of [
    [app, config.coreListen],
    [observe, config.coreObserveListen],
  ] as const) {
    await server.listen(address).catch(async (error: unknown) => {
      await Promise.all([app.close(), observe.close()]);
      throw translateListenError(error, address);
    });
  }
  log.info({ address: config.coreListen }, 'core is ready');
  return { address: boundAddress(app.server, config.coreListen), close };
}

async function openSeals(database: Database, config: Config): Promise<Seals> {
  const [signing, gates, egress] = await Promise.all([
    openClassKey(database, config, 'signing'),
    openClassKey(database, config, 'gates'),
    openClassKey(database, config, 'egress'),
  ]);
  return { signing, gates, egress };
}

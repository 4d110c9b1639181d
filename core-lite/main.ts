/** Starts core: the admin API, and health and metrics beside it. */
import { collectDefaultMetrics, Registry } from 'prom-client';
import { buildApp } from './api/app.ts';
import { buildObserve } from './api/observe.ts';
import type { Config } from './config.ts';
import type { Database } from './database/pool.ts';
import type { Logger } from './log.ts';
import { boundAddress, type Service, translateListenError } from './service.ts';
import { type Base, startService } from './start-service.ts';
import { loadTenantId } from './state/tenant.ts';
import { openClassKey } from './vault/class-keys.ts';
import type { Seals } from './vault/credential-store.ts';

/** Rejects with the Fault that keeps it from starting; then nothing is left open. */
export function startCore(config: Config, log: Logger): Promise<Service> {
  return startService(config, log, 'sallyport_core', serve);
}

async function serve({ config, log, database, hold }: Base): Promise<Service> {
  const seals = await openSeals(database, config);
  const tenantId = await loadTenantId(database);
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const observe = hold(buildObserve({ registry, database }));
  const app = hold(await buildApp({ database, seals, tenantId, now: () => new Date() }, log));
  for (const [server, address] of [
    [app, config.coreListen],
    [observe, config.coreObserveListen],
  ] as const) {
    await server.listen(address).catch((error: unknown) => {
      throw translateListenError(error, address);
    });
  }
  log.info({ address: config.coreListen }, 'core is ready');
  return { address: boundAddress(app.server, config.coreListen), close: () => app.close() };
}

async function openSeals(database: Database, config: Config): Promise<Seals> {
  const [signing, gates, egress] = await Promise.all([
    openClassKey(database, config, 'signing'),
    openClassKey(database, config, 'gates'),
    openClassKey(database, config, 'egress'),
  ]);
  return { signing, gates, egress };
}

/** Starts the gates: the listener for model and tool calls, the change feed they live by, and health and metrics beside them. */
import type { FastifyInstance } from 'fastify';
import { buildObserve } from '../core-lite/api/observe.ts';
import type { Config } from '../core-lite/config.ts';
import { ChangeFeed } from '../core-lite/database/changes.ts';
import { checkSchema } from '../core-lite/database/migrate.ts';
import { type Database, openDatabase } from '../core-lite/database/pool.ts';
import { Fault } from '../core-lite/errors.ts';
import { makeId } from '../core-lite/id.ts';
import type { Logger } from '../core-lite/log.ts';
import { loadExtraRoots } from '../core-lite/network/extra-roots.ts';
import { openResolver } from '../core-lite/network/open-resolver.ts';
import { reportLosses } from '../core-lite/record/losses.ts';
import { UsageLedger } from '../core-lite/record/usage-ledger.ts';
import type { Secret } from '../core-lite/secret.ts';
import { boundAddress, type Service, translateListenError } from '../core-lite/service.ts';
import { TokenCache } from '../core-lite/tokens/token-cache.ts';
import { openClassKey } from '../core-lite/vault/class-keys.ts';
import { GateCredentials } from '../core-lite/vault/gate-credentials.ts';
import { Upstreams } from './act/upstream.ts';
import { Calls } from './calls.ts';
import { Facts } from './facts.ts';
import type { Gate } from './gate.ts';
import { addressHosts, buildListener } from './listen.ts';
import { makeMetrics } from './metrics.ts';
import { Recorder } from './record.ts';
import { addRoutes } from './routes.ts';
import { ToolSchemas } from './tool-schemas.ts';

/** Rejects with the Fault that keeps it from starting; then nothing is left open. */
export async function startGates(config: Config, log: Logger): Promise<Service> {
  const url = config.databaseUrl;
  if (!url) throw new Fault('config_invalid', 'DATABASE_URL is not set');
  const database = openDatabase(url, 'sallyport_gates', { max: config.databaseConnections });
  const parts: Closable[] = [database];
  try {
    await checkSchema(database);
    return await serve(config, log, url, database, parts);
  } catch (error) {
    for (const part of parts.toReversed()) await part.close();
    throw error;
  }
}

interface Closable {
  close(): unknown;
}

/** Builds and starts the parts in the order in which they need each other; they are closed in the opposite one. */
async function serve(
  config: Config,
  log: Logger,
  url: Secret,
  database: Database,
  parts: Closable[],
): Promise<Service> {
  const hold = <Part extends Closable>(part: Part): Part => {
    parts.push(part);
    return part;
  };
  const replica = makeId('rep');
  const now = (): Date => new Date();
  const seal = await openClassKey(database, config, 'gates');
  const extraRoots = await loadExtraRoots(config.extraCa);
  const metrics = makeMetrics(
    () => calls.size,
    () => feed.live,
  );
  const losses = reportLosses(log, (rows) => metrics.lost.inc({ rows }), now);
  const ledger = hold(new UsageLedger(database, replica, losses.of('usage')));
  const resolver = hold(await openResolver(config));
  const feed = hold(new ChangeFeed(config.databaseListenUrl ?? url, 'sallyport_gates', replica));
  const facts = new Facts(database, feed);
  const credentials = new GateCredentials(database, feed, seal);
  const calls = hold(new Calls({ feed, facts, graceMs: config.feedGrace }));
  const { openNetworks, nat64Prefixes } = config;
  const upstreams = hold(new Upstreams({ resolver, openNetworks, nat64Prefixes, extraRoots }));
  const gate: Gate = {
    tokens: new TokenCache('run'),
    facts,
    credentials,
    calls,
    upstreams,
    openNetworks,
    streamIdleMs: config.streamIdle,
    record: new Recorder({ ledger, metrics, logger: log, now }),
    now,
  };
  feed.start();
  const observe = hold(buildObserve({ registry: metrics.registry, database }));
  await observe.listen(config.gatesObserveListen).catch((error: unknown) => {
    throw translateListenError(error, config.gatesObserveListen);
  });
  const app = buildListener({ gate, hosts: [...addressHosts(config.gatesListen), ...config.gatesHosts] });
  addRoutes(app, gate, new ToolSchemas());
  await app.listen({ ...config.gatesListen, backlog: BACKLOG }).catch(async (error: unknown) => {
    await app.close();
    throw translateListenError(error, config.gatesListen);
  });
  const address = boundAddress(app.server, config.gatesListen);
  log.info({ address, replica }, 'gates are ready');
  return { address, close: () => shutDown(app, calls, parts, config.drain, log) };
}

/** No new calls, then a while for the running ones, then all are ended, recorded and let go. */
async function shutDown(
  app: FastifyInstance,
  calls: Calls,
  parts: readonly Closable[],
  drainMs: number,
  log: Logger,
): Promise<void> {
  app.server.close();
  app.server.closeIdleConnections();
  await emptied(calls, drainMs);
  calls.stopAll();
  await emptied(calls, LAST_WAIT_MS);
  app.server.closeAllConnections();
  await app.close();
  for (const part of parts.toReversed()) {
    const left = await part.close();
    if (typeof left === 'number' && left > 0)
      log.error({ rows: left }, 'rows of the ledger could not be written');
  }
}

/** Resolves when no call runs, or after `limitMs`. */
async function emptied(calls: Calls, limitMs: number): Promise<void> {
  const until = Date.now() + limitMs;
  while (calls.size > 0 && Date.now() < until) await new Promise((resolve) => setTimeout(resolve, 20));
}

const LAST_WAIT_MS = 1_000;
/** A fleet reconnects at once after a restart. */
const BACKLOG = 1024;

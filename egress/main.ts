/** Starts egress: the proxy listener, the change feed it lives by, and health and metrics beside it. */
import type { Server } from 'node:http';
import { buildObserve } from '../core-lite/api/observe.ts';
import type { Config } from '../core-lite/config.ts';
import { ChangeFeed } from '../core-lite/database/changes.ts';
import { makeId } from '../core-lite/id.ts';
import type { Logger } from '../core-lite/log.ts';
import { loadExtraRoots } from '../core-lite/network/extra-roots.ts';
import { openResolver } from '../core-lite/network/open-resolver.ts';
import { ConnectionLog } from '../core-lite/record/connection-log.ts';
import { ExchangeLog } from '../core-lite/record/exchange-log.ts';
import { reportLosses } from '../core-lite/record/losses.ts';
import { RefusalCounts } from '../core-lite/record/refusal-counts.ts';
import { boundAddress, type Service, translateListenError } from '../core-lite/service.ts';
import type { ListenAddress } from '../core-lite/setting-kinds.ts';
import { type Base, emptied, startService } from '../core-lite/start-service.ts';
import { openClassKey } from '../core-lite/vault/class-keys.ts';
import { SecretReader } from '../core-lite/vault/secret-reader.ts';
import { Interceptor } from './act/intercept.ts';
import { OriginTls } from './act/secure-origin.ts';
import { Authenticator } from './authenticate.ts';
import { openLeaves } from './authority.ts';
import type { Stop } from './connection.ts';
import { Facts } from './facts.ts';
import type { Gate } from './gate.ts';
import { handleConnect } from './handle-connect.ts';
import { SessionPool } from './http2/session-pool.ts';
import { makeListener } from './listen.ts';
import { makeMetrics } from './metrics.ts';
import { OriginPool } from './origin-pool.ts';
import { Recorder } from './record.ts';
import { Registry } from './registry.ts';

/** Rejects with the Fault that keeps it from starting; then nothing is left open. */
export function startEgress(config: Config, log: Logger): Promise<Service> {
  return startService(config, log, 'sallyport_egress', serve);
}

async function serve({ config, log, url, database, hold }: Base): Promise<Service> {
  const replica = makeId('rep');
  const now = (): Date => new Date();
  const metrics = makeMetrics(
    () => registry.size,
    () => feed.live,
  );
  const losses = reportLosses(log, (rows) => metrics.lost.inc({ rows }), now);
  const connectionLog = hold(new ConnectionLog(database, replica, losses.of('connections')));
  const exchanges = hold(new ExchangeLog(database, losses.of('exchanges')));
  const counts = hold(new RefusalCounts(database, replica, losses.of('refusal_counts')));
  const resolver = hold(await openResolver(config));
  const feed = hold(new ChangeFeed(config.databaseListenUrl ?? url, 'sallyport_egress', replica));
  const facts = new Facts(database, feed);
  const seal = await openClassKey(database, config, 'egress');
  const leaves = await openLeaves(database, seal, feed, log);
  const registry = hold(new Registry({ feed, facts, graceMs: config.feedGrace, now: Date.now }));
  const gate: Gate = {
    authenticator: new Authenticator(),
    facts,
    secrets: new SecretReader(database, feed, seal),
    registry,
    record: new Recorder({ log: connectionLog, exchanges, counts, metrics, logger: log, now }),
    resolver,
    openNetworks: config.openNetworks,
    nat64Prefixes: config.nat64Prefixes,
    interceptor: new Interceptor(leaves, now),
    originTls: new OriginTls(await loadExtraRoots(config.extraCa)),
    pool: hold(new OriginPool()),
    sessions: hold(new SessionPool()),
    tunnelIdleMs: config.tunnelIdle,
    metrics,
    logger: log,
    now,
  };
  feed.start();
  const observe = hold(buildObserve({ registry: metrics.registry, database }));
  await observe.listen(config.egressObserveListen).catch((error: unknown) => {
    throw translateListenError(error, config.egressObserveListen);
  });
  const server = makeListener({
    connect: (arrival) => handleConnect(gate, arrival),
    refused: (source, reason) => gate.record.count(source, null, reason),
  });
  const address = await listen(server, config.egressListen);
  log.info({ address, replica }, 'egress is ready');
  return { address, close: () => shutDown(server, registry, config.drain) };
}

/** No new connections, then a while for the open ones, then all are ended, recorded and let go. */
async function shutDown(server: Server, registry: Registry, drainMs: number): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  server.closeIdleConnections();
  await emptied(registry, drainMs);
  registry.stopAll(SHUT_DOWN);
  await emptied(registry, LAST_WAIT_MS);
  server.closeAllConnections();
  await closed;
}

function listen(server: Server, address: ListenAddress): Promise<ListenAddress> {
  return new Promise((resolve, reject) => {
    server.once('error', (error) => reject(translateListenError(error, address)));
    server.listen({ ...address, backlog: BACKLOG }, () => {
      server.removeAllListeners('error');
      resolve(boundAddress(server, address));
    });
  });
}

const SHUT_DOWN: Stop = { refusal: 'shutting_down', ending: 'shutting_down' };
const LAST_WAIT_MS = 1_000;
/** A fleet reconnects at once after a restart. */
const BACKLOG = 1024;

/** Starts egress: the proxy listener, the change feed it lives by, and health and metrics beside it. */
import { buildObserve } from '../core-lite/api/observe.ts';
import { type Config, processVariables } from '../core-lite/config.ts';
import { ChangeFeed } from '../core-lite/database/changes.ts';
import { makeId } from '../core-lite/id.ts';
import type { Logger } from '../core-lite/log.ts';
import { loadExtraRoots } from '../core-lite/network/extra-roots.ts';
import { openResolver } from '../core-lite/network/open-resolver.ts';
import { formatParentProxy } from '../core-lite/network/parent-proxy.ts';
import type { Resolver } from '../core-lite/network/resolve.ts';
import type { RefusalReason } from '../core-lite/reasons.ts';
import { ConnectionLog } from '../core-lite/record/connection-log.ts';
import { ExchangeLog } from '../core-lite/record/exchange-log.ts';
import { reportLosses } from '../core-lite/record/losses.ts';
import { RefusalCounts } from '../core-lite/record/refusal-counts.ts';
import { type Service, translateListenError } from '../core-lite/service.ts';
import type { ListenAddress } from '../core-lite/setting-kinds.ts';
import { type Base, emptied, startService } from '../core-lite/start-service.ts';
import { openClassKey } from '../core-lite/vault/class-keys.ts';
import { OauthTokens } from '../core-lite/vault/oauth-tokens.ts';
import { openOperatorValues } from '../core-lite/vault/operator-values.ts';
import { SecretReader } from '../core-lite/vault/secret-reader.ts';
import { Interceptor } from './act/intercept.ts';
import { OriginTls } from './act/secure-origin.ts';
import { Authenticator } from './authenticate.ts';
import { openLeaves } from './authority.ts';
import type { Stop } from './connection.ts';
import { Facts } from './facts.ts';
import type { Arrival, Gate } from './gate.ts';
import { handleConnect } from './handle-connect.ts';
import { handlePlain, type PlainArrival } from './handle-plain.ts';
import { SessionPool } from './http2/session-pool.ts';
import { Listener } from './listen.ts';
import { ListenerTls } from './listener-tls.ts';
import { makeMetrics } from './metrics.ts';
import { makeTokenSender } from './oauth-send.ts';
import { OriginPool } from './origin-pool.ts';
import { Parent } from './parent/parent.ts';
import { Recorder } from './record.ts';
import { Registry } from './registry.ts';

export interface EgressService extends Service {
  /** Where it listens in TLS. */
  readonly tlsAddress: ListenAddress;
}

/** Rejects with the Fault that keeps it from starting; then nothing is left open. */
export function startEgress(config: Config, log: Logger): Promise<EgressService> {
  return startService(config, log, 'sallyport_egress', serve);
}

async function serve({ config, log, url, database, hold }: Base): Promise<EgressService> {
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
  const values = await openOperatorValues(config, processVariables(), seal.derive('value digests'));
  const leaves = await openLeaves(database, seal, feed, log);
  const registry = hold(new Registry({ feed, facts, graceMs: config.feedGrace, now: Date.now }));
  const extraRoots = await loadExtraRoots(config.extraCa);
  const { openNetworks, nat64Prefixes } = config;
  const originTls = new OriginTls(extraRoots);
  const parent = openParent(config, resolver, extraRoots, log);
  const send = makeTokenSender({ resolver, openNetworks, nat64Prefixes, originTls, parent });
  const tokens = hold(new OauthTokens({ database, feed, seal, send, log, now: () => performance.now() }));
  const gate: Gate = {
    authenticator: new Authenticator(),
    facts,
    secrets: new SecretReader(database, feed, seal, { operator: values, tokens }),
    registry,
    record: new Recorder({ log: connectionLog, exchanges, counts, metrics, logger: log, now }),
    resolver,
    openNetworks,
    nat64Prefixes,
    interceptor: new Interceptor(leaves, now),
    originTls,
    pool: hold(new OriginPool()),
    sessions: hold(new SessionPool()),
    parent,
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
  const listener = hold(makeListener(gate));
  const tls = hold(await ListenerTls.open(config, leaves, log, now));
  const tlsListener = hold(makeListener(gate, tls));
  const tlsAddress = await tlsListener.listen(config.egressTlsListen);
  const address = await listener.listen(config.egressListen);
  log.info({ address, tlsAddress, replica }, 'egress is ready');
  return { address, tlsAddress, close: () => shutDown([listener, tlsListener], registry, config.drain) };
}

function makeListener(gate: Gate, tls?: ListenerTls): Listener {
  const handlers = {
    connect: (arrival: Arrival) => handleConnect(gate, arrival),
    plain: (arrival: PlainArrival) => handlePlain(gate, arrival),
    refused: (source: string, reason: RefusalReason) => gate.record.count(source, null, reason),
  };
  const failed = (error: Error) => gate.logger.error({ err: error }, 'a client could not be accepted');
  return new Listener(handlers, failed, tls?.server);
}

function openParent(
  { parentProxy: proxy }: Config,
  resolver: Resolver,
  extraRoots: readonly string[],
  log: Logger,
): Parent | null {
  if (!proxy) return null;
  log.info(
    { parent: formatParentProxy(proxy) },
    'names are looked up by the parent proxy: no address is judged',
  );
  return new Parent({ proxy, resolver, extraRoots });
}

/** No new connections, then a while for the open ones, then all are ended, recorded and let go. */
async function shutDown(listeners: readonly Listener[], registry: Registry, drainMs: number): Promise<void> {
  for (const listener of listeners) listener.drain();
  await emptied(registry, drainMs);
  registry.stopAll(SHUT_DOWN);
  await emptied(registry, LAST_WAIT_MS);
  for (const listener of listeners) await listener.close();
}

const SHUT_DOWN: Stop = { refusal: 'shutting_down', ending: 'shutting_down' };
const LAST_WAIT_MS = 1_000;

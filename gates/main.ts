/** Starts the gates: the listener for model and tool calls, the change feed they live by, and health and metrics beside them. */
import type { FastifyInstance } from 'fastify';
import { buildObserve } from '../core-lite/api/observe.ts';
import type { Config } from '../core-lite/config.ts';
import { ChangeFeed } from '../core-lite/database/changes.ts';
import type { Logger } from '../core-lite/log.ts';
import { loadExtraRoots } from '../core-lite/network/extra-roots.ts';
import { openResolver } from '../core-lite/network/open-resolver.ts';
import { CallStarts } from '../core-lite/record/call-starts.ts';
import { reportLosses } from '../core-lite/record/losses.ts';
import { Replica } from '../core-lite/record/replica.ts';
import { nameReplica } from '../core-lite/record/replica-name.ts';
import { tendBudgets } from '../core-lite/record/tend-budgets.ts';
import { UsageLedger } from '../core-lite/record/usage-ledger.ts';
import { boundAddress, type Service, translateListenError } from '../core-lite/service.ts';
import { type Base, emptied, startService } from '../core-lite/start-service.ts';
import { TokenCache } from '../core-lite/tokens/token-cache.ts';
import { openClassKey } from '../core-lite/vault/class-keys.ts';
import { GateCredentials } from '../core-lite/vault/gate-credentials.ts';
import { Upstreams } from './act/upstream.ts';
import { BodyRoom } from './body-room.ts';
import { Calls } from './calls.ts';
import { DecodePlaces } from './decode-places.ts';
import { Facts } from './facts.ts';
import type { Gate } from './gate.ts';
import { addressHosts, buildListener } from './listen.ts';
import { makeMetrics } from './metrics.ts';
import { Recorder } from './record.ts';
import { addRoutes } from './routes.ts';
import { Starter } from './start.ts';
import { ToolSchemas } from './tool-schemas.ts';

/** Rejects with the Fault that keeps it from starting; then nothing is left open. */
export function startGates(config: Config, log: Logger): Promise<Service> {
  return startService(config, log, 'sallyport_gates', serve);
}

async function serve({ config, log, url, database, hold }: Base): Promise<Service> {
  const name = nameReplica();
  const { id: replica } = name;
  const now = (): Date => new Date();
  const seal = await openClassKey(database, config, 'gates');
  const extraRoots = await loadExtraRoots(config.extraCa);
  const metrics = makeMetrics(
    () => calls.size,
    () => feed.live,
  );
  const losses = reportLosses(log, (rows) => metrics.lost.inc({ rows }), now);
  // Before the ledger: it leaves when every row is written.
  const presence = hold(
    new Replica({
      db: database,
      name,
      service: 'gates',
      onDeath: () => {
        log.warn({ replica }, 'others took this gate for dead: its calls end');
        calls.stopRunning('facts_unavailable');
      },
      tend: () => tendBudgets(database, replica),
      onFailure: (error) => log.warn({ err: error }, 'the heartbeat failed'),
    }),
  );
  const starts = hold(new CallStarts(database, name));
  const ledger = hold(new UsageLedger(database, name, losses.of('usage')));
  const resolver = hold(await openResolver(config));
  const feed = hold(new ChangeFeed(config.databaseListenUrl ?? url, 'sallyport_gates', replica));
  const facts = new Facts(database, feed);
  const credentials = new GateCredentials(database, feed, seal);
  const calls = hold(new Calls({ feed, facts, graceMs: config.feedGrace }));
  const { openNetworks, nat64Prefixes } = config;
  const upstreams = hold(new Upstreams({ resolver, openNetworks, nat64Prefixes, extraRoots }));
  const record = new Recorder({ ledger, metrics, logger: log, now });
  const gate: Gate = {
    tokens: new TokenCache('run'),
    facts,
    credentials,
    calls,
    room: new BodyRoom(),
    decoding: new DecodePlaces(),
    upstreams,
    openNetworks,
    streamIdleMs: config.streamIdle,
    starter: new Starter({ starts, ledger, now, onFailure: record.failure }),
    record,
    now,
  };
  await presence.start();
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
  return { address, close: () => shutDown(app, calls, config.drain) };
}

/** No new calls, then a while for the running ones, then all are ended, recorded and let go. */
async function shutDown(app: FastifyInstance, calls: Calls, drainMs: number): Promise<void> {
  app.server.close();
  app.server.closeIdleConnections();
  await emptied(calls, drainMs);
  calls.stopAll();
  await emptied(calls, LAST_WAIT_MS);
  app.server.closeAllConnections();
  await app.close();
}

const LAST_WAIT_MS = 1_000;
/** A fleet reconnects at once after a restart. */
const BACKLOG = 1024;

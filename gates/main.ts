/** Starts the gates: the listener for model and tool calls, the change feed they live by, and health and metrics beside them. */
import type { FastifyInstance } from 'fastify';
import { buildObserve } from '../core-lite/api/observe.ts';
import type { Config } from '../core-lite/config.ts';
import { ChangeFeed } from '../core-lite/database/changes.ts';
import type { Logger } from '../core-lite/log.ts';
import { loadExtraRoots } from '../core-lite/network/extra-roots.ts';
import { openResolver } from '../core-lite/network/open-resolver.ts';
import { CallStarts } from '../core-lite/record/call-starts.ts';
import { Crossings } from '../core-lite/record/crossings.ts';
import { reportLosses } from '../core-lite/record/losses.ts';
import { Replica } from '../core-lite/record/replica.ts';
import { nameReplica, type ReplicaName } from '../core-lite/record/replica-name.ts';
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
import { Crosser } from './cross.ts';
import { CrossingRecord } from './crossing/record.ts';
import { DecodePlaces } from './decode-places.ts';
import { Facts } from './facts.ts';
import type { Gate } from './gate.ts';
import { addressHosts, answeredNames, buildListener } from './listen.ts';
import { addAllMcpRoutes, type Mcp, openMcp } from './mcp/open-mcp.ts';
import { openMcpServers } from './mcp/upstream/open-servers.ts';
import { makeMetrics } from './metrics.ts';
import { Recorder } from './record.ts';
import { addRoutes } from './routes.ts';
import { Starter } from './start.ts';
import { ToolSchemas } from './tool-schemas.ts';

/** Rejects with the Fault that keeps it from starting; then nothing is left open. */
export function startGates(config: Config, log: Logger): Promise<Service> {
  return startService(config, log, 'sallyport_gates', serve);
}

async function serve(base: Base): Promise<Service> {
  const { config, log, url, database, hold } = base;
  const name = nameReplica();
  const { id: replica } = name;
  const now = (): Date => new Date();
  const seal = await openClassKey(database, config, 'gates');
  const extraRoots = await loadExtraRoots(config.extraCa);
  const running = (): number => calls.size + crosser.size;
  const metrics = makeMetrics(running, () => feed.live);
  const losses = reportLosses(log, (rows) => metrics.lost.inc({ rows }), now);
  // Before the ledger: it leaves when every row is written.
  const presence = hold(
    openPresence(base, name, {
      onDeath: () => calls.stopRunning('facts_unavailable'),
      tend: () => crosser.tend().then(() => mcpServers.sweep()),
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
  const mcpServers = hold(openMcpServers({ database, seal, feed, facts, upstreams, log, now }));
  const record = new Recorder({ ledger, metrics, logger: log, now });
  const room = new BodyRoom();
  const crossings = new Crossings(database, name, seal);
  const crossingRecord = new CrossingRecord(metrics.registry, log);
  const crosser = hold(new Crosser({ crossings, facts, room, record: crossingRecord }));
  const gate: Gate = {
    tokens: new TokenCache('run'),
    serviceTokens: new TokenCache('service'),
    facts,
    credentials,
    calls,
    room,
    decoding: new DecodePlaces(),
    upstreams,
    mcpServers,
    openNetworks,
    streamIdleMs: config.streamIdle,
    starter: new Starter({ starts, ledger, now, onFailure: record.failure }),
    crossings,
    crosser,
    record,
    now,
  };
  await presence.start();
  feed.start();
  const observe = hold(buildObserve({ registry: metrics.registry, database }));
  await observe.listen(config.gatesObserveListen).catch((error: unknown) => {
    throw translateListenError(error, config.gatesObserveListen);
  });
  const mcp = hold(openMcp({ gate, database, feed, seal, replica }));
  const app = buildApp(config, gate, mcp);
  await app.listen({ ...config.gatesListen, backlog: BACKLOG }).catch(async (error: unknown) => {
    await app.close();
    throw translateListenError(error, config.gatesListen);
  });
  const address = boundAddress(app.server, config.gatesListen);
  log.info({ address, replica }, 'gates are ready');
  return { address, close: () => shutDown(app, [calls, crosser], config.drain, () => mcp.endStreams()) };
}

function buildApp(config: Config, gate: Gate, mcp: Mcp): FastifyInstance {
  const hosts = [...addressHosts(config.gatesListen), ...config.gatesHosts];
  const app = buildListener({ gate, hosts });
  addRoutes(app, gate, new ToolSchemas());
  addAllMcpRoutes(app, gate, mcp, answeredNames(hosts));
  return app;
}

/** Is heard, and does with each heartbeat what the gates do for one another. */
function openPresence(
  { log, database }: Base,
  name: ReplicaName,
  { onDeath, tend }: { readonly onDeath: () => void; readonly tend: () => Promise<void> },
): Replica {
  return new Replica({
    db: database,
    name,
    service: 'gates',
    onDeath: () => {
      log.warn({ replica: name.id }, 'others took this gate for dead: its calls end');
      onDeath();
    },
    tend: async () => {
      await tendBudgets(database, name.id);
      await tend();
    },
    onFailure: (error) => log.warn({ err: error }, 'the heartbeat failed'),
  });
}

/** No new calls, then a while for the running ones, then all are ended, recorded and let go. */
async function shutDown(
  app: FastifyInstance,
  parts: readonly { readonly size: number; stopAll(): void }[],
  drainMs: number,
  endStreams: () => void,
): Promise<void> {
  const running = {
    get size() {
      return parts.reduce((sum, { size }) => sum + size, 0);
    },
  };
  app.server.close();
  app.server.closeIdleConnections();
  endStreams();
  await emptied(running, drainMs);
  for (const part of parts) part.stopAll();
  await emptied(running, LAST_WAIT_MS);
  app.server.closeAllConnections();
  await app.close();
}

const LAST_WAIT_MS = 1_000;
/** A fleet reconnects at once after a restart. */
const BACKLOG = 1024;

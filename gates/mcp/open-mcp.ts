/** MCP at the gates, put together: clients on one side, the session's servers on the other. */
import type { FastifyInstance } from 'fastify';
import type { ChangeFeed } from '../../core-lite/database/changes.ts';
import type { Queryable } from '../../core-lite/database/pool.ts';
import { McpTools } from '../../core-lite/record/mcp-tools.ts';
import type { SealKey } from '../../core-lite/vault/seal.ts';
import type { Gate } from '../gate.ts';
import { type McpDownstream, makeDownstream } from './downstream/downstream.ts';
import { addMcpRoutes } from './downstream/routes.ts';
import { DatabaseSessionStore } from './downstream/session-store.ts';
import { addKeyedRoutes } from './keyed/routes.ts';
import { DatabaseLetters } from './letters.ts';
import { DeclaredServers } from './middle/declared-servers.ts';
import { ServersWay } from './middle/servers-way.ts';

export interface McpOptions {
  readonly gate: Gate;
  readonly database: Queryable;
  readonly feed: ChangeFeed;
  /** The class key `gates`. */
  readonly seal: SealKey;
  /** This gate's name among all. */
  readonly replica: string;
}

export interface Mcp {
  readonly down: McpDownstream;
  readonly servers: DeclaredServers;
  /** Ends what has no end of its own, so that nobody waits for it when the gate shuts down. */
  endStreams(): void;
  close(): void;
}

export function openMcp({ gate, database, feed, seal, replica }: McpOptions): Mcp {
  const { failure: onFailure } = gate.record;
  const servers = new DeclaredServers(gate, new McpTools(database));
  const down = makeDownstream({
    ...{ gate, seal, replica },
    way: new ServersWay(gate, servers),
    letters: new DatabaseLetters({ db: database, feed, seal, replica, onFailure }),
    store: new DatabaseSessionStore(database, seal),
  });
  return { down, servers, endStreams: () => down.endStreams(), close: () => down.close() };
}

/** @param names the hosts that we answer to */
export function addAllMcpRoutes(
  app: FastifyInstance,
  gate: Gate,
  { down, servers }: Mcp,
  names: ReadonlySet<string>,
): void {
  addMcpRoutes(app, gate, down, names);
  addKeyedRoutes(app, gate, servers);
}

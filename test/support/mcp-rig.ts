/** Connections to MCP servers as the gates hold them, on a real database, with servers of the test's on loopback. */

import { ChangeFeed } from '../../core-lite/database/changes.ts';
import { type Database, openDatabase } from '../../core-lite/database/pool.ts';
import { Allow } from '../../core-lite/decision.ts';
import { parseOpenNetworks } from '../../core-lite/network/open-network.ts';
import { Resolver } from '../../core-lite/network/resolve.ts';
import { parseUpstreamUrl, UpstreamUrl } from '../../core-lite/network/upstream-url.ts';
import { McpUpstreams } from '../../core-lite/record/mcp-upstreams.ts';
import { Secret } from '../../core-lite/secret.ts';
import { openClassKey } from '../../core-lite/vault/class-keys.ts';
import type { GateCredential } from '../../core-lite/vault/gate-credentials.ts';
import { Upstreams } from '../../gates/act/upstream.ts';
import type { Answer, JsonObject } from '../../gates/mcp/messages.ts';
import type { Failed } from '../../gates/mcp/upstream/failures.ts';
import type { Asked, FindReach, UpstreamServer, Way } from '../../gates/mcp/upstream/server.ts';
import { type ServerPlace, UpstreamServers } from '../../gates/mcp/upstream/servers.ts';
import { startWorld, type World } from './world.ts';

export interface McpRig {
  readonly world: World;
  /** What the connections of all replicas take for the time; `null` for the real one. */
  at: Date | null;
  readonly database: Database;
  /** A session's id. */
  session(): Promise<string>;
  /** Another process's connections, let go after `idleMs`. */
  replica(idleMs?: number): Promise<UpstreamServers>;
  close(): Promise<void>;
}

export async function startMcpRig(hosts: readonly string[]): Promise<McpRig> {
  const world = await startWorld();
  const url = new Secret(world.databaseUrl);
  const database = openDatabase(url, 'sallyport_gates');
  const seal = await openClassKey(database, world.config, 'gates');
  const closers: (() => Promise<void> | void)[] = [];
  const rig: McpRig = {
    world,
    at: null,
    database,
    session: async () => (await world.call<{ id: string }>('POST', '/v1/sessions', { agent: 'tester' })).id,
    replica: async (idleMs = 900_000) => {
      const feed = new ChangeFeed(url, 'sallyport_gates', 'test');
      feed.start();
      const resolver = new Resolver({
        hosts: new Map(hosts.map((host) => [host, ['127.0.0.1']])),
        now: () => performance.now(),
      });
      const { networks: openNetworks } = parseOpenNetworks(
        hosts.map((host) => `${host}=127.0.0.0/8`).join(','),
      );
      const upstreams = new Upstreams({ resolver, openNetworks, nat64Prefixes: [], extraRoots: [] });
      const servers = new UpstreamServers({
        upstreams,
        records: new McpUpstreams(database, seal),
        feed,
        now: () => rig.at ?? new Date(),
        idleMs,
        hasEnded: async (id) => {
          const [row] = await database.query<{ over: boolean }>(
            'SELECT ended_at IS NOT NULL AS over FROM sessions WHERE id = $1',
            [id],
          );
          return row?.over ?? true;
        },
        onFailure: (error) => {
          throw error;
        },
      });
      closers.push(async () => {
        servers.close();
        await upstreams.close();
        resolver.close();
        await feed.close();
      });
      return servers;
    },
    close: async () => {
      for (const close of closers) await close();
      await database.close();
      await world.close();
    },
  };
  return rig;
}

export function declare(url: string, more: Partial<ServerPlace> = {}): ServerPlace {
  return {
    url,
    via: null,
    transport: 'auto',
    stateless: false,
    timeoutMs: 10_000,
    resultBytes: 1024 * 1024,
    onLargeResult: 'error',
    ...more,
  };
}

export function reaching(url: string, token: string | null = null): FindReach {
  const parsed = parseUpstreamUrl(url);
  if (!(parsed instanceof UpstreamUrl)) throw new Error(parsed);
  const credentials = token === null ? [] : [{ name: 'test/tool', credential: bearer(token) }];
  return () => Promise.resolve({ proof: new Allow('declared'), url: parsed, credentials });
}

function bearer(token: string): GateCredential {
  return {
    id: `crd_${token}`,
    version: 1,
    kind: 'bearer',
    hosts: [],
    user: null,
    parts: { value: new Secret(token) },
  };
}

export async function openServer(
  servers: UpstreamServers,
  sessionId: string,
  server: ServerPlace,
  as: TryAs = {},
): Promise<UpstreamServer> {
  const opened = await tryServer(servers, sessionId, server, as);
  if ('failure' in opened) throw new Error(JSON.stringify(opened));
  return opened;
}

export function tryServer(
  servers: UpstreamServers,
  sessionId: string,
  server: ServerPlace,
  { token = null, capabilities = {}, find }: TryAs = {},
): Promise<UpstreamServer | Failed> {
  return servers.open({
    place: { sessionId, server: 'one' },
    server,
    find: find ?? reaching((server.via ?? server).url, token),
    client: { info: { name: 'agent', version: '7' }, capabilities },
    signal: AbortSignal.timeout(20_000),
  });
}

interface TryAs {
  readonly token?: string | null;
  readonly capabilities?: JsonObject;
  readonly find?: FindReach;
}

export interface Heard {
  readonly progress: JsonObject[];
  readonly logs: JsonObject[];
  readonly requests: { readonly method: string; readonly params: JsonObject }[];
}

/** Asks, and notes what comes beside the answer. */
export async function askServer(
  server: UpstreamServer,
  asked: Partial<Asked> & { readonly method: string },
  way: Partial<Way> & { readonly heard?: Heard } = {},
): Promise<Answer | Failed> {
  const meta = {
    client: { info: { name: 'agent', version: '7' }, capabilities: { elicitation: {} } },
    logLevel: null,
    wantsProgress: false,
    rest: {},
    ...asked.meta,
  };
  const { heard, ...rest } = way;
  return server.request(
    { params: {}, ...asked, meta },
    {
      signal: new AbortController().signal,
      onProgress: (said) => heard?.progress.push(said),
      onLog: (said) => heard?.logs.push(said),
      onRequest: async (request) => {
        heard?.requests.push(request);
        return { result: { action: 'accept', content: { a: 'this' } } };
      },
      ...rest,
    },
  );
}

export function callTool(
  server: UpstreamServer,
  name: string,
  args: JsonObject = {},
  way: Parameters<typeof askServer>[2] = {},
): Promise<Answer | Failed> {
  return askServer(server, { method: 'tools/call', params: { name, arguments: args } }, way);
}

/**
 * Clients that nobody changed, each with a server behind a gate that is a process of its own, for the tests of what
 * happens to them when the gate or a server starts anew between two calls.
 */
import { startTestGates, type TestGates, type TestRun } from './gates.ts';
import { connectMcp, type McpTestClient } from './mcp-clients.ts';
import { type McpTestServer, startMcpServer } from './mcp-servers.ts';
import { type Program, startProgram } from './process.ts';

export const CLIENTS = ['v1', 'v2', 'modern'] as const;
const KINDS = ['stateful', 'stateless', 'modern'] as const;

export interface RestartStand {
  readonly gates: TestGates;
  readonly run: TestRun;
  readonly servers: ReadonlyMap<string, McpTestServer>;
  /** The gate's process; `port` 0 for a free one. */
  startGate(port: number): Promise<{ readonly program: Program; readonly port: number }>;
  close(): Promise<void>;
}

/** The server `forgetful` keeps sessions, and is declared to keep nothing that counts. */
export async function startRestartStand(): Promise<RestartStand> {
  const servers = new Map<string, McpTestServer>();
  for (const kind of KINDS) servers.set(kind, await startMcpServer(`${kind}.test`, kind));
  servers.set('forgetful', await startMcpServer('forgetful.test', 'stateful'));
  const places = [...servers.values()].map(({ host, port }) => ({ host, port, caPem: null }));
  const opened = places.map(({ host, port }) => `${host}:${port}=127.0.0.0/8`);
  const gates = await startTestGates(places, { SALLYPORT_OPEN_NETWORKS: opened.join(',') });
  const declared = [...servers].map(([name, { url }]) => [name, { url, stateless: name === 'forgetful' }]);
  return {
    gates,
    servers,
    run: await gates.run({ mcpServers: Object.fromEntries(declared) }),
    startGate: async (port) => {
      const listen = { SALLYPORT_GATES_LISTEN: `127.0.0.1:${port}` };
      const program = startProgram(['cli/sallyport.mjs', 'gates'], { ...gates.world.settings, ...listen });
      const [line] = await program.said(/\{[^\n]*"gates are ready"[^\n]*/);
      return { program, port: (JSON.parse(line) as { address: { port: number } }).address.port };
    },
    close: async () => {
      await gates.close();
      for (const server of servers.values()) await server.close();
    },
  };
}

/**
 * Every client calls every server; the gate is killed, or told to end, between two calls and started again.
 * @returns how often each server's tools ran
 */
export async function callAcrossGates(
  stand: RestartStand,
  plan: RestartPlan,
): Promise<ReadonlyMap<string, number>> {
  let gate = await stand.startGate(0);
  const { port } = gate;
  const before = new Map(KINDS.map((kind) => [kind, stand.servers.get(kind)?.done.length ?? 0]));
  const clients = await Promise.all(
    CLIENTS.flatMap((kind) =>
      KINDS.map((server) => connectMcp(kind, port, `/mcp/${server}`, stand.run.token)),
    ),
  );
  try {
    await callAcross(clients, plan, async (count) => {
      await gate.program.end(count % 2 === 0 ? 'SIGKILL' : 'SIGTERM');
      gate = await stand.startGate(port);
    });
    const ran = KINDS.map((kind) => (stand.servers.get(kind)?.done.length ?? 0) - (before.get(kind) ?? 0));
    return new Map(KINDS.map((kind, i) => [kind, ran[i] ?? 0]));
  } finally {
    for (const client of clients) await client.close().catch(() => {});
    await gate.program.end('SIGKILL');
  }
}

export interface RestartPlan {
  /** Of each client. */
  readonly calls: number;
  readonly restarts: number;
}

/** Rejects where a call fails or is answered with something else. Between some calls, evenly, all wait for a restart. */
export async function callAcross(
  clients: readonly McpTestClient[],
  { calls, restarts }: RestartPlan,
  restart: (count: number) => Promise<void>,
): Promise<void> {
  let count = 0;
  for (let i = 1; i <= calls; i += 1) {
    const answers = await Promise.all(clients.map(({ call }) => call('echo', { i })));
    for (const { content } of answers) {
      const said = JSON.parse(content[0]?.text ?? '') as { readonly arguments?: { readonly i?: number } };
      if (said.arguments?.i !== i) throw new Error(`call ${i} was answered with ${content[0]?.text}`);
    }
    // Some calls come after the last.
    if (i % Math.ceil(calls / (restarts + 1)) !== 0 || count === restarts) continue;
    await restart(count);
    count += 1;
  }
  if (count !== restarts) throw new Error(`${count} restarts, not ${restarts}`);
}

/** What the suite is run against: a gate with a real database, and conformance servers of each era behind it. */
import { fileURLToPath } from 'node:url';
import { startTestGates, type TestGates } from '../support/gates.ts';
import { startMcpServer } from '../support/mcp-servers.ts';
import { type ConformanceServer, ERAS, type ServedEra, startConformanceServer } from './server/serve.ts';
import { type Shim, startShim } from './shim.ts';

export interface Stand {
  readonly gates: TestGates;
  readonly servers: Readonly<Record<ServedEra, ConformanceServer>>;
  /** The URL of a server for the suite: itself, or through the gate. */
  url(way: 'direct' | 'gate', era: ServedEra): string;
  /** The server of both eras beside another one, as one. */
  readonly mergedUrl: string;
  /** Starts a client of the suite, which makes a session of its own for the server that it is given. */
  readonly clientCommand: string;
  clientVariables(way: 'direct' | 'gate'): Readonly<Record<string, string>>;
  close(): Promise<void>;
}

export async function startStand(): Promise<Stand> {
  const [dual, legacy, modern] = await Promise.all(
    ERAS.map((era) => startConformanceServer(era, `${era}.test`)),
  );
  if (!dual || !legacy || !modern) throw new Error('an era has no server');
  const servers = { dual, legacy, modern };
  const beside = await startMcpServer('beside.test', 'stateful');
  const hosts = [...Object.values(servers), beside, SUITE];
  const opened = hosts.map(({ host, port }) => `${host}${port === 0 ? '' : `:${port}`}=127.0.0.0/8`);
  const gates = await startTestGates(
    hosts.map((each) => ({ ...each, caPem: null })),
    { SALLYPORT_OPEN_NETWORKS: opened.join(',') },
  );
  const declared = Object.entries(servers).map(([era, { url }]) => [era, { url, allow: EVERYTHING }]);
  const { token } = await gates.run({ mcpServers: Object.fromEntries(declared) });
  const { port } = gates.gates.address;
  const shim: Shim = await startShim(port, token);
  const two = { dual: { url: dual.url, allow: EVERYTHING }, beside: { url: beside.url } };
  const merged: Shim = await startShim(port, (await gates.run({ mcpServers: two })).token);
  return {
    gates,
    servers,
    url: (way, era) => (way === 'direct' ? servers[era].directUrl : shim.url(`/mcp/${era}`)),
    mergedUrl: merged.url('/mcp'),
    clientCommand: `${process.execPath} ${fileURLToPath(new URL('client.ts', import.meta.url))}`,
    clientVariables: (way) =>
      way === 'direct'
        ? {}
        : {
            CORE_URL: `http://127.0.0.1:${gates.world.core.address.port}`,
            ADMIN_KEY: gates.world.adminKey,
            GATES_URL: `http://127.0.0.1:${port}`,
          },
    close: async () => {
      await shim.close();
      await merged.close();
      await gates.close();
      await beside.close();
      for (const server of Object.values(servers)) await server.close();
    },
  };
}

/** What a session lets its server ask, all of it. */
const EVERYTHING = { sampling: true, elicitation: true, roots: true };
/** Where the suite's own servers are, whatever their port. */
const SUITE = { host: 'localhost', port: 0 };

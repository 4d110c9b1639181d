/** MCP through the real gates: official clients of each era on one side, official servers of each era on the other. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestGates, type TestGates, type TestRun } from '../support/gates.ts';
import { connectMcp, type McpTestClient } from '../support/mcp-clients.ts';
import { type McpTestServer, startMcpServer } from '../support/mcp-servers.ts';

const KINDS = ['modern', 'stateful', 'stateless', 'sse'] as const;
const CLIENTS = ['v1', 'v2', 'modern'] as const;
const HUB_KEY = 'hub-canary-77aa01f2';
const TOKEN = 'mcp-canary-2f6d01c8';
const servers: Record<string, McpTestServer> = {};
let gates: TestGates;
let run: TestRun;

beforeAll(async () => {
  for (const kind of KINDS) servers[kind] = await startMcpServer(`${kind}.test`, kind);
  const places = Object.values(servers).map(({ host, port }) => ({ host, port, caPem: null }));
  const dead = { host: 'dead.test', port: 1, caPem: null };
  const opened = [...places, dead].map(({ host, port }) => `${host}:${port}=127.0.0.0/8`);
  gates = await startTestGates([...places, dead], { SALLYPORT_OPEN_NETWORKS: opened.join(',') });
  const { world } = gates;
  await world.call('PUT', '/v1/vaults/test');
  const put = (name: string, hosts: readonly string[]) =>
    world.call('PUT', `/v1/vaults/test/credentials/${name}`, {
      kind: 'bearer',
      hosts,
      secret: { value: TOKEN },
    });
  await put(
    'fits',
    places.map(({ host, port }) => `${host}:${port}`),
  );
  await put('elsewhere', ['elsewhere.test']);
  await world.call('PUT', '/v1/vaults/test/credentials/hub', {
    kind: 'headers',
    hosts: [`modern.test:${servers['modern']?.port}`],
    secret: { 'X-Hub-Key': HUB_KEY },
  });
  const declared = Object.entries(servers).map(([name, { url }]) => [name, { url, credential: 'test/fits' }]);
  const { modern } = servers;
  run = await gates.run({
    mcpServers: {
      ...Object.fromEntries(declared),
      hub: {
        url: 'https://behind.test/mcp',
        credential: 'test/fits',
        via: { url: modern?.url, credential: 'test/hub' },
      },
      'hub-elsewhere': {
        url: 'https://behind.test/mcp',
        credential: 'test/elsewhere',
        via: { url: modern?.url, credential: 'test/hub' },
      },
      elsewhere: { url: modern?.url, credential: 'test/elsewhere' },
      closed: { url: 'https://modern.test:4443/mcp' },
      dead: { url: 'http://dead.test:1/mcp' },
    },
  });
});

afterAll(async () => {
  await gates?.close();
  for (const server of Object.values(servers)) await server.close();
});

async function withClient<T>(
  kind: (typeof CLIENTS)[number],
  path: string,
  work: (client: McpTestClient) => Promise<T>,
): Promise<T> {
  const client = await connectMcp(kind, gates.gates.address.port, path, run.token);
  try {
    return await work(client);
  } finally {
    await client.close();
  }
}

describe.each(CLIENTS)('a client of %s', (client) => {
  it.each(KINDS)('lists and calls the tools of a server that is %s', async (server) => {
    await withClient(client, `/mcp/${server}`, async ({ list, call }) => {
      expect((await list()).map(({ name }) => name)).toEqual(['echo', 'progress', 'ask', 'wait']);
      const { content } = await call('echo', { said: 'hello' });
      expect(JSON.parse(content[0]?.text ?? '')).toMatchObject({
        name: 'echo',
        arguments: { said: 'hello' },
      });
    });
  });

  it('gives the server the credential of the manifest and nothing of its own', async () => {
    const { asked = [] } = servers['modern'] ?? {};
    await withClient(client, '/mcp/modern', ({ call }) => call('echo'));
    const sent = asked.map(({ headers }) => headers.authorization);
    expect(new Set(sent)).toEqual(new Set([`Bearer ${TOKEN}`]));
    expect(JSON.stringify(asked)).not.toContain(run.token);
  });
});

it.each([
  ['a server that is not declared', 'nobody', 403, 'server_undeclared'],
  ['a name that every object has', 'constructor', 403, 'server_undeclared'],
  ['a credential that may not go there', 'elsewhere', 200, 'credential'],
  ['a credential that may not go to where it is sent on', 'hub-elsewhere', 200, 'credential'],
  ['a port that nobody opened', 'closed', 200, 'refused'],
  ['a server that is not there', 'dead', 200, 'unreachable'],
])('refuses %s', async (_what, server, status, reason) => {
  const reply = await post(`/mcp/${server}`, run.token);
  expect(reply).toMatchObject({ status, body: { error: { data: { reason } } } });
});

it('asks a gateway elsewhere, with both credentials', async () => {
  const { asked = [] } = servers['modern'] ?? {};
  asked.length = 0;
  await withClient('modern', '/mcp/hub', ({ call }) => call('echo'));
  expect(asked.length).toBeGreaterThan(0);
  for (const { headers } of asked) {
    expect(headers).toMatchObject({ authorization: `Bearer ${TOKEN}`, 'x-hub-key': HUB_KEY });
  }
});

it('ends with its run', async () => {
  const own = await gates.run({ mcpServers: { stateful: { url: servers['stateful']?.url } } });
  expect((await post('/mcp/stateful', own.token)).status).toBe(200);
  await gates.world.call('POST', `/v1/turns/${own.turn}/cancel`);
  expect(await post('/mcp/stateful', own.token)).toMatchObject({
    status: 409,
    body: { error: { data: { reason: 'run_stale' } } },
  });
});

it('asks no server for a token that it does not know', async () => {
  expect(await post('/mcp/modern', 'made-up')).toMatchObject({ status: 401 });
});

async function post(path: string, token: string) {
  const params = {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'hand', version: '0' },
  };
  const { status, text } = await gates.ask(path, {
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }),
  });
  return { status, body: JSON.parse(text) as unknown };
}

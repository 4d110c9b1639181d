/** Legacy clients of the gates: the SDK's own, of both lines, and sessions that outlive the gate that made them. */
import {
  Client as ClientV2,
  StreamableHTTPClientTransport as TransportV2,
} from '@modelcontextprotocol/client';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { Agent, fetch as undiciFetch } from 'undici';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { scriptPeer } from '../../support/mcp-peer.ts';
import { type McpStand, type StandGate, startMcpStand } from '../../support/mcp-stand.ts';

const peer = scriptPeer({
  'tools/list': () => ({
    result: {
      tools: [{ name: 'echo', inputSchema: { type: 'object' }, annotations: { odd: 1 }, vendor: true }],
      resultType: 'complete',
      ttlMs: 5,
      cacheScope: 'public',
    },
  }),
  'tools/call': ({ params }) => ({
    result: { content: [{ type: 'text', text: JSON.stringify(params) }], odd: 1 },
  }),
});
let stand: McpStand;
let gate: StandGate;

beforeAll(async () => {
  stand = await startMcpStand(peer.way);
  gate = await stand.gate();
});
afterEach(() => {
  expect(stand.faults).toEqual([]);
  peer.asked.length = 0;
});
afterAll(() => stand.close());

/** On a connection of its own each time: one that is kept may belong to a gate that was just stopped. */
const agent = new Agent({ pipelining: 0 });
const fetchAnew = ((url: string | URL, init?: object) =>
  undiciFetch(url, { ...init, dispatcher: agent })) as unknown as typeof fetch;

type AnyClient = ClientV1 | ClientV2;

const LINES = ['v1', 'v2'] as const;

async function connect(line: (typeof LINES)[number], at = gate, server = 'one'): Promise<AnyClient> {
  const requestInit = { headers: { authorization: `Bearer ${await stand.token()}` } };
  const options = { requestInit, fetch: fetchAnew };
  if (line === 'v1') {
    const client = new ClientV1({ name: 'old', version: '1' }, { capabilities: { roots: {} } });
    await client.connect(new TransportV1(at.url(server), options) as Parameters<ClientV1['connect']>[0]);
    return client;
  }
  const client = new ClientV2({ name: 'new', version: '2' }, { capabilities: { roots: {} } });
  await client.connect(new TransportV2(at.url(server), options));
  return client;
}

describe.each(LINES)('the client of line %s', (line) => {
  it('lists and calls, and what nobody knows stays', async () => {
    const client = await connect(line);
    expect(client.getServerVersion()).toEqual({ name: 'scripted', version: '1.0' });
    expect(client.getInstructions()).toBe('Be kind.');
    const { tools } = await client.listTools();
    expect(tools).toMatchObject([{ name: 'echo', inputSchema: { type: 'object' } }]);
    const called = await client.callTool({ name: 'echo', arguments: { deep: [null, 1] } });
    expect(called).toMatchObject({ odd: 1 });
    expect(called.content).toEqual([
      { type: 'text', text: JSON.stringify({ name: 'echo', arguments: { deep: [null, 1] } }) },
    ]);
    expect(peer.asked[0]?.meta.client.info).toMatchObject({ version: line === 'v1' ? '1' : '2' });
    await client.close();
  });

  it('goes on after the gate was stopped and another one took its place, and with another token', async () => {
    const client = await connect(line);
    for (let restarts = 0; restarts < 3; restarts += 1) {
      const { port } = gate;
      await gate.stop();
      gate = await stand.gate(port);
      expect((await client.callTool({ name: 'echo', arguments: { restarts } })).content).toHaveLength(1);
    }
    await client.close();
  });
});

/** Core's own calls at the gates, outside a run: each token for one server or one HTTP tool of an open session, for a minute. */

import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startTestGates, type TestGates } from '../support/gates.ts';
import { type PlainMcp, startPlainMcp, text, tool } from '../support/plain-mcp.ts';
import { type Provider, startProvider } from '../support/provider.ts';

let server: PlainMcp;
let web: Provider;
let gates: TestGates;
let session: string;

beforeAll(async () => {
  server = await startPlainMcp('server.test', {
    'tools/list': () => ({ tools: [tool('act')] }),
    'tools/call': ({ name }) => text(String(name)),
  });
  web = await startProvider('web.test');
  web.behave = (_asked, response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end('"done"');
  const { host, port } = server;
  gates = await startTestGates([{ host, port, caPem: null }, web], {
    SALLYPORT_OPEN_NETWORKS: [host, web.host]
      .map((name, i) => `${name}:${[port, web.port][i]}=127.0.0.0/8`)
      .join(','),
  });
  session = await open();
});

beforeEach(() => {
  server.asked.length = 0;
  web.asked.length = 0;
});

afterAll(async () => {
  await gates?.close();
  await server?.close();
  await web?.close();
});

/** A session without a turn. */
async function open(): Promise<string> {
  const url = `https://web.test:${web.port}/do`;
  const manifest = {
    mcpServers: { one: { url: server.url }, two: { url: server.url } },
    httpTools: {
      do: { url, method: 'POST', inputSchema: {} },
      other: { url, method: 'POST', inputSchema: {} },
    },
  };
  return (await gates.world.call<{ id: string }>('POST', '/v1/sessions', { agent: 'tester', manifest })).id;
}

async function mint(scope: object, of = session): Promise<string> {
  const path = `/v1/sessions/${of}/service-tokens`;
  return (await gates.world.call<{ serviceToken: string }>('POST', path, scope)).serviceToken;
}

async function ask(path: string, token: string, body: object, more: Record<string, string> = {}) {
  const headers = {
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    ...more,
  };
  const reply = await gates.ask(path, { headers, body: JSON.stringify(body) });
  return { status: reply.status, body: JSON.parse(reply.text) as Record<string, unknown> };
}

it('connects, lists, calls and closes the server that it names, without a turn', async () => {
  const token = await mint({ server: 'one' });
  for (const operation of ['connect', 'list', 'close']) {
    expect(await ask(`/v1/mcp/${operation}`, token, { server: 'one' })).toMatchObject({
      status: 200,
      body: { ok: true },
    });
  }
  const key = { 'idempotency-key': randomUUID() };
  for (const more of [{}, key, key]) {
    expect(await ask('/v1/tool-calls', token, { server: 'one', tool: 'act' }, more)).toMatchObject({
      status: 200,
      body: { ok: true, result: { content: [{ text: 'act' }] } },
    });
  }
  expect(server.called()).toEqual(['act', 'act']);
  expect(await gates.world.call('GET', `/v1/sessions/${session}/calls/tool`)).toMatchObject([
    { key: key['idempotency-key'], kind: 'mcp', turnId: null, agent: 'tester', status: 'completed' },
  ]);
});

it('calls the HTTP tool that it names, which is told of no turn', async () => {
  const token = await mint({ tool: 'do' });
  expect(await ask('/v1/http-calls/do', token, { input: {} })).toMatchObject({
    status: 200,
    body: { ok: true },
  });
  const [asked] = web.asked;
  expect(asked?.headers).toMatchObject({ 'sallyport-session-id': session, 'sallyport-agent-id': 'tester' });
  expect(asked?.headers).not.toHaveProperty('sallyport-turn-id');
});

describe('is refused', () => {
  it.each([
    ['another server', '/v1/mcp/connect', { server: 'two' }],
    ['a tool of another server', '/v1/tool-calls', { server: 'two', tool: 'act' }],
    ['an HTTP tool', '/v1/http-calls/do', { input: {} }],
  ])('for %s', async (_what, path, body) => {
    const token = await mint({ server: 'one' });
    expect(await ask(path, token, body)).toMatchObject({
      status: 403,
      body: { error: { code: 'token_scope' } },
    });
  });

  it('for another HTTP tool', async () => {
    const token = await mint({ tool: 'do' });
    expect(await ask('/v1/http-calls/other', token, { input: {} })).toMatchObject({
      status: 403,
      body: { error: { code: 'token_scope' } },
    });
  });

  it.each(['/mcp/one', '/mcp', '/v1/messages', '/v1/tool-calls/key/cancel'])(
    'at %s, where runs are served',
    async (path) => {
      const token = await mint({ server: 'one' });
      expect(await ask(path, token, {})).toMatchObject({ status: 401 });
    },
  );

  it('when its session has ended', async () => {
    const own = await open();
    const token = await mint({ server: 'one' }, own);
    await gates.world.call('POST', `/v1/sessions/${own}/end`);
    for (const path of ['/v1/mcp/connect', '/v1/tool-calls']) {
      const body = { server: 'one', ...(path.endsWith('calls') ? { tool: 'act' } : {}) };
      for (const more of [{}, { 'idempotency-key': randomUUID() }]) {
        expect(await ask(path, token, body, more)).toMatchObject({
          status: 409,
          body: { error: { code: 'run_stale' } },
        });
      }
    }
    expect(server.asked).toEqual([]);
    await expect(mint({ server: 'one' }, own)).rejects.toThrow(/409|conflict/);
  });

  it('to be minted for what the session does not declare', async () => {
    await expect(mint({ server: 'nobody' })).rejects.toThrow();
    await expect(mint({ tool: 'constructor' })).rejects.toThrow();
    await expect(mint({ server: 'one', tool: 'do' })).rejects.toThrow();
    await expect(mint({})).rejects.toThrow();
  });
});

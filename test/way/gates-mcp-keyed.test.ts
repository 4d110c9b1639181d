/** The product's own routes of MCP through two real gates: connections that a harness keeps, calls that run once. */

import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Service } from '../../core-lite/service.ts';
import { askGates, startTestGates, type TestGates, type TestRun } from '../support/gates.ts';
import { type McpTestServer, startMcpServer } from '../support/mcp-servers.ts';
import { type PlainMcp, startPlainMcp, text, tool } from '../support/plain-mcp.ts';

const TOKEN = 'mcp-canary-91c0aa17';
let plain: PlainMcp;
let stateful: McpTestServer;
let gates: TestGates;
let other: Service;
let run: TestRun;
/** What the tool waits for. */
let gate: PromiseWithResolvers<void>;

beforeAll(async () => {
  plain = await startPlainMcp('plain.test', {
    'tools/list': () => ({
      tools: [
        tool('act'),
        tool('fail'),
        tool('throw'),
        tool('slow'),
        tool('die'),
        tool('count', {
          inputSchema: { type: 'object', required: ['n'], properties: { n: { type: 'integer' } } },
        }),
        tool('hidden'),
      ],
    }),
    'tools/call': async ({ name, arguments: args }) => {
      if (name === 'fail') return { ...text('it failed'), isError: true };
      if (name === 'throw')
        return { error: { code: -32_050, message: 'out of order', data: { since: 'today' } } };
      if (name === 'slow') await gate.promise;
      return text(`${name} ${JSON.stringify(args)}`);
    },
  });
  stateful = await startMcpServer('stateful.test', 'stateful');
  const places = [plain, stateful].map(({ host, port }) => ({ host, port, caPem: null }));
  gates = await startTestGates(places, {
    SALLYPORT_OPEN_NETWORKS: places.map(({ host, port }) => `${host}:${port}=127.0.0.0/8`).join(','),
  });
  other = await gates.world.gates();
  await gates.world.call('PUT', '/v1/vaults/test');
  await gates.world.call('PUT', '/v1/vaults/test/credentials/one', {
    kind: 'bearer',
    hosts: [`${plain.host}:${plain.port}`],
    secret: { value: TOKEN },
  });
  run = await gates.run({
    mcpServers: {
      plain: { url: plain.url, credential: 'test/one', tools: { deny: ['hidden'] } },
      stateful: { url: stateful.url },
      hasty: { url: plain.url, credential: 'test/one', timeoutMs: 300 },
      elsewhere: { url: stateful.url, credential: 'test/one' },
    },
  });
});

beforeEach(() => {
  plain.asked.length = 0;
  gate = Promise.withResolvers<void>();
});

afterAll(async () => {
  gate?.resolve();
  await gates?.close();
  await plain?.close();
  await stateful?.close();
});

interface Asking {
  readonly key?: string;
  readonly token?: string;
  readonly at?: Service;
  readonly signal?: AbortSignal;
}

async function ask(
  path: string,
  body: object,
  { key, token = run.token, at = gates.gates, signal }: Asking = {},
) {
  const headers = {
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
    ...(key === undefined ? {} : { 'idempotency-key': key }),
  };
  const sent = { headers, body: JSON.stringify(body), ...(signal ? { signal } : {}) };
  const { status, text: said } = await askGates(at.address.port, path, sent);
  return { status, body: said === '' ? null : (JSON.parse(said) as Record<string, unknown>) };
}

const call = (name: string, args: object = {}, asking: Asking = {}, server = 'plain') =>
  ask('/v1/tool-calls', { server, tool: name, arguments: args }, asking);

async function statuses() {
  const path = `/v1/sessions/${run.session}/calls/tool`;
  return gates.world.call<Record<string, unknown>[]>('GET', path);
}

describe('a server', () => {
  it('is connected, listed and closed', async () => {
    expect(await ask('/v1/mcp/connect', { server: 'stateful' })).toMatchObject({
      status: 200,
      body: {
        ok: true,
        result: { server: 'stateful', serverInfo: { name: 'legacy' }, instructions: 'be brief' },
      },
    });
    const { body } = await ask('/v1/mcp/list', { server: 'plain' });
    const { tools } = (body as { result: { tools: { name: string }[] } }).result;
    expect(tools.map(({ name }) => name)).toEqual(['act', 'fail', 'throw', 'slow', 'die', 'count']);
    await ask('/v1/mcp/list', { server: 'stateful' });
    expect(await ask('/v1/mcp/close', { server: 'stateful' })).toEqual({
      status: 200,
      body: { ok: true, result: {} },
    });
    expect(stateful.done).toContain('deleted');
    expect(await ask('/v1/mcp/close', { server: 'stateful' })).toMatchObject({ status: 200 });
  });

  it.each(['connect', 'list', 'close'])('that is not declared is refused to %s', async (operation) => {
    expect(await ask(`/v1/mcp/${operation}`, { server: 'nobody' })).toMatchObject({
      status: 403,
      body: { error: { code: 'server_undeclared' } },
    });
    expect(await ask(`/v1/mcp/${operation}`, { server: 'plain', more: 1 })).toMatchObject({
      status: 400,
      body: { error: { code: 'body_malformed' } },
    });
  });

  it('whose credential may not go there is not connected', async () => {
    expect(await ask('/v1/mcp/connect', { server: 'elsewhere' })).toMatchObject({
      status: 200,
      body: { ok: false, error: { code: 'tool.unavailable', reason: 'credential' } },
    });
  });

  it('is not closed by a run that is over', async () => {
    const own = await gates.run({ mcpServers: { stateful: { url: stateful.url } } });
    await ask('/v1/mcp/connect', { server: 'stateful' }, { token: own.token });
    await gates.world.call('POST', `/v1/turns/${own.turn}/cancel`);
    stateful.done.length = 0;
    expect(await ask('/v1/mcp/close', { server: 'stateful' }, { token: own.token })).toMatchObject({
      status: 409,
      body: { error: { code: 'run_stale' } },
    });
    expect(stateful.done).toEqual([]);
  });
});

it.each([
  ['act', { a: 1 }, { ok: true, result: { content: [{ text: 'act {"a":1}' }] } }, 'completed', null],
  ['fail', {}, { ok: true, result: { isError: true } }, 'completed', null],
  [
    'throw',
    {},
    { ok: false, error: { code: 'tool.error', message: 'out of order', rpc: { code: -32_050 } } },
    'completed',
    'tool.error',
  ],
  ['hidden', {}, { ok: false, error: { code: 'tool.disabled' } }, 'failed', 'tool.disabled'],
  ['missing', {}, { ok: false, error: { code: 'tool.disabled' } }, 'failed', 'tool.disabled'],
  ['count', { n: 'x' }, { ok: false, error: { code: 'tool.invalid-input' } }, 'failed', 'tool.invalid-input'],
])('calls %s, with a key and without', async (name, args, answer, status, code) => {
  const key = randomUUID();
  for (const asking of [{}, { key }, { key, at: other }]) {
    expect(await call(name, args, asking)).toMatchObject({ status: 200, body: answer });
  }
  const ran = status === 'completed' ? [name, name] : [];
  expect(plain.called()).toEqual(ran);
  expect((await statuses()).find((each) => each['key'] === key)).toMatchObject({
    ...{ kind: 'mcp', server: 'plain', tool: name, status, code, turnId: run.turn },
  });
});

it('joins a call that runs at another gate, and outlives who asked first', async () => {
  const key = randomUUID();
  const leaving = new AbortController();
  const first = call('slow', { n: 1 }, { key, signal: leaving.signal }).catch(() => 'left');
  await expect.poll(() => plain.called()).toEqual(['slow']);
  leaving.abort();
  expect(await first).toBe('left');
  const joined = [call('slow', { n: 1 }, { key, at: other }), call('slow', { n: 1 }, { key })];
  expect(await call('slow', { n: 2 }, { key })).toMatchObject({
    status: 409,
    body: { error: { code: 'gate_conflict' } },
  });
  gate.resolve();
  for (const answer of await Promise.all(joined))
    expect(answer).toMatchObject({ status: 200, body: { ok: true } });
  expect(plain.called()).toEqual(['slow']);
});

it('is uncertain where the server did not answer in time, for everybody', async () => {
  const key = randomUUID();
  const answers = [
    await call('slow', {}, { key }, 'hasty'),
    await call('slow', {}, { key, at: other }, 'hasty'),
  ];
  for (const { body } of answers)
    expect(body).toMatchObject({ ok: false, error: { code: 'tool.uncertain' } });
  expect(plain.called()).toEqual(['slow']);
  expect((await statuses()).find((each) => each['key'] === key)).toMatchObject({ status: 'uncertain' });
});

it('is cancelled at whatever gate', async () => {
  const key = randomUUID();
  const running = call('slow', {}, { key });
  await expect.poll(() => plain.called()).toEqual(['slow']);
  expect(await ask(`/v1/tool-calls/${key}/cancel`, {}, { at: other })).toMatchObject({ status: 200 });
  expect(await running).toMatchObject({ body: { ok: false, error: { code: 'tool.cancelled' } } });
});

it('runs again under its key where nothing reached the server', async () => {
  const key = randomUUID();
  expect(await call('act', {}, { key }, 'elsewhere')).toMatchObject({
    body: { ok: false, error: { code: 'tool.unavailable', reason: 'credential' } },
  });
  await gates.world.call('PUT', '/v1/vaults/test/credentials/one', {
    kind: 'bearer',
    hosts: [`${plain.host}:${plain.port}`, `${stateful.host}:${stateful.port}`],
    secret: { value: TOKEN },
  });
  await expect
    .poll(async () => (await call('echo', {}, { key: randomUUID() }, 'elsewhere')).body)
    .toMatchObject({ ok: true });
});

it.each([
  ['a body that is no JSON', '{', 400],
  ['a name that no log can hold', JSON.stringify({ server: 'plain', tool: 'a\u0000b' }), 400],
  ['a field that nobody knows', JSON.stringify({ server: 'plain', tool: 'act', input: {} }), 400],
])('refuses %s', async (_what, body, status) => {
  const headers = { authorization: `Bearer ${run.token}`, 'content-type': 'application/json' };
  expect(await gates.ask('/v1/tool-calls', { headers, body })).toMatchObject({ status });
  expect(plain.called()).toEqual([]);
});

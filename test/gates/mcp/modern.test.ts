/** Modern clients of the gates: the SDK's own, and requests by hand where the fine print is. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../gates/mcp/messages.ts';
import { scriptPeer } from '../../support/mcp-peer.ts';
import {
  type McpStand,
  OTHER_SESSION,
  SESSION,
  type StandGate,
  startMcpStand,
} from '../../support/mcp-stand.ts';

const VERSION = '2026-07-28';
const ELICIT = {
  method: 'elicitation/create',
  params: { message: 'Sure?', requestedSchema: { type: 'object', properties: {} } },
};
const peer = scriptPeer({
  'tools/list': () => ({ result: { tools: [{ name: 'echo', inputSchema: { type: 'object' } }], vendor: 1 } }),
  'tools/call': async ({ params, meta }, way) => {
    if (params['name'] === 'busy') {
      way.onProgress({ progress: 1, total: 2 });
      way.onLog({ level: 'info', data: 'too low' });
      way.onLog({ level: 'error', data: 'high' });
    }
    if (params['name'] === 'asks') {
      const answer = await way.onRequest(ELICIT, way.signal);
      return { result: { content: [], heard: answer } };
    }
    if (params['name'] === 'modern-asks') {
      const { inputResponses, requestState } = params;
      if (requestState !== undefined) return { result: { content: [], inputResponses, requestState } };
      return {
        result: { resultType: 'input_required', inputRequests: { q: ELICIT }, requestState: 'their own' },
      };
    }
    if (params['name'] === 'refused') {
      return { error: { code: -32_021, message: 'no', data: { requiredCapabilities: { elicitation: {} } } } };
    }
    if (params['name'] === 'slow') {
      await new Promise((resolve) => way.signal.addEventListener('abort', resolve, { once: true }));
      cancelled += 1;
      return { failure: 'stopped', mayHaveRun: true, detail: null };
    }
    return { result: { content: [{ type: 'novel', x: 1 }], meta } };
  },
  'resources/read': () => ({ error: { code: -32_002, message: 'no such resource' } }),
});
let cancelled = 0;
let stand: McpStand;
let gate: StandGate;

beforeAll(async () => {
  stand = await startMcpStand(peer.way);
  gate = await stand.gate();
});
afterEach(() => {
  expect(stand.faults).toEqual([]);
  peer.asked.length = 0;
  stand.refused.length = 0;
});
afterAll(() => stand.close());

interface Reply {
  readonly status: number;
  readonly type: string;
  /** The messages of the stream, or the one of JSON. */
  readonly messages: JsonObject[];
  readonly last: { readonly result: JsonObject; readonly error: JsonObject };
}

interface More {
  readonly headers?: Record<string, string | undefined>;
  readonly meta?: JsonObject;
  readonly session?: string;
  readonly server?: string;
  readonly signal?: AbortSignal;
  readonly at?: StandGate;
}

async function post(method: string, params: JsonObject = {}, more: More = {}): Promise<Reply> {
  const token = await stand.token(more.session ?? SESSION);
  const name = params['name'] ?? params['uri'];
  const headers = {
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': VERSION,
    'mcp-method': method,
    'mcp-name': typeof name === 'string' ? name : undefined,
    ...more.headers,
  };
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': VERSION,
    'io.modelcontextprotocol/clientCapabilities': { elicitation: {} },
    ...more.meta,
  };
  const response = await fetch((more.at ?? gate).url(more.server ?? 'one'), {
    method: 'POST',
    headers: Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined)) as Record<
      string,
      string
    >,
    body: JSON.stringify({ jsonrpc: '2.0', id: 7, method, params: { ...params, _meta } }),
    signal: more.signal ?? null,
  });
  const text = await response.text();
  const type = response.headers.get('content-type') ?? '';
  const messages = type.startsWith('text/event-stream')
    ? [...text.matchAll(/^data: (.+)$/gm)].map(([, data]) => JSON.parse(data as string) as JsonObject)
    : [JSON.parse(text) as JsonObject];
  return { status: response.status, type, messages, last: messages.at(-1) as Reply['last'] };
}

describe('a modern client', () => {
  it('is the SDK’s, and finds out the era by itself', async () => {
    const client = new Client({ name: 'c', version: '1' }, { versionNegotiation: { mode: 'auto' } });
    const requestInit = { headers: { authorization: `Bearer ${await stand.token()}` } };
    await client.connect(new StreamableHTTPClientTransport(gate.url('one'), { requestInit }));
    expect(client.getProtocolEra()).toBe('modern');
    expect((await client.listTools()).tools).toHaveLength(1);
    await client.close();
  });

  it('gets what its era requires and all that it does not know', async () => {
    const { last, status, type } = await post('tools/list');
    expect([status, type]).toEqual([200, 'application/json']);
    expect(last.result).toEqual({
      tools: [{ name: 'echo', inputSchema: { type: 'object' } }],
      vendor: 1,
      resultType: 'complete',
      ttlMs: 0,
      cacheScope: 'private',
      _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'scripted', version: '1.0' } },
    });
    const called = await post(
      'tools/call',
      { name: 'echo', vendor: { a: 1 } },
      { meta: { 'vendor/x': 1, traceparent: '00-1-2-00' }, headers: { baggage: 'a=b' } },
    );
    expect(called.last.result['content']).toEqual([{ type: 'novel', x: 1 }]);
    expect(peer.asked.at(-1)).toEqual({
      method: 'tools/call',
      params: { name: 'echo', vendor: { a: 1 } },
      meta: {
        client: { info: null, capabilities: { elicitation: {} } },
        logLevel: null,
        wantsProgress: false,
        rest: { 'vendor/x': 1, traceparent: '00-1-2-00', baggage: 'a=b' },
      },
    });
  });

  it('discovers the server, and is told of what the era has no more', async () => {
    const { last } = await post('server/discover');
    expect(last.result).toMatchObject({ supportedVersions: [VERSION], instructions: 'Be kind.', ttlMs: 0 });
    for (const method of ['ping', 'initialize', 'logging/setLevel', 'no/such']) {
      const reply = await post(method);
      expect([method, reply.status, reply.last.error['code']]).toEqual([method, 404, -32_601]);
    }
    for (const method of ['GET', 'DELETE']) {
      const headers = { authorization: `Bearer ${await stand.token()}`, 'mcp-protocol-version': VERSION };
      const { status } = await fetch(gate.url('one'), { method, headers });
      expect(status).toBe(405);
    }
    expect((await post('resources/read', { uri: 'x:y' })).last.error['code']).toBe(-32_602);
  });

  it('hears of progress and of the log messages that it asked for', async () => {
    const meta = { progressToken: 'p', 'io.modelcontextprotocol/logLevel': 'warning' };
    const { type, messages } = await post('tools/call', { name: 'busy' }, { meta });
    expect(type).toBe('text/event-stream');
    expect(messages.map(({ method, params }) => [method, params])).toEqual([
      ['notifications/progress', { progress: 1, total: 2, progressToken: 'p' }],
      ['notifications/message', { level: 'error', data: 'high' }],
      [undefined, undefined],
    ]);
    expect((await post('tools/call', { name: 'busy' })).messages).toHaveLength(1);
  });

  it('has cancelled what it leaves', async () => {
    const controller = new AbortController();
    const before = cancelled;
    const left = post('tools/call', { name: 'slow' }, { signal: controller.signal });
    await expect.poll(() => peer.asked.length).toBe(1);
    controller.abort();
    await expect(left).rejects.toThrow();
    await expect.poll(() => cancelled).toBe(before + 1);
    await expect.poll(() => gate.calls.size).toBe(0);
  });
});

const HEADS: readonly (readonly [string, string, JsonObject, More, number, number])[] = [
  ['no version', 'tools/list', {}, { headers: { 'mcp-protocol-version': undefined } }, 400, -32_020],
  ['another version', 'tools/list', {}, { headers: { 'mcp-protocol-version': '2025-11-25' } }, 400, -32_020],
  ['no method', 'tools/list', {}, { headers: { 'mcp-method': undefined } }, 400, -32_020],
  ['another method', 'tools/list', {}, { headers: { 'mcp-method': 'tools/call' } }, 400, -32_020],
  ['no name', 'tools/call', { name: 'echo' }, { headers: { 'mcp-name': undefined } }, 400, -32_020],
  ['another name', 'tools/call', { name: 'echo' }, { headers: { 'mcp-name': 'ECHO' } }, 400, -32_020],
  [
    'a name badly encoded',
    'tools/call',
    { name: 'a' },
    { headers: { 'mcp-name': '=?base64?YQ?=' } },
    400,
    -32_020,
  ],
  ['a name encoded', 'tools/call', { name: 'ä' }, { headers: { 'mcp-name': '=?base64?w6Q=?=' } }, 200, 0],
  ['another task', 'tasks/get', { taskId: 'a' }, { headers: { 'mcp-name': 'b' } }, 400, -32_020],
  ['no argument', 'tools/call', { name: 'headed', arguments: { region: 'eu' } }, {}, 400, -32_020],
  [
    'another argument',
    'tools/call',
    { name: 'headed', arguments: { region: 'eu' } },
    { headers: { 'mcp-param-region': 'us' } },
    400,
    -32_020,
  ],
  [
    'the argument',
    'tools/call',
    { name: 'headed', arguments: { region: 'eu' } },
    { headers: { 'mcp-param-region': 'eu' } },
    200,
    0,
  ],
  [
    'a version that nobody speaks',
    'tools/list',
    {},
    {
      headers: { 'mcp-protocol-version': '2099-01-01' },
      meta: { 'io.modelcontextprotocol/protocolVersion': '2099-01-01' },
    },
    400,
    -32_022,
  ],
  [
    'no capabilities',
    'tools/list',
    {},
    { meta: { 'io.modelcontextprotocol/clientCapabilities': undefined } },
    400,
    -32_602,
  ],
];

describe('a head with', () => {
  it.each(HEADS)('%s', async (_, method, params, more, status, code) => {
    const { status: got, last } = await post(method, params, more);
    expect([got, last.error?.['code'] ?? 0]).toEqual([status, code]);
  });
});

describe('a server that asks in the middle of a call', () => {
  const params = { name: 'asks', arguments: { a: 1, b: [2] } };
  const question = async () => (await post('tools/call', params)).last.result;

  it('waits while the client is asked', async () => {
    const asked = await question();
    expect(asked).toMatchObject({ resultType: 'input_required', inputRequests: { 'input-1': ELICIT } });
    const { requestState } = asked;
    const inputResponses = { 'input-1': { action: 'accept', content: {} } };
    const again = { arguments: { b: [2], a: 1 }, name: 'asks', inputResponses, requestState };
    const { last } = await post('tools/call', again);
    expect(last.result).toMatchObject({
      resultType: 'complete',
      heard: { result: { action: 'accept', content: {} } },
    });
    expect(peer.asked).toHaveLength(1);
    const third = await post('tools/call', again);
    expect(third.last.error['code']).toBe(-32_602);
    expect(gate.calls.size).toBe(0);
  });

  it('waits at its gate while the rounds come to another', async () => {
    const replica = await stand.gate();
    const inputResponses = { 'input-1': { action: 'accept' } };
    const { requestState } = await question();
    const round = { ...params, inputResponses, requestState };
    const { last } = await post('tools/call', round, { at: replica });
    expect(last.result).toMatchObject({ heard: { result: { action: 'accept' } }, resultType: 'complete' });
    expect([gate.calls.size, replica.calls.size]).toEqual([0, 0]);
    await replica.stop();
  });

  it('is asked on by nobody else, and for nothing else', async () => {
    const { requestState } = await question();
    const inputResponses = { 'input-1': { action: 'accept' } };
    const round = { ...params, inputResponses, requestState };
    const wrong: readonly (readonly [JsonObject, More])[] = [
      [round, { session: OTHER_SESSION }],
      [round, { server: 'two' }],
      [{ ...round, arguments: { a: 2, b: [2] } }, {}],
      [{ ...round, requestState: `${requestState}A` }, {}],
      [{ ...round, requestState: 'their own' }, {}],
    ];
    for (const [each, more] of wrong) {
      expect((await post('tools/call', each, more)).last.error['code']).toBe(-32_602);
    }
    expect((await post('tools/call', round)).last.result['resultType']).toBe('complete');
  });

  it('has failed where the client cannot be asked', async () => {
    const meta = { 'io.modelcontextprotocol/clientCapabilities': { roots: {} } };
    const { last, status } = await post('tools/call', params, { meta });
    expect([status, last.error]).toMatchObject([
      400,
      { code: -32_021, data: { requiredCapabilities: { elicitation: {} } } },
    ]);
    await expect.poll(() => gate.calls.size).toBe(0);
  });

  it('and may not, has failed with what the client lacks, or with what the session does not let it', async () => {
    const lacking = { 'io.modelcontextprotocol/clientCapabilities': {} };
    const refused = { name: 'refused' };
    const { status, last } = await post('tools/call', refused, { meta: lacking });
    expect([status, last.error['code']]).toEqual([400, -32_021]);
    const able = await post('tools/call', refused);
    expect([able.status, able.last.error['code']]).toEqual([200, -32_603]);
  });

  it('keeps a modern server’s state sealed', async () => {
    const named = { name: 'modern-asks' };
    const { last } = await post('tools/call', named);
    expect(last.result).toMatchObject({ resultType: 'input_required', inputRequests: { q: ELICIT } });
    const { requestState } = last.result;
    expect(JSON.stringify(requestState)).not.toContain('their own');
    const inputResponses = { q: { action: 'decline' } };
    const again = await post('tools/call', { ...named, inputResponses, requestState });
    expect(again.last.result).toMatchObject({ inputResponses, requestState: 'their own' });
    const elsewhere = await post(
      'tools/call',
      { ...named, inputResponses, requestState },
      { session: OTHER_SESSION },
    );
    expect(elsewhere.last.error['code']).toBe(-32_602);
  });
});

describe('a subscription', () => {
  async function listen(notifications: JsonObject, signal: AbortSignal) {
    const token = await stand.token();
    const response = await fetch(gate.url('one'), {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': VERSION,
        'mcp-method': 'subscriptions/listen',
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 'sub',
        method: 'subscriptions/listen',
        params: {
          notifications,
          _meta: {
            'io.modelcontextprotocol/protocolVersion': VERSION,
            'io.modelcontextprotocol/clientCapabilities': {},
          },
        },
      }),
      signal,
    });
    let text = '';
    const done = (async () => {
      for await (const chunk of response.body ?? []) text += Buffer.from(chunk).toString();
    })();
    const messages = () =>
      [...text.matchAll(/^data: (.+)$/gm)].map(([, data]) => JSON.parse(data as string) as JsonObject);
    return { messages, done };
  }
  const id = { _meta: { 'io.modelcontextprotocol/subscriptionId': 'sub' } };

  it('says what will be heard, says only that, and ends with its run', async () => {
    const controller = new AbortController();
    const { messages, done } = await listen(
      { toolsListChanged: true, resourceSubscriptions: ['x:y'] },
      controller.signal,
    );
    await expect.poll(() => messages().length).toBe(1);
    peer.say({ method: 'notifications/prompts/list_changed', params: {} });
    peer.say({ method: 'notifications/resources/updated', params: { uri: 'x:z' } });
    peer.say({ method: 'notifications/tools/list_changed', params: {} });
    peer.say({ method: 'notifications/resources/updated', params: { uri: 'x:y' } });
    await expect.poll(() => messages().length).toBe(3);
    const before = stand.sessions.get(SESSION);
    if (!before) throw new Error('no session');
    stand.sessions.set(SESSION, { ...before, leaseEpoch: 2 });
    stand.changed(SESSION);
    await done;
    stand.sessions.set(SESSION, before);
    expect(messages()).toMatchObject([
      {
        method: 'notifications/subscriptions/acknowledged',
        params: { notifications: { toolsListChanged: true, resourceSubscriptions: ['x:y'] }, ...id },
      },
      { method: 'notifications/tools/list_changed', params: id },
      { method: 'notifications/resources/updated', params: { uri: 'x:y', ...id } },
      { id: 'sub', result: { resultType: 'complete', ...id } },
    ]);
    expect([peer.filters(), gate.calls.size]).toEqual([[], 0]);
  });

  it('is let go of when its client leaves', async () => {
    const controller = new AbortController();
    const { messages, done } = await listen({ promptsListChanged: true }, controller.signal);
    await expect.poll(() => messages().length).toBe(1);
    controller.abort();
    await expect(done).rejects.toThrow();
    await expect.poll(() => [peer.filters().length, gate.calls.size]).toEqual([0, 0]);
  });
});

/** Legacy sessions in their fine print: whose an id is, what a stream says, what a client that lost its connection gets. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../gates/mcp/messages.ts';
import { type ByHand, byHand, initializeByHand, type Posted } from '../../support/mcp-client.ts';
import { scriptPeer } from '../../support/mcp-peer.ts';
import {
  type McpStand,
  OTHER_SESSION,
  SESSION,
  type StandGate,
  startMcpStand,
} from '../../support/mcp-stand.ts';

const ELICIT = { method: 'elicitation/create', params: { message: 'Sure?' } };
let release = (): void => {};
let cancelled = 0;
const peer = scriptPeer({
  'tools/list': () => ({ result: { tools: [], resultType: 'complete', ttlMs: 9, cacheScope: 'public' } }),
  'tools/call': async ({ params, meta }, way) => {
    switch (params['name']) {
      case 'asks':
        return { result: { content: [], heard: await way.onRequest(ELICIT, way.signal) } };
      case 'asks-in-vain': {
        const question = new AbortController();
        const heard = way.onRequest(ELICIT, question.signal);
        question.abort();
        return { result: { content: [], heard: await heard } };
      }
      case 'modern-asks': {
        const { inputResponses, requestState } = params;
        if (requestState === 'two')
          return { result: { content: [], inputResponses, resultType: 'complete' } };
        const state = requestState === undefined ? 'one' : 'two';
        return {
          result: { resultType: 'input_required', inputRequests: { q: ELICIT }, requestState: state },
        };
      }
      case 'waits':
        way.onProgress({ progress: 1 });
        await new Promise<void>((resolve) => {
          release = resolve;
          way.signal.addEventListener('abort', () => {
            cancelled += 1;
            resolve();
          });
        });
        way.onLog({ level: 'debug', data: 'nearly' });
        return { result: { content: [], level: meta.logLevel } };
      case 'primitive':
        return { result: { content: [], structuredContent: [1, 2] } };
      default:
        return { failure: 'credential_rejected', mayHaveRun: false, detail: 'vault/name' };
    }
  },
});
let stand: McpStand;
let gate: StandGate;
let client: ByHand;

beforeAll(async () => {
  stand = await startMcpStand(peer.way);
  gate = await stand.gate();
});
beforeEach(async () => {
  client = await initializeByHand(stand, gate, { server: 'one' });
  peer.asked.length = 0;
  peer.notified.length = 0;
  stand.refused.length = 0;
});
afterEach(() => expect(stand.faults).toEqual([]));
afterAll(() => stand.close());

const call = (name: string, id: number | string = 1, meta?: JsonObject): Promise<Posted> =>
  client.request(id, 'tools/call', { name, ...(meta ? { _meta: meta } : {}) });
const whole = async (
  posted: Promise<Posted>,
): Promise<JsonObject & { result: JsonObject; error: JsonObject }> => {
  const { done, messages } = await posted;
  await done;
  return messages().at(-1) as JsonObject & { result: JsonObject; error: JsonObject };
};

describe('an id of a session', () => {
  it('is for one run’s session and one path, on every gate of the installation', async () => {
    const replica = await stand.gate();
    client.at = replica;
    expect((await whole(client.request(1, 'tools/list'))).result).toEqual({ tools: [] });
    const ofOther = `Bearer ${await stand.token(OTHER_SESSION)}`;
    const elsewhere = await byHand(stand, gate, 'two');
    const merged = await byHand(stand, gate);
    const id = { 'mcp-session-id': client.heads['mcp-session-id'] ?? '' };
    const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    const wrong = [
      await client.post(list, { authorization: ofOther }),
      await elsewhere.post(list, id),
      await merged.post(list, id),
      await client.post(list, { 'mcp-session-id': `${id['mcp-session-id']}A` }),
      await client.post(list, { 'mcp-session-id': 'made-up' }),
      await client.get({ 'mcp-session-id': 'made-up' }),
    ];
    expect(wrong.map(({ status }) => status)).toEqual(wrong.map(() => 404));
    await replica.stop();
  });

  it('is renewed by nothing, and works with any token of its session', async () => {
    const session = stand.sessions.get(SESSION);
    if (!session) throw new Error('no session');
    stand.sessions.set(SESSION, { ...session, activeTurn: 'trn_019c0000000070008000000000000009' });
    expect((await client.request(1, 'tools/list')).status).toBe(409);
    client.heads['authorization'] = `Bearer ${await stand.token()}`;
    expect((await whole(client.request(1, 'tools/list'))).result).toEqual({ tools: [] });
    stand.sessions.set(SESSION, session);
    expect(stand.refused).toEqual(['run_stale']);
  });

  it('is worth nothing after its client ended it', async () => {
    const stream = await client.get();
    expect((await client.send('DELETE')).status).toBe(200);
    await stream.done;
    expect((await client.request(1, 'tools/list')).status).toBe(404);
  });

  it('is asked for', async () => {
    const bare = await byHand(stand, gate, 'one');
    const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    expect((await bare.post(list)).status).toBe(400);
    expect((await bare.get()).status).toBe(405);
    expect((await bare.send('DELETE')).status).toBe(405);
    expect((await client.post(list, { 'mcp-protocol-version': '1999-01-01' })).status).toBe(400);
    expect((await client.post(list, { accept: 'text/html' })).status).toBe(406);
    expect((await client.post(list, { 'content-type': 'text/plain' })).status).toBe(415);
    expect((await client.post(list, { origin: 'https://evil.example' })).status).toBe(403);
    expect((await client.post(list, { origin: 'http://localhost:6274' })).status).toBe(200);
    expect((await client.post(list, { authorization: 'Bearer x.y.z' })).status).toBe(401);
    expect((await client.post([list])).status).toBe(400);
    expect((await client.send('POST', { 'content-type': 'application/json' }, '{')).status).toBe(400);
  });

  it('holds only so much', async () => {
    const much = await initializeByHand(stand, gate, {
      capabilities: { experimental: { x: 'x'.repeat(7_000) } },
    });
    expect(much.heads['mcp-session-id']).toBe('');
  });
});

describe('what a legacy session keeps', () => {
  it('is answered by the gate: ping, the log level, subscriptions', async () => {
    const stream = await client.get();
    await expect.poll(() => peer.filters().length).toBe(1);
    expect((await whole(client.request(1, 'ping'))).result).toEqual({});
    expect((await whole(client.request(2, 'logging/setLevel', { level: 'loud' }))).error['code']).toBe(
      -32_602,
    );
    await whole(client.request(3, 'logging/setLevel', { level: 'error' }));
    await whole(client.request(4, 'resources/subscribe', { uri: 'x:y' }));
    expect(peer.filters()).toMatchObject([{ unasked: true, resourceSubscriptions: ['x:y'] }]);
    await whole(client.request(5, 'resources/unsubscribe', { uri: 'x:y' }));
    expect(peer.filters()).toMatchObject([{ resourceSubscriptions: [] }]);
    expect(peer.asked).toEqual([]);
    peer.say({ method: 'notifications/elicitation/complete', params: { elicitationId: 'e' } });
    await expect.poll(() => stream.messages().length).toBe(1);
    await whole(client.request(6, 'tools/list'));
    expect(peer.asked[0]?.meta.logLevel).toBe('error');
    const second = await client.get();
    await stream.done;
    second.leave();
    await expect.poll(() => [peer.filters().length, gate.calls.size]).toEqual([0, 0]);
  });

  it('is known to every gate', async () => {
    const replica = await stand.gate();
    const stream = await client.get();
    await expect.poll(() => peer.filters().length).toBe(1);
    client.at = replica;
    await whole(client.request(1, 'logging/setLevel', { level: 'notice' }));
    await whole(client.request(2, 'resources/subscribe', { uri: 'x:z' }));
    await expect.poll(() => peer.filters()).toMatchObject([{ resourceSubscriptions: ['x:z'] }]);
    await replica.stop();
    client.at = await stand.gate();
    await whole(client.request(3, 'tools/list'));
    expect(peer.asked[0]?.meta.logLevel).toBe('notice');
    expect((await client.send('DELETE')).status).toBe(200);
    await stream.done;
    client.at = gate;
    expect((await client.request(4, 'tools/list')).status).toBe(404);
  });

  it('ends with its run', async () => {
    const stream = await client.get();
    const session = stand.sessions.get(SESSION);
    if (!session) throw new Error('no session');
    await expect.poll(() => peer.filters().length).toBe(1);
    stand.sessions.set(SESSION, { ...session, ended: true });
    stand.changed(SESSION);
    await stream.done;
    stand.sessions.set(SESSION, session);
    expect([peer.filters().length, gate.calls.size]).toEqual([0, 0]);
  });
});

describe('a call of a legacy client', () => {
  it('asks the client, whose answer is a message of its own', async () => {
    const asking = await call('asks');
    await expect.poll(() => asking.messages().length).toBe(1);
    const [asked] = asking.messages();
    expect(asked).toMatchObject(ELICIT);
    const result = { action: 'accept', content: { a: 1 } };
    expect((await client.post({ jsonrpc: '2.0', id: asked?.['id'], result })).status).toBe(202);
    expect((await whole(Promise.resolve(asking))).result).toEqual({ content: [], heard: { result } });
  });

  it('takes back what it asked in vain', async () => {
    const asking = await call('asks-in-vain');
    await asking.done;
    const [asked, back, { result } = {}] = asking.messages();
    expect(back).toMatchObject({ method: 'notifications/cancelled', params: { requestId: asked?.['id'] } });
    expect(result).toMatchObject({ heard: { error: { code: -32_603 } } });
  });

  it('is answered and cancelled at any gate', async () => {
    const replica = await stand.gate();
    const [asking, waiting] = [await call('asks'), await call('waits', 'w', { progressToken: 1 })];
    await expect.poll(() => [asking, waiting].map((each) => each.messages().length)).toEqual([1, 1]);
    const before = cancelled;
    client.at = replica;
    const result = { action: 'decline' };
    await client.post({ jsonrpc: '2.0', id: asking.messages()[0]?.['id'], result });
    expect((await whole(Promise.resolve(asking))).result).toEqual({ content: [], heard: { result } });
    await client.post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'w' } });
    await waiting.done;
    expect(cancelled).toBe(before + 1);
    await replica.stop();
  });

  it('asks only what the client can', async () => {
    client = await initializeByHand(stand, gate, { server: 'one', capabilities: {} });
    const { result } = await whole(call('asks'));
    expect(result['heard']).toMatchObject({ error: { code: -32_601 } });
  });

  it('goes through the rounds of a modern server', async () => {
    const asking = await call('modern-asks');
    for (const round of [1, 2]) {
      await expect.poll(() => asking.messages().length).toBe(round);
      const id = asking.messages().at(-1)?.['id'];
      await client.post({ jsonrpc: '2.0', id, result: { action: 'decline', round } });
    }
    expect((await whole(Promise.resolve(asking))).result).toEqual({
      content: [],
      inputResponses: { q: { action: 'decline', round: 2 } },
    });
    expect(peer.asked).toHaveLength(3);
  });

  it('is cancelled by a notification, and not answered', async () => {
    const before = cancelled;
    const waiting = await call('waits', 'c', { progressToken: 5 });
    await expect.poll(() => waiting.messages().length).toBe(1);
    expect(waiting.messages()).toMatchObject([
      { method: 'notifications/progress', params: { progress: 1, progressToken: 5 } },
    ]);
    await client.post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'other' } });
    await client.post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'c' } });
    await waiting.done;
    expect([cancelled, waiting.messages().length]).toEqual([before + 1, 1]);
    await expect.poll(() => gate.calls.size).toBe(0);
    expect(peer.notified).toEqual([]);
  });

  it('goes on when the client loses its connection, and its stream is taken up again', async () => {
    const waiting = await call('waits', 9, { progressToken: 5 });
    await expect.poll(() => waiting.ids().length).toBe(2);
    const [primed = '', last = ''] = waiting.ids();
    waiting.leave();
    await expect(waiting.done).rejects.toThrow();
    release();
    await expect.poll(() => gate.calls.size).toBe(0);
    const resumed = await client.get({ 'last-event-id': last });
    await resumed.done;
    expect(resumed.messages()).toMatchObject([
      { method: 'notifications/message', params: { data: 'nearly' } },
      { id: 9, result: { content: [] } },
    ]);
    const fromTheStart = await client.get({ 'last-event-id': primed });
    await fromTheStart.done;
    expect(fromTheStart.messages()).toHaveLength(3);
    const stranger = await initializeByHand(stand, gate, { server: 'one' });
    const stolen = await stranger.get({ 'last-event-id': last });
    await stolen.done;
    expect(stolen.messages()).toMatchObject([{ id: 9, error: { data: { reason: 'lost' } } }]);
  });

  it('tells of a stream that died with its gate', async () => {
    const doomed = await stand.gate();
    client.at = doomed;
    const waiting = await call('waits', 10);
    await expect.poll(() => waiting.ids().length).toBe(1);
    const [id = ''] = waiting.ids();
    await doomed.stop();
    client.at = gate;
    const resumed = await client.get({ 'last-event-id': id });
    await resumed.done;
    expect(resumed.messages()).toMatchObject([{ id: 10, error: { code: 502, data: { reason: 'lost' } } }]);
  });

  it('says what the gate has to say', async () => {
    expect((await whole(call('no such'))).error).toEqual({
      code: 502,
      message: expect.stringContaining('vault/name'),
      data: { reason: 'credential_rejected', mayHaveRun: false },
    });
    expect((await whole(call('primitive'))).result).toEqual({
      content: [{ type: 'text', text: '[1,2]' }],
      structuredContent: { result: [1, 2] },
    });
    await client.post({ jsonrpc: '2.0', method: 'notifications/roots/list_changed' });
    await expect
      .poll(() => peer.notified)
      .toEqual([{ method: 'notifications/roots/list_changed', params: {} }]);
  });

  it('may come with others, in the revision that has it', async () => {
    client = await initializeByHand(stand, gate, { server: 'one', version: '2025-03-26' });
    const batch = await client.post([
      { jsonrpc: '2.0', id: 'a', method: 'ping' },
      { jsonrpc: '2.0', method: 'notifications/initialized' },
      { jsonrpc: '2.0', id: 'b', method: 'tools/list' },
    ]);
    await batch.done;
    expect(batch.messages().map(({ id }) => id)).toEqual(['a', 'b']);
  });
});

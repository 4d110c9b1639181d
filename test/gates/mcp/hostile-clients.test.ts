/** What clients may send and do that they should not: no fault, no answer of a server's, and nothing that grows. */
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OpenStreams } from '../../../gates/mcp/downstream/open-streams.ts';
import { type ByHand, initializeByHand } from '../../support/mcp-client.ts';
import { scriptPeer } from '../../support/mcp-peer.ts';
import { type McpStand, type StandGate, startMcpStand } from '../../support/mcp-stand.ts';

const peer = scriptPeer({ 'tools/call': () => ({ result: { content: [] } }) });
let stand: McpStand;
let gate: StandGate;
let client: ByHand;

beforeAll(async () => {
  stand = await startMcpStand(peer.way);
  gate = await stand.gate();
  client = await initializeByHand(stand, gate, { server: 'one' });
});
afterAll(() => stand.close());

const JSON_HEAD = { 'content-type': 'application/json' };
const METHODS = [
  'tools/call',
  'initialize',
  'subscriptions/listen',
  'notifications/cancelled',
  'logging/setLevel',
];
const MODERN = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
};
const message = fc.record(
  {
    jsonrpc: fc.constantFrom('2.0', '1.0', 2),
    id: fc.oneof(fc.integer(), fc.string(), fc.constant(null), fc.object()),
    method: fc.oneof(fc.constantFrom(...METHODS), fc.string()),
    params: fc.oneof(
      fc.object(),
      fc.array(fc.integer()),
      fc.record(
        {
          _meta: fc.oneof(fc.constant(MODERN), fc.object()),
          name: fc.oneof(fc.string(), fc.integer()),
          arguments: fc.anything({ maxDepth: 2 }),
          requestState: fc.string(),
          inputResponses: fc.object({ maxDepth: 1 }),
          notifications: fc.object({ maxDepth: 1 }),
          requestId: fc.oneof(fc.string(), fc.integer()),
        },
        { requiredKeys: [] },
      ),
    ),
    result: fc.object({ maxDepth: 1 }),
    error: fc.object({ maxDepth: 1 }),
  },
  { requiredKeys: [] },
);

describe('a body', () => {
  it('may be anything', async () => {
    const bodies = fc.oneof(
      message.map((each) => JSON.stringify(each)),
      fc.array(message, { maxLength: 3 }).map((each) => JSON.stringify(each)),
      fc.json(),
      fc.string(),
      fc.constantFrom(
        '{"__proto__":1}',
        `${'['.repeat(100)}${']'.repeat(100)}`,
        '{"\\u005f_proto__":{"a":1}}',
      ),
    );
    const heads = fc.record(
      {
        'mcp-protocol-version': fc.constantFrom('2026-07-28', '2025-11-25', '1', ''),
        'mcp-method': fc.constantFrom(...METHODS),
        'mcp-name': fc.constantFrom('x', '=?base64?!?=', ''),
        'mcp-session-id': fc.constantFrom('', 'x', 'AQDA_-4'),
      },
      { requiredKeys: [] },
    );
    await fc.assert(
      fc.asyncProperty(bodies, heads, async (body, head) => {
        const answer = await client.send('POST', { ...JSON_HEAD, ...head }, body);
        answer.leave();
        expect(answer.status).toBeLessThan(500);
      }),
      { numRuns: 300 },
    );
    expect(stand.faults).toEqual([]);
    await expect.poll(() => gate.calls.size).toBe(0);
  }, 60_000);

  it('has its limit', async () => {
    const long = JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { x: 'x'.repeat(5_000_000) },
    });
    expect((await client.send('POST', JSON_HEAD, long)).status).toBe(413);
    const many = Array.from({ length: 101 }, (_, id) => ({ jsonrpc: '2.0', id, method: 'ping' }));
    expect((await client.post(many)).status).toBe(400);
  });
});

describe('an event id', () => {
  it('may be anything', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          fc.base64String({ maxLength: 60 }),
          fc.json().map((text) => Buffer.from(text).toString('base64url')),
        ),
        async (id) => {
          const answer = await client.get({ 'last-event-id': id });
          answer.leave();
          expect(answer.status).toBe(200);
        },
      ),
      { numRuns: 100 },
    );
    expect(stand.faults).toEqual([]);
    await expect.poll(() => gate.calls.size).toBe(0);
  }, 60_000);
});

describe('what is open', () => {
  it('is counted for each session and in all', () => {
    const open = new OpenStreams({ ofSession: 2, inAll: 3 });
    const ended: string[] = [];
    const enter = (session: string) => open.enter(session, () => ended.push(session));
    const [first] = [enter('a'), enter('a')];
    expect([enter('a'), enter('b') !== null, enter('b')]).toEqual([null, true, null]);
    first?.();
    first?.();
    expect([enter('a') !== null, enter('a')]).toEqual([true, null]);
    open.close();
    expect([ended, enter('c')]).toEqual([['a', 'b', 'a'], null]);
  });

  it('is refused where it is too much', async () => {
    const waits: (() => void)[] = [];
    peer.plays['tools/call'] = () =>
      new Promise((resolve) => waits.push(() => resolve({ result: { content: [] } })));
    for (let id = 0; id < 256; id += 1) (await client.request(id, 'tools/call', { name: 'w' })).leave();
    const refused = await client.request('more', 'tools/call', { name: 'w' });
    await refused.done;
    expect([refused.status, refused.messages()]).toMatchObject([
      429,
      [{ id: 'more', error: { code: 429, data: { reason: 'mcp_busy' } } }],
    ]);
    for (const end of waits) end();
    await expect.poll(() => gate.calls.size).toBe(0);
    expect((await client.request('again', 'ping')).status).toBe(200);
  }, 60_000);
});

/** The ledger through the real gates: what large, compressed and broken answers used and cost, and whose they were. */
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startTestGates, type TestGates, type TestRun } from '../support/gates.ts';
import { type Behaviour, type Provider, startProvider } from '../support/provider.ts';

let provider: Provider;
let gates: TestGates;
let run: TestRun;

beforeAll(async () => {
  provider = await startProvider('provider.test');
  gates = await startTestGates([provider]);
  await gates.world.call('PUT', '/v1/vaults/test');
  for (const [name, upstreamName] of [
    ['openai', 'gpt-5'],
    ['anthropic', 'claude-sonnet-4-5'],
    ['custom', 'gpt-5'],
  ] as const) {
    await gates.world.call('PUT', `/v1/vaults/test/credentials/${name}`, {
      kind: 'model_key',
      hosts: [`${provider.host}:${provider.port}`],
      secret: { value: 'sk-of-a-provider-in-a-test' },
    });
    await gates.world.call('PUT', `/v1/models/${name}`, {
      provider: name,
      baseUrl: `https://${provider.host}:${provider.port}`,
      upstreamName,
      credential: `test/${name}`,
      ...(name === 'custom' ? { dialects: ['openai'] } : {}),
    });
  }
});
beforeEach(async () => {
  run = await gates.run();
});
afterAll(async () => {
  await gates?.close();
  await provider?.close();
});

/** What the row has besides. */
interface More {
  readonly cost: string | null;
  readonly provider: string;
  readonly session: string | null;
  readonly agent: string | null;
}

const USAGE =
  '"usage":{"prompt_tokens":1000,"completion_tokens":100,"prompt_tokens_details":{"cached_tokens":800}}';
const USED = ['1000', '100', '800', '0.0013500000'];
const MEBIBYTES = 1024 * 1024;

const answerWith =
  (body: string | Buffer, headers: Record<string, string> = {}): Behaviour =>
  (_asked, response) => {
    response.writeHead(200, { 'content-type': 'application/json', ...headers });
    response.end(body);
  };

async function call(
  model: string,
  path = '/v1/chat/completions',
  headers: Readonly<Record<string, string>> = {},
) {
  const reply = await gates.ask(path, {
    headers: { authorization: `Bearer ${run.token}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ model, max_tokens: 10, messages: [] }),
  });
  const [row] = await gates.usage(run, 1);
  if (!row) throw new Error('no row');
  const [more] = await gates.owner.query<More>(
    'SELECT cost_usd AS cost, provider, client_session AS session, client_agent AS agent FROM model_usage WHERE session_id = $1',
    [run.session],
  );
  return { reply, row, more };
}

describe('the ledger has the tokens and the cost', () => {
  const large = `"text":"${'all work and no play '.repeat(MEBIBYTES)}"`;
  const ANSWERS: readonly (readonly [name: string, behave: Behaviour])[] = [
    ['of a small answer', answerWith(`{${USAGE}}`)],
    ['at the end of 20 MiB', answerWith(`{${large},${USAGE}}`)],
    ['at the head of 20 MiB', answerWith(`{${USAGE},${large}}`)],
    ['of a compressed answer', answerWith(gzipSync(`{${USAGE}}`), { 'content-encoding': 'gzip' })],
    ['of 20 MiB compressed', answerWith(gzipSync(`{${large},${USAGE}}`), { 'content-encoding': 'gzip' })],
    [
      'of a compressed stream',
      answerWith(brotliCompressSync(`data: {"choices":[],${USAGE}}\n\ndata: [DONE]\n\n`), {
        'content-type': 'text/event-stream',
        'content-encoding': 'br',
      }),
    ],
  ];
  for (const [name, behave] of ANSWERS) {
    it(name, async () => {
      provider.behave = behave;
      const { reply, row, more } = await call('openai');
      expect([reply.status, reply.whole]).toEqual([200, true]);
      expect([row.input_tokens, row.output_tokens, row.cached_tokens, more?.cost]).toEqual(USED);
      expect([row.outcome, more?.provider]).toEqual(['completed', 'openai']);
    });
  }

  it('of what was told before the provider died', async () => {
    provider.behave = (_asked, response, socket) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const usage = '{"input_tokens":3,"cache_creation_input_tokens":12304,"output_tokens":550}';
      response.write(`event: message_start\ndata: {"type":"message_start","message":{"usage":${usage}}}\n\n`);
      setImmediate(() => socket.destroy());
    };
    const { row, more } = await call('anthropic', '/v1/messages');
    expect([row.input_tokens, row.output_tokens, row.cache_write_tokens, row.outcome]).toEqual([
      '12307',
      '550',
      '12304',
      'provider_died',
    ]);
    expect(Number(more?.cost)).toBeCloseTo((3 * 3 + 12_304 * 3.75 + 550 * 15) / 1e6, 10);
  });
});

describe('what a provider tells that cannot be', () => {
  const MOST = Number.MAX_SAFE_INTEGER;
  it.each([
    [
      'of its tokens',
      `{"usage":{"prompt_tokens":${MOST},"completion_tokens":${MOST},"total_tokens":${MOST}}}`,
    ],
    ['of the parts', `{"usage":{"prompt_tokens":1,"prompt_tokens_details":{"cached_tokens":${MOST}}}}`],
    ['in a number without end', '{"usage":{"prompt_tokens":1e999,"completion_tokens":-1e999,"cost":1e299}}'],
  ])('%s: the call has its row all the same, charged what it had reserved', async (_, body) => {
    provider.behave = answerWith(body);
    const { row, more } = await call('openai');
    expect([row.outcome, row.output_tokens]).toEqual(['completed', '10']);
    expect(Number(more?.cost)).toBeGreaterThan(0);
    expect(await gates.owner.query('SELECT id FROM reservations')).toEqual([]);
  });
});

describe('the ledger has no cost', () => {
  it('where there is no list price', async () => {
    provider.behave = answerWith(`{${USAGE}}`);
    const { row, more } = await call('custom');
    expect([row.input_tokens, more?.cost]).toEqual(['1000', null]);
  });

  it('and no tokens of a call that only asks for a count', async () => {
    provider.behave = answerWith('{"input_tokens":2095}');
    const { reply, row, more } = await call('anthropic', '/v1/messages/count_tokens');
    expect(reply.text).toBe('{"input_tokens":2095}');
    expect([row.input_tokens, row.output_tokens, more?.cost]).toEqual(['0', '0', '0.0000000000']);
  });
});

it('the ledger has what the client says of itself', async () => {
  provider.behave = answerWith(`{${USAGE}}`);
  const hints = { 'X-Claude-Code-Session-Id': 'client-session', 'X-Claude-Code-Agent-Id': 'client-agent' };
  const { more } = await call('openai', '/v1/chat/completions', hints);
  expect([more?.session, more?.agent]).toEqual(['client-session', 'client-agent']);
  expect(provider.asked.at(-1)?.headers['x-claude-code-agent-id']).toBe('client-agent');
});

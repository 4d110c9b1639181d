/** What is charged for streams that end before their providers told all: in every dialect, whoever ended them. */
import { brotliCompressSync, constants } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestGates, type TestGates } from '../support/gates.ts';
import { type Behaviour, type Provider, startProvider } from '../support/provider.ts';

let provider: Provider;
let gates: TestGates;
beforeAll(async () => {
  provider = await startProvider('cut.test', { plain: true });
  gates = await startTestGates([provider]);
  const baseUrl = `http://${provider.host}:${provider.port}`;
  for (const [name, upstreamName, dialects] of [
    ['openai', 'gpt-4o-mini', ['openai', 'responses']],
    ['anthropic', 'claude-sonnet-4-5', ['anthropic']],
    ['google', 'gemini-2.5-pro', ['gemini']],
  ] as const) {
    const model = { provider: name, baseUrl, upstreamName, dialects };
    await gates.world.call('PUT', `/v1/models/${name}`, model);
  }
  await gates.world.call('PUT', '/v1/budgets/tokens', {
    scope: 'tenant',
    measure: 'tokens',
    limit: 1e9,
    period: 'lifetime',
  });
});
afterAll(async () => {
  await gates?.close();
  await provider?.close();
});

/** Of its words each is a token. */
const PASSED_TOKENS = 4_000;
const TEXT = 'word '.repeat(PASSED_TOKENS);
const MAX_TOKENS = 8_000;

/** The first events of a stream that tells a first figure, with much text behind it. */
const STREAMS: Readonly<Record<string, { path: string; body: object; text: string; end: string }>> = {
  anthropic: {
    path: '/v1/messages',
    body: { model: 'anthropic', max_tokens: MAX_TOKENS, stream: true, messages: [] },
    text:
      'event: message_start\ndata: {"type":"message_start","message":{"usage":{"input_tokens":12,"output_tokens":1}}}\n\n' +
      `event: content_block_delta\ndata: {"type":"content_block_delta","delta":{"text":"${TEXT}"}}\n\n`,
    end:
      'event: message_delta\ndata: {"type":"message_delta","usage":{"output_tokens":7}}\n\n' +
      'event: message_stop\ndata: {"type":"message_stop"}\n\n',
  },
  openai: {
    path: '/v1/chat/completions',
    body: {
      model: 'openai',
      max_tokens: MAX_TOKENS,
      stream: true,
      stream_options: { include_usage: true },
      messages: [],
    },
    text:
      'data: {"choices":[{"delta":{}}],"usage":{"prompt_tokens":12,"completion_tokens":1}}\n\n' +
      `data: {"choices":[{"delta":{"content":"${TEXT}"}}]}\n\n`,
    end: 'data: {"choices":[],"usage":{"prompt_tokens":12,"completion_tokens":7}}\n\ndata: [DONE]\n\n',
  },
  gemini: {
    path: '/v1beta/models/google:streamGenerateContent?alt=sse',
    body: { contents: [], generationConfig: { maxOutputTokens: MAX_TOKENS } },
    text:
      'data: {"usageMetadata":{"promptTokenCount":12,"candidatesTokenCount":1}}\n\n' +
      `data: {"candidates":[{"content":{"parts":[{"text":"${TEXT}"}]}}]}\n\n`,
    end: 'data: {"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":12,"candidatesTokenCount":7}}\n\n',
  },
  'gemini as a list': {
    path: '/v1beta/models/google:streamGenerateContent',
    body: { contents: [], generationConfig: { maxOutputTokens: MAX_TOKENS } },
    text: `[{"usageMetadata":{"promptTokenCount":12,"candidatesTokenCount":1}},{"candidates":[{"content":{"parts":[{"text":"${TEXT}"}]}}]}`,
    end: ',{"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":12,"candidatesTokenCount":7}}]',
  },
};

interface Charged {
  readonly outcome: string;
  readonly input: number;
  readonly output: number;
  readonly cost: number;
  readonly presumed: boolean;
  /** What the budget's counter grew by. */
  readonly used: number;
}

async function used(): Promise<number> {
  const [row] = await gates.owner.query<{ used: number }>(
    'SELECT coalesce(sum(used), 0)::float8 AS used FROM budget_counters',
  );
  return row?.used ?? Number.NaN;
}

async function charge(
  { path, body, text }: { path: string; body: object; text: string },
  behave: Behaviour,
  leaves: boolean,
  headers: Readonly<Record<string, string>> = {},
): Promise<Charged> {
  const run = await gates.run();
  const before = await used();
  provider.behave = behave;
  const enough = Object.keys(headers).length > 0 ? 1 : Buffer.byteLength(text);
  await gates.ask(path, {
    headers: { authorization: `Bearer ${run.token}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
    ...(leaves ? { onData: (soFar: Buffer) => soFar.length >= enough } : {}),
  });
  await gates.usage(run, 1);
  const [row] = await gates.owner.query<Omit<Charged, 'used'>>(
    `SELECT outcome, input_tokens::int AS input, output_tokens::int AS output, cost_usd::float8 AS cost, presumed
       FROM model_usage WHERE session_id = $1`,
    [run.session],
  );
  if (!row) throw new Error('no row');
  return { ...row, used: (await used()) - before };
}

const open = (type = 'text/event-stream', headers: Readonly<Record<string, string>> = {}) => ({
  'content-type': type,
  ...headers,
});
const typeOf = (text: string): string => (text.startsWith('[') ? 'application/json' : 'text/event-stream');

function expectPassed({ outcome, input, output, cost, presumed, used: taken }: Charged, ended: string): void {
  expect([outcome, input, presumed]).toEqual([ended, 12, true]);
  expect(output).toBeGreaterThanOrEqual(PASSED_TOKENS);
  expect(output).toBeLessThanOrEqual(MAX_TOKENS);
  expect(cost).toBeGreaterThan(0);
  expect(taken).toBe(input + output);
}

describe.each(Object.entries(STREAMS))('%s: what passed is charged', (_, stream) => {
  it('where the caller left', async () => {
    const row = await charge(
      stream,
      (_asked, response) => {
        response.writeHead(200, open(typeOf(stream.text)));
        response.write(stream.text);
      },
      true,
    );
    expectPassed(row, 'client_left');
  });

  it('where the provider died', async () => {
    const row = await charge(
      stream,
      (_asked, response, socket) => {
        response.writeHead(200, open(typeOf(stream.text)));
        response.write(stream.text, () => socket.destroy());
      },
      false,
    );
    expectPassed(row, 'provider_died');
  });

  it('where a compressed stream was left', async () => {
    const flushed = { finishFlush: constants.BROTLI_OPERATION_FLUSH };
    const row = await charge(
      stream,
      (_asked, response) => {
        response.writeHead(200, open(typeOf(stream.text), { 'content-encoding': 'br' }));
        response.write(brotliCompressSync(stream.text, flushed));
      },
      true,
      { 'accept-encoding': 'br' },
    );
    expectPassed(row, 'client_left');
  });

  it('only as told, where it came to its end', async () => {
    const row = await charge(
      stream,
      (_asked, response) => {
        response.writeHead(200, open(typeOf(stream.text)));
        response.end(stream.text + stream.end);
      },
      false,
    );
    expect(row).toMatchObject({ outcome: 'completed', input: 12, output: 7, presumed: false, used: 19 });
  });
});

it('all that passed is charged of a stream without a limit that never told its usage', async () => {
  const event = `data: {"id":"c","choices":[{"index":0,"delta":{"content":"${'word '.repeat(200)}"}}]}\n\n`;
  const text = event.repeat(300);
  const body = { model: 'openai', stream: true, messages: [] };
  const row = await charge(
    { path: '/v1/chat/completions', body, text },
    (_asked, response) => {
      response.writeHead(200, open());
      response.write(text);
    },
    true,
  );
  expect([row.outcome, row.presumed]).toEqual(['client_left', true]);
  expect(row.output).toBeGreaterThan(45_000);
  expect(row.output).toBeLessThan(90_000);
  expect([row.cost > 0, row.used]).toEqual([true, row.input + row.output]);
});

it('an anthropic stream that ends in good order before its last event is charged for what passed', async () => {
  const stream = STREAMS['anthropic'];
  if (!stream) throw new Error('no stream');
  const row = await charge(
    stream,
    (_asked, response) => {
      response.writeHead(200, open());
      response.end(stream.text);
    },
    false,
  );
  expectPassed(row, 'completed');
});

/** Answers nothing but an error. */
async function chargeError(status: number, type: string, text: string, stream: boolean): Promise<Charged> {
  const body = { model: 'openai', max_tokens: 60_000, stream, messages: [] };
  return charge(
    { path: '/v1/chat/completions', body, text },
    (_asked, response) => {
      response.writeHead(status, { 'content-type': type });
      response.end(text);
    },
    false,
  );
}

describe('an error is charged', () => {
  const FAILED = JSON.stringify({ error: { code: 'tool_use_failed', failed_generation: TEXT } });
  it('for the words of the model in it', async () => {
    const row = await chargeError(400, 'application/json', FAILED, false);
    expect([row.outcome, row.presumed, row.used]).toEqual(['provider_error', true, row.input + row.output]);
    expect(row.output).toBeGreaterThanOrEqual(PASSED_TOKENS);
    expect(row.output).toBeLessThan(2 * PASSED_TOKENS);
  });

  it('for those in the only event of a stream, however long it is', async () => {
    const row = await chargeError(200, 'text/event-stream', `event: error\ndata: ${FAILED}\n\n`, true);
    expect([row.outcome, row.presumed, row.used]).toEqual(['provider_error', true, row.input + row.output]);
    expect(row.output).toBeGreaterThanOrEqual(PASSED_TOKENS);
    expect(row.output).toBeLessThan(2 * PASSED_TOKENS);
  });

  it.each([
    ['a message', 400, 'application/json', '{"error":{"message":"no such thing","failed_generation":null}}'],
    ['a page', 502, 'text/html', `<html>${'<p>Bad gateway</p>'.repeat(500)}</html>`],
    ['nothing', 500, 'application/json', ''],
  ])('nothing where it is %s', async (_, status, type, text) => {
    const row = await chargeError(status, type, text, false);
    expect(row).toMatchObject({ outcome: 'provider_error', input: null, presumed: false, used: 0 });
  });
});

it('a built-in model that is left is charged for what passed', async () => {
  const words = 'word '.repeat(2_000);
  const body = {
    model: 'fixture/echo',
    max_tokens: MAX_TOKENS,
    stream: true,
    messages: [{ role: 'user', content: words }],
  };
  const {
    output,
    cost,
    used: taken,
    input,
  } = await charge(
    { path: '/v1/messages', body, text: words },
    (_asked, response) => void response.end(),
    true,
  );
  expect(output).toBeGreaterThanOrEqual(2_000);
  expect([cost, taken]).toEqual([0, input + output]);
});

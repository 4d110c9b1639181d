/** The fixture models through the gates, in every dialect: what they say, what the ledger has of it, and how they end. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sample } from '../../cli/dialect-samples.ts';
import { DIALECTS, type Dialect } from '../../core-lite/state/dialect.ts';
import { type Reply, startTestGates, type TestGates, type TestRun } from '../support/gates.ts';

let gates: TestGates;
let run: TestRun;

beforeAll(async () => {
  gates = await startTestGates([]);
  run = await gates.run();
}, 60_000);
afterAll(async () => gates?.close());

type Json = Readonly<Record<string, unknown>>;

async function ask(path: string, body: object, { token } = run): Promise<Reply> {
  return gates.ask(path, { headers: { 'x-api-key': token }, body: JSON.stringify(body) });
}

/** What a dialect is asked in, and how its answers are read. */
interface Way {
  readonly path: (model: string, streamed: boolean) => string;
  readonly body: (model: string, text: string, more?: Json) => Json;
  readonly streamed: Json;
  readonly tools: Json;
  /** The second turn: what was called and what it gave back. */
  readonly result: Json;
  readonly text: RegExp;
  readonly call: RegExp;
  readonly usage: RegExp;
  readonly end: RegExp;
}

const SCHEMA = { type: 'object', properties: { city: { type: 'string' } } };
const WAYS: Readonly<Record<Exclude<Dialect, 'embeddings'>, Way>> = {
  openai: {
    path: () => '/v1/chat/completions',
    body: (model, content, more) => ({ model, messages: [{ role: 'user', content }], ...more }),
    streamed: { stream: true, stream_options: { include_usage: true } },
    tools: { tools: [{ type: 'function', function: { name: 'weather', parameters: SCHEMA } }] },
    result: { messages: [{ role: 'tool', tool_call_id: 'c', content: 'sunny' }] },
    text: /"content":"([^"]*)"/g,
    call: /"function":\{"name":"weather"/,
    usage: /"prompt_tokens":(\d+),"completion_tokens":(\d+)/,
    end: /\n\ndata: \[DONE\]\n\n$/,
  },
  responses: {
    path: () => '/v1/responses',
    body: (model, input, more) => ({ model, input, ...more }),
    streamed: { stream: true },
    tools: { tools: [{ type: 'web_search' }, { type: 'function', name: 'weather', parameters: SCHEMA }] },
    result: { input: [{ type: 'function_call_output', call_id: 'c', output: 'sunny' }] },
    text: /"delta":"([^"]*)"|^\{"id".*?"text":"([^"]*)"/g,
    call: /"name":"weather","arguments":"\{\\"city\\":\\"text\\"\}"/,
    usage: /"input_tokens":(\d+),.*"output_tokens":(\d+)/,
    end: /\n\nevent: response.completed\ndata: .*\n\n$/,
  },
  anthropic: {
    path: () => '/v1/messages',
    body: (model, content, more) => ({
      model,
      max_tokens: 9,
      messages: [{ role: 'user', content }],
      ...more,
    }),
    streamed: { stream: true },
    tools: {
      tools: [
        { type: 'web_search_20250305', name: 'web' },
        { name: 'weather', input_schema: SCHEMA },
      ],
    },
    result: {
      messages: [{ role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c', content: 'sunny' }] }],
    },
    text: /"text":"([^"]*)"/g,
    call: /"type":"tool_use","id":"\w+","name":"weather"/,
    usage: /"input_tokens":(\d+)(?:.|\n)*"output_tokens":(\d+)\}[^{]*(?:\n|$)/,
    end: /\n\nevent: message_stop\ndata: .*\n\n$/,
  },
  gemini: {
    path: (model, streamed) =>
      `/v1beta/models/${model}:${streamed ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    body: (_model, text, more) => ({ contents: [{ role: 'user', parts: [{ text }] }], ...more }),
    streamed: {},
    tools: { tools: [{ functionDeclarations: [{ name: 'weather', parameters: SCHEMA }] }] },
    result: { contents: [{ parts: [{ functionResponse: { name: 'weather', response: { is: 'sunny' } } }] }] },
    text: /"text":"([^"]*)"/g,
    call: /"functionCall":\{"name":"weather","args":\{"city":"text"\}\}/,
    usage: /"promptTokenCount":(\d+),"totalTokenCount":\d+,"candidatesTokenCount":(\d+)/,
    end: /"finishReason":"STOP".*\r\n\r\n$/,
  },
};

function said(text: string, { text: pattern }: Way): string {
  return [...text.matchAll(pattern)].map((match) => match[1] ?? match[2] ?? '').join('');
}

describe('fixture/echo', () => {
  for (const [dialect, way] of Object.entries(WAYS)) {
    for (const streamed of [false, true]) {
      it(`repeats, and is metered: ${dialect}, ${streamed ? 'streamed' : 'whole'}`, async () => {
        const mine = await gates.run();
        const body = way.body('fixture/echo', 'say héllo 漢字 🎉', streamed ? way.streamed : {});
        const reply = await ask(way.path('fixture/echo', streamed), body, mine);
        expect([reply.status, reply.whole, said(reply.text, way)]).toEqual([200, true, 'say héllo 漢字 🎉']);
        if (streamed) expect(reply.text).toMatch(way.end);
        const [, input, output] = way.usage.exec(reply.text) ?? [];
        expect((await gates.usage(mine, 1))[0]).toMatchObject({
          dialect,
          streamed,
          outcome: 'completed',
          input_tokens: input,
          output_tokens: output,
          cost_usd: expect.stringMatching(/^0(?:\.0+)?$/),
        });
        expect([input, output]).toEqual(['4', '4']);
        expect((await ask(way.path('fixture/echo', streamed), body)).body).toEqual(reply.body);
      });
    }
  }

  it('tells a stream’s usage only to who asks for it, and the ledger always', async () => {
    const mine = await gates.run();
    const body = WAYS.openai.body('fixture/echo', 'one two', { stream: true });
    const reply = await ask('/v1/chat/completions', body, mine);
    expect(reply.text).toMatch(WAYS.openai.end);
    expect(reply.text).not.toContain('usage');
    expect((await gates.usage(mine, 1))[0]).toMatchObject({ input_tokens: '2', output_tokens: '2' });
  });

  it('streams a list to Google’s clients that ask for no events', async () => {
    const body = WAYS.gemini.body('fixture/echo', 'one two three');
    const reply = await ask('/v1beta/models/fixture/echo:streamGenerateContent', body);
    expect(JSON.parse(reply.text)).toMatchObject([{}, {}, { candidates: [{ finishReason: 'STOP' }] }]);
    expect(reply.headers['content-type']).toBe('application/json');
  });

  it('counts tokens, for nothing', async () => {
    const mine = await gates.run();
    const { anthropic, gemini } = WAYS;
    const counted = [
      await ask(
        '/v1/messages/count_tokens',
        { ...anthropic.body('fixture/echo', 'a b c'), system: 'd' },
        mine,
      ),
      await ask('/v1beta/models/fixture/echo:countTokens', gemini.body('fixture/echo', 'a b'), mine),
    ].map(({ text }) => JSON.parse(text));
    expect(counted).toMatchObject([{ input_tokens: 4 }, { totalTokens: 2 }]);
    expect(await gates.usage(mine, 2)).toMatchObject([{ input_tokens: '0' }, { input_tokens: '0' }]);
  });

  it('embeds the same as the same, as numbers and in base64', async () => {
    const embed = async (input: unknown, more: Json = {}) =>
      JSON.parse((await ask('/v1/embeddings', { model: 'fixture/echo', input, ...more })).text);
    const { data, usage } = await embed(['one two', 'three', 'one two']);
    expect(usage).toEqual({ prompt_tokens: 5, total_tokens: 5 });
    expect(data[0].embedding).toEqual(data[2].embedding);
    expect(data[0].embedding).not.toEqual(data[1].embedding);
    const [coded] = (await embed('one two', { encoding_format: 'base64' })).data;
    const bytes = Buffer.from(coded.embedding, 'base64');
    expect([0, 4].map((at) => bytes.readFloatLE(at))).toEqual(data[0].embedding.slice(0, 2));
    expect((await embed([1, 2, 3], { dimensions: 33 })).data[0].embedding).toHaveLength(33);
    expect((await embed({})).error.code).toBe('body_malformed');
  });

  for (const dialect of DIALECTS) {
    it(`refuses what is no body of its dialect: ${dialect}`, async () => {
      const { path } = sample(dialect, 'fixture/echo', 'x');
      expect((await ask(path, { model: 'fixture/echo' })).headers['sallyport-reason']).toBe('body_malformed');
    });
  }
});

describe('fixture/tools', () => {
  for (const [dialect, way] of Object.entries(WAYS)) {
    for (const streamed of [false, true]) {
      it(`calls the first tool, then says what came: ${dialect}, ${streamed ? 'streamed' : 'whole'}`, async () => {
        const path = way.path('fixture/tools', streamed);
        const more = { ...way.tools, ...(streamed ? way.streamed : {}) };
        const called = await ask(path, way.body('fixture/tools', 'how is it?', more));
        expect(called.text).toMatch(way.call);
        expect(called.text).not.toContain('how is it');
        const then = await ask(path, way.body('fixture/tools', '', { ...more, ...way.result }));
        expect(then.text).toContain('sunny');
        expect(then.text).not.toMatch(way.call);
        const plain = await ask(path, way.body('fixture/tools', 'no tools'));
        expect(said(plain.text, way)).toBe('no tools');
      });
    }
  }
});

describe('fixture/slow', () => {
  for (const [dialect, way] of Object.entries(WAYS)) {
    it(`takes its time: ${dialect}`, async () => {
      const body = way.body('fixture/slow', '3 events, delay 30ms', way.streamed);
      const began = performance.now();
      const arrivals: number[] = [];
      const reply = await gates.ask(way.path('fixture/slow', true), {
        headers: { 'x-api-key': run.token },
        body: JSON.stringify(body),
        onData: () => void arrivals.push(performance.now()),
      });
      expect(said(reply.text, way)).toBe('1 2 3');
      expect(performance.now() - began).toBeGreaterThanOrEqual(85);
      expect(arrivals.length).toBeGreaterThan(2);
    });

    it(`ends when its run does, and says so: ${dialect}`, async () => {
      const mine = await gates.run();
      let cancelled: Promise<unknown> | undefined;
      const reply = await gates.ask(way.path('fixture/slow', true), {
        headers: { 'x-api-key': mine.token },
        body: JSON.stringify(way.body('fixture/slow', '9999 delay 20ms', way.streamed)),
        onData: () => {
          cancelled ??= gates.world.call('POST', `/v1/turns/${mine.turn}/cancel`);
          return undefined;
        },
      });
      await cancelled;
      expect(reply.text).toContain('run_stale');
      expect((await gates.usage(mine, 1))[0]).toMatchObject({ outcome: 'run_stale', status: 200 });
    });
  }

  it('ends when its caller leaves', async () => {
    const mine = await gates.run();
    await gates.ask('/v1/messages', {
      headers: { 'x-api-key': mine.token },
      body: JSON.stringify(WAYS.anthropic.body('fixture/slow', 'delay 60s', { stream: true })),
      onData: () => true,
    });
    expect((await gates.usage(mine, 1))[0]).toMatchObject({ outcome: 'client_left', input_tokens: '2' });
  });

  it('answers whole as late as it would have ended', async () => {
    const began = performance.now();
    const reply = await ask('/v1/responses', WAYS.responses.body('fixture/slow', '4 delay 25 ms'));
    expect(said(reply.text, WAYS.responses)).toBe('1 2 3 4');
    expect(performance.now() - began).toBeGreaterThanOrEqual(95);
  });
});

describe('a built-in model', () => {
  const words = (bytes: number): object => ({
    messages: [{ role: 'user', content: 'a '.repeat(bytes / 2) }],
  });

  it('says a long text again whole, in pieces that are not too many', async () => {
    const content = 'a '.repeat(500_000);
    const body = { model: 'fixture/echo', messages: [{ role: 'user', content }], stream: true };
    const reply = await ask('/v1/chat/completions', body);
    const pieces = [...reply.text.matchAll(/"content":"( ?a[^"]*)"/g)].map(([, piece]) => piece);
    // Not as two texts: a difference would be printed.
    expect(pieces.join('').trim() === content.trim()).toBe(true);
    expect(pieces.length).toBeLessThanOrEqual(5_001);
  });

  it('takes no body of more than 1 MiB, in any dialect', async () => {
    for (const [path, model] of [
      ['/v1/chat/completions', 'fixture/echo'],
      ['/v1/messages', 'fixture/tools'],
      ['/v1/messages/count_tokens', 'fixture/slow'],
      ['/v1/embeddings', 'fixture/echo'],
      ['/v1beta/models/fixture/echo:generateContent', 'fixture/echo'],
    ] as const) {
      const reply = await ask(path, { model, ...words(1024 * 1024) });
      expect([path, reply.status, reply.headers['sallyport-reason']]).toEqual([path, 413, 'body_too_large']);
      expect(reply.text).toContain('a built-in model reads at most 1 MiB');
    }
  });

  it('embeds no more than it can say soon', async () => {
    const asked = (count: number) => ({
      model: 'fixture/echo',
      input: Array(count).fill('a'),
      dimensions: 4_096,
    });
    expect((await ask('/v1/embeddings', asked(64))).status).toBe(200);
    const reply = await ask('/v1/embeddings', asked(65));
    expect([reply.status, reply.headers['sallyport-reason']]).toEqual([400, 'body_malformed']);
  });
});

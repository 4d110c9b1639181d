/**
 * Streams through the real gates, end to end: each family of SDKs hears of a provider that dies, whoever leaves or is
 * stopped ends the provider's call, and a kept connection is never a reason for a failure or for a call made twice.
 */

import { request as httpRequest } from 'node:http';
import { connect, type Socket } from 'node:net';
import { createAnthropic } from '@ai-sdk/anthropic';
import { createGoogle } from '@ai-sdk/google';
import { createOpenAI } from '@ai-sdk/openai';
import Anthropic from '@anthropic-ai/sdk';
import { GoogleGenAI } from '@google/genai';
import { type LanguageModel, streamText } from 'ai';
import OpenAI from 'openai';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { DIALECTS } from '../../core-lite/state/dialect.ts';
import { putModel, startTestGates, type TestGates, type TestRun } from '../support/gates.ts';
import { type Provider, startProvider } from '../support/provider.ts';
import { type RawProvider, startRawProvider } from '../support/raw-provider.ts';

const KEY = 'sk-canary-streams-5e20';
/** What breaks off can be reset only where it is in the clear. */
let plain: Provider;
let secure: Provider;
let raw: RawProvider;
let gates: TestGates;
let run: TestRun;
let base: string;

beforeAll(async () => {
  plain = await startProvider('plain.test', { plain: true });
  secure = await startProvider('secure.test');
  raw = await startRawProvider();
  gates = await startTestGates([plain, secure, raw]);
  await putModel(gates, 'raw', raw, { key: KEY, dialects: DIALECTS });
  await putModel(gates, 'plain', plain, { key: KEY, dialects: DIALECTS });
  await putModel(gates, 'secure', secure, { key: KEY, dialects: DIALECTS });
  base = `http://127.0.0.1:${gates.gates.address.port}`;
}, 60_000);
beforeEach(async () => {
  run = await gates.run();
});
afterEach(() => {
  for (const provider of [plain, secure]) provider.asked.length = 0;
  expect(gates.world.logged()).not.toContain(KEY);
});
afterAll(async () => {
  await gates?.close();
  await plain?.close();
  await secure?.close();
  await raw?.close();
});

const CHUNK =
  '{"id":"1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"half of"},"finish_reason":null}]}';
const RESPONSE =
  '{"id":"r","object":"response","created_at":1,"status":"in_progress","model":"m","output":[]}';
/** How a stream of each dialect begins. */
const BEGINNINGS = {
  openai: `data: ${CHUNK}\n\n`,
  responses:
    `event: response.created\ndata: {"type":"response.created","sequence_number":0,"response":${RESPONSE}}\n\n` +
    'event: response.output_item.added\ndata: {"type":"response.output_item.added","sequence_number":1,"output_index":0,"item":{"id":"m1","type":"message","role":"assistant","status":"in_progress","content":[]}}\n\n' +
    'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","sequence_number":2,"item_id":"m1","output_index":0,"content_index":0,"delta":"half of"}\n\n',
  anthropic:
    'event: message_start\ndata: {"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}}\n\n' +
    'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}\n\n' +
    'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"half of"}}\n\n',
  gemini: 'data: {"candidates":[{"content":{"role":"model","parts":[{"text":"half of"}]},"index":0}]}\n\n',
} as const;
type Begun = keyof typeof BEGINNINGS;

const DEATHS: Readonly<Record<string, (socket: Socket) => void>> = {
  'a reset': (socket) => socket.resetAndDestroy(),
  'a hang-up before the last chunk': (socket) => socket.end(),
  'a hang-up inside a chunk': (socket) => socket.end('40\r\nda'),
  garbage: (socket) => socket.write('this is no chunk\r\n'),
  'a hang-up inside an event': (socket) => socket.end('8\r\ndata: {"\r\n'),
};

const messages = [{ role: 'user' as const, content: 'go on' }];
/** Each takes a stream to its end, and rejects where its SDK says that it failed. */
const CLIENTS: readonly (readonly [
  name: string,
  dialect: Begun,
  ask: (model: string) => Promise<unknown>,
])[] = [
  [
    'openai, chat',
    'openai',
    async (model) => drain(await openai().chat.completions.create({ model, messages, stream: true })),
  ],
  [
    'openai, responses',
    'responses',
    async (model) => drain(await openai().responses.create({ model, input: 'go on', stream: true })),
  ],
  [
    '@anthropic-ai/sdk',
    'anthropic',
    async (model) =>
      drain(await anthropic().messages.create({ model, messages, max_tokens: 9, stream: true })),
  ],
  [
    '@anthropic-ai/sdk, helper',
    'anthropic',
    (model) => anthropic().messages.stream({ model, messages, max_tokens: 9 }).finalText(),
  ],
  [
    '@google/genai',
    'gemini',
    async (model) => drain(await google().models.generateContentStream({ model, contents: 'go on' })),
  ],
  [
    'ai, openai chat',
    'openai',
    (model) => say(createOpenAI({ baseURL: `${base}/v1`, apiKey: run.token }).chat(model)),
  ],
  [
    'ai, openai responses',
    'responses',
    (model) => say(createOpenAI({ baseURL: `${base}/v1`, apiKey: run.token }).responses(model)),
  ],
  [
    'ai, anthropic',
    'anthropic',
    (model) => say(createAnthropic({ baseURL: `${base}/v1`, apiKey: run.token })(model)),
  ],
  [
    'ai, google',
    'gemini',
    (model) => say(createGoogle({ baseURL: `${base}/v1beta`, apiKey: run.token })(model)),
  ],
];
const openai = (): OpenAI => new OpenAI({ baseURL: `${base}/v1`, apiKey: run.token, maxRetries: 0 });
const anthropic = (): Anthropic => new Anthropic({ baseURL: base, apiKey: run.token, maxRetries: 0 });
const google = (): GoogleGenAI => new GoogleGenAI({ apiKey: run.token, httpOptions: { baseUrl: base } });

async function drain(stream: AsyncIterable<unknown>): Promise<void> {
  for await (const _event of stream);
}

async function say(model: LanguageModel): Promise<string> {
  let failure: unknown = null;
  const { textStream } = streamText({
    model,
    prompt: 'go on',
    maxRetries: 0,
    maxOutputTokens: 9,
    onError: ({ error }) => {
      failure = error;
    },
  });
  let said = '';
  for await (const text of textStream) said += text;
  if (failure) throw failure;
  return said;
}

describe('a provider that dies in the middle of a stream', () => {
  for (const [name, dialect, ask] of CLIENTS) {
    for (const [how, die] of Object.entries(DEATHS)) {
      it(`is an error to ${name}: ${how}`, async () => {
        plain.behave = (_asked, response, socket) => {
          response.writeHead(200, { 'content-type': 'text/event-stream' });
          response.write(BEGINNINGS[dialect], () => setImmediate(die, socket));
        };
        await expect(ask('plain')).rejects.toThrow();
        expect(await gates.usage(run, 1)).toMatchObject([{ dialect, outcome: 'provider_died', status: 200 }]);
      });
    }
  }

  it('is named by the code in what the SDKs throw', async () => {
    for (const [name, dialect, ask] of CLIENTS.filter(([each]) => !each.startsWith('ai,'))) {
      secure.behave = (_asked, response, socket) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(BEGINNINGS[dialect], () => setImmediate(() => socket.destroy()));
      };
      const error: unknown = await ask('secure').catch((thrown: unknown) => thrown);
      expect([name, String((error as Error).message)]).toEqual([
        name,
        expect.stringMatching(/broke off|provider_died/),
      ]);
    }
  });

  it('cuts off an array of Gemini’s, which is no stream of events', async () => {
    plain.behave = (_asked, response, socket) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.write('[{"candidates":[]}\n,', () => setImmediate(() => socket.destroy()));
    };
    const reply = await gates.ask('/v1beta/models/plain:streamGenerateContent', {
      headers: { 'x-goog-api-key': run.token },
      body: '{"contents":[]}',
    });
    expect([reply.text, reply.whole]).toEqual(['[{"candidates":[]}\n,', false]);
  });
});

const json = (): Record<string, string> => ({
  authorization: `Bearer ${run.token}`,
  'content-type': 'application/json',
});
const small = '{"model":"raw","stream":true}';
const BIG = JSON.stringify({ model: 'raw', pad: 'x'.repeat(20 * 1024 * 1024) });
const EVENTS = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n';

/** Where a call is when its caller leaves. `came` is called once it is there. */
const PLACES: readonly (readonly [name: string, body: string, arrange: (came: () => void) => void])[] = [
  [
    'before anything came',
    small,
    (came) => {
      raw.onRequest = came;
    },
  ],
  [
    'in a stream',
    small,
    (came) => {
      raw.onRequest = (socket) => socket.write(`${EVENTS}9\r\ndata: 1\n\n\r\n`, () => setImmediate(came));
    },
  ],
  [
    'in an answer that is no stream',
    '{"model":"raw"}',
    (came) => {
      raw.onRequest = (socket) =>
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"a"\n', () => setImmediate(came));
    },
  ],
  [
    'while the provider takes the body in',
    BIG,
    (came) => {
      raw.onConnection = (socket) => {
        socket.once('data', () => {
          socket.pause();
          came();
          // What was closed is seen only by whoever reads.
          setTimeout(() => socket.resume(), 50);
        });
      };
    },
  ],
];

/** Milliseconds from a caller's leaving until the provider's connection is closed. */
async function leave(body: string, arrange: (came: () => void) => void): Promise<number> {
  const came = Promise.withResolvers<void>();
  const closed = Promise.withResolvers<number>();
  const before = raw.connections.length;
  raw.onRequest = () => {};
  raw.onConnection = () => {};
  arrange(came.resolve);
  const arranged = raw.onConnection;
  raw.onConnection = (socket) => {
    socket.once('close', () => closed.resolve(performance.now()));
    arranged(socket);
  };
  const asked = httpRequest({
    ...place(),
    path: '/v1/messages',
    method: 'POST',
    headers: json(),
    agent: false,
  });
  asked.on('error', () => {}).on('response', (response) => response.resume().on('error', () => {}));
  asked.end(body);
  await came.promise;
  const left = performance.now();
  asked.destroy();
  const took = (await closed.promise) - left;
  expect(raw.connections.length).toBe(before + 1);
  return took;
}
const place = (): { host: string; port: number } => ({ host: '127.0.0.1', port: gates.gates.address.port });

describe('a caller that leaves', () => {
  for (const [name, body, arrange] of PLACES) {
    it(`ends its provider’s call within 100 ms: ${name}`, async () => {
      const took: number[] = [];
      // Other processes may have the machine for as long now and then, so it may take a few tries to see it thrice.
      const quick = () => took.filter((ms) => ms < 100).length;
      while (quick() < 3 && took.length < 15) took.push(await leave(body, arrange));
      expect(quick(), `ms: ${took.map(Math.round)}`).toBe(3);
      expect((await gates.usage(run, took.length))[0]?.outcome).toBe('client_left');
    });
  }

  it('calls nobody while its own body is still on its way', async () => {
    const before = raw.connections.length;
    const asked = httpRequest({
      ...place(),
      path: '/v1/messages',
      method: 'POST',
      headers: { ...json(), 'content-length': '1000' },
    });
    const failed = new Promise((resolve) => asked.once('error', resolve));
    asked.write('{"model":"raw"', () => asked.destroy());
    await failed;
    await gates.ask('/v1/models', { method: 'GET', headers: json() });
    expect(raw.connections.length).toBe(before);
  });

  it('ends the calls that it sent ahead on the same connection too', async () => {
    const closed: Promise<unknown>[] = [];
    const came = Promise.withResolvers<void>();
    raw.onConnection = (socket) => void closed.push(new Promise((resolve) => socket.once('close', resolve)));
    raw.onRequest = () => {
      if (closed.length === 2) came.resolve();
    };
    const client = connect(place().port, '127.0.0.1').on('error', () => {});
    const one = `POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${run.token}\r\nContent-Length: ${small.length}\r\n\r\n${small}`;
    client.write(one + one);
    await came.promise;
    client.destroy();
    await Promise.all(closed);
    expect(await gates.usage(run, 2)).toMatchObject([{ outcome: 'client_left' }, { outcome: 'client_left' }]);
  });
});

describe('a turn that is cancelled', () => {
  for (const [name, body, arrange] of PLACES.slice(0, 3)) {
    it(`ends its provider’s call within a second: ${name}`, async () => {
      const came = Promise.withResolvers<void>();
      const closed = Promise.withResolvers<number>();
      arrange(came.resolve);
      raw.onConnection = (socket) => void socket.once('close', () => closed.resolve(performance.now()));
      const reply = gates.ask('/v1/messages', { headers: json(), body }).catch(() => null);
      await came.promise;
      await gates.world.call('POST', `/v1/turns/${run.turn}/cancel`);
      const cancelled = performance.now();
      expect((await closed.promise) - cancelled).toBeLessThan(1_000);
      const got = await reply;
      if (name === 'in a stream') expect(got?.text).toMatch(/event: error\ndata: .*run_stale/);
      else expect(got?.whole === true && got.status === 200).toBe(false);
    });
  }
});

describe('a kept connection', () => {
  const answer = (more = ''): string =>
    `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n${more}Content-Length: 2\r\n\r\n{}`;
  const call = () => gates.ask('/v1/messages', { headers: json(), body: '{"model":"raw"}' });
  const fresh = async (): Promise<void> => {
    raw.onConnection = () => {};
    // A call of its own connection, so that each test begins without one that is kept.
    raw.onRequest = (socket) => socket.end(answer('Connection: close\r\n'));
    await call();
    raw.connections.length = 0;
    raw.requests = 0;
  };

  it('is used again', async () => {
    await fresh();
    raw.onRequest = (socket) => socket.write(answer());
    for (let i = 0; i < 3; i += 1) expect((await call()).status).toBe(200);
    expect([raw.connections.length, raw.requests]).toEqual([1, 3]);
  });

  it('is left where the provider hung up between two calls', async () => {
    await fresh();
    raw.onRequest = (socket) => socket.write(answer());
    await call();
    for (let i = 0; i < 10; i += 1) {
      const last = raw.connections.at(-1);
      const gone = new Promise((resolve) => last?.once('close', resolve));
      last?.end();
      if (i % 2 === 1) await gone;
      expect((await call()).status).toBe(200);
    }
    expect(raw.requests).toBe(11);
  });

  it('is left where the provider says that it will hang up soon', async () => {
    for (const hint of ['timeout=2', 'timeout=1, max=100', 'max=100, timeout=0']) {
      await fresh();
      raw.onRequest = (socket) => socket.write(answer(`Keep-Alive: ${hint}\r\n`));
      for (let i = 0; i < 2; i += 1) expect((await call()).status).toBe(200);
      expect([hint, raw.connections.length, raw.requests]).toEqual([hint, 2, 2]);
    }
  });

  it('is no reason to send a call twice: the provider may have executed it', async () => {
    for (const end of [(socket: Socket) => socket.resetAndDestroy(), (socket: Socket) => socket.end()]) {
      await fresh();
      raw.onRequest = (socket, nth) => (nth === 1 ? socket.write(answer()) : end(socket));
      expect((await call()).status).toBe(200);
      const reply = await call();
      expect([reply.status, reply.headers['sallyport-reason']]).toEqual([502, 'provider_failed']);
      // Whether it is sent again is for the caller to say.
      expect(reply.headers['x-should-retry']).toBeUndefined();
      expect([raw.connections.length, raw.requests]).toEqual([1, 2]);
    }
  });
});

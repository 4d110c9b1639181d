/** Fallbacks through the real gates: what passes a model over, what never does, what the caller and the ledger get. */
import { createServer, type Server } from 'node:net';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { putModel, type Reply, startTestGates, type TestGates, type TestRun } from '../support/gates.ts';
import { type Behaviour, type Provider, startProvider } from '../support/provider.ts';

const KEYS = { first: 'sk-canary-first-1', second: 'sk-canary-second-2', third: 'sk-canary-third-3' };
const DIALECTS = ['openai', 'anthropic', 'gemini'];
let first: Provider;
let second: Provider;
let third: Provider;
/** Its certificate is of a CA that nobody trusts. */
let strange: Provider;
let gates: TestGates;
let run: TestRun;
let closedPort: number;

beforeAll(async () => {
  [first, second, third, strange] = await Promise.all([
    startProvider('first.test'),
    startProvider('second.test'),
    startProvider('third.test'),
    startProvider('strange.test'),
  ]);
  closedPort = await findClosedPort();
  const providers = [first, second, third, { ...strange, caPem: null }];
  gates = await startTestGates(providers, { SALLYPORT_DNS_SERVERS: '127.0.0.1:9' });
  await putModel(gates, 'third', third, { key: KEYS.third, upstreamName: 'third-up', dialects: DIALECTS });
  await putModel(gates, 'second', second, {
    key: KEYS.second,
    upstreamName: 'second-up',
    dialects: DIALECTS,
  });
  await put('first', first.port, {
    credential: 'test/first',
    upstreamName: 'first-up',
    fallbacks: ['second', 'third'],
  });
  await put('closed', closedPort, { fallbacks: ['second'] });
  await put('strange', strange.port, {
    baseUrl: `https://strange.test:${strange.port}`,
    fallbacks: ['second'],
  });
  await put('nowhere', 443, { baseUrl: 'https://nowhere.test', fallbacks: ['second'] });
  await put('all-closed', closedPort, { fallbacks: ['closed'] });
  await put('then-closed', first.port, { credential: 'test/first', fallbacks: ['closed'] });
});
beforeEach(async () => {
  run = await gates.run();
  second.behave = answer('second');
  third.behave = answer('third');
});
afterEach(() => {
  for (const key of Object.values(KEYS)) expect(gates.world.logged()).not.toContain(key);
  for (const provider of [first, second, third]) provider.asked.length = 0;
});
afterAll(async () => {
  await gates?.close();
  await Promise.all([first, second, third, strange].map((provider) => provider?.close()));
});

/** A model at `first.test` with its key, unless `more` says otherwise. */
async function put(name: string, port: number, more: object): Promise<void> {
  const { call } = gates.world;
  if (name === 'first') {
    await call('PUT', '/v1/vaults/test/credentials/first', {
      kind: 'model_key',
      hosts: [`first.test:${port}`],
      secret: { value: KEYS.first },
    });
  }
  const model = { baseUrl: `https://first.test:${port}`, dialects: DIALECTS, ...more };
  await call('PUT', `/v1/models/${name}`, model);
}

function answer(said: string): Behaviour {
  return (_asked, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ said, usage: { prompt_tokens: 2, completion_tokens: 1 } }));
  };
}

function fail(status: number, headers: Record<string, string> = {}, body = '{"error":{}}'): Behaviour {
  return (_asked, response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(body);
  };
}

function stream(...chunks: readonly string[]): Behaviour {
  return (_asked, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const chunk of chunks) response.write(chunk);
    response.end();
  };
}

function ask(model: string, more: object = {}, path = '/v1/chat/completions', mine = run): Promise<Reply> {
  return gates.ask(path, {
    headers: { authorization: `Bearer ${mine.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [], ...more }),
  });
}

async function row(): Promise<unknown[]> {
  const [used] = await gates.usage(run, 1);
  return [used?.model, used?.upstream_name, used?.outcome, used?.status];
}

describe('the next model answers', () => {
  it.each([408, 429, 500, 502, 503, 504, 529])('when the first answers %i', async (status) => {
    first.behave = fail(status);
    const reply = await ask('first');
    expect([reply.status, JSON.parse(reply.text).said]).toEqual([200, 'second']);
    expect(second.asked[0]?.headers.authorization).toBe(`Bearer ${KEYS.second}`);
    expect(JSON.parse(String(second.asked[0]?.body)).model).toBe('second-up');
    expect(second.asked[0]?.rawHeaders.join()).not.toContain(KEYS.first);
    expect(await row()).toEqual(['first', 'second-up', 'completed', 200]);
  });

  it.each([
    ['closed', 'its port is closed'],
    ['strange', 'its certificate cannot be verified'],
    ['nowhere', 'its name cannot be resolved'],
  ])('%s: when %s', async (model) => {
    expect(JSON.parse((await ask(model)).text).said).toBe('second');
    expect(await row()).toEqual([model, 'second-up', 'completed', 200]);
  });

  it('and the one after it', async () => {
    first.behave = fail(503);
    second.behave = fail(429);
    expect(JSON.parse((await ask('first')).text).said).toBe('third');
    expect(await row()).toEqual(['first', 'third-up', 'completed', 200]);
    const passed = gates.world
      .logged()
      .split('\n')
      .filter((line) => line.includes('model passed over'))
      .slice(-2);
    expect(passed.map((line) => JSON.parse(line))).toMatchObject([
      { model: 'first', reason: 'provider_busy', session: run.session },
      { model: 'second', reason: 'provider_busy' },
    ]);
  });

  it.each([
    [
      'anthropic',
      '/v1/messages',
      'event: error\ndata: {"type":"error","error":{"type":"overloaded_error"}}\n\n',
    ],
    ['openai', '/v1/chat/completions', 'data: {"error":{"message":"busy","code":"server_error"}}\n\n'],
    ['comments', '/v1/chat/completions', ': busy\n\n: still\r\n\r\ndata: {"error":{"code":429}}\n\n'],
    [
      'gemini',
      '/v1beta/models/first:streamGenerateContent?alt=sse',
      'data: {"error": {"code": 503}}\r\n\r\n',
    ],
  ])('when the first event of a stream is an error: %s', async (_dialect, path, event) => {
    first.behave = stream(event.slice(0, 9), event.slice(9));
    second.behave = stream('data: {"n":1}\n\n', 'data: [DONE]\n\n');
    const reply = await ask('first', { stream: true }, path);
    expect(reply.text).toBe('data: {"n":1}\n\ndata: [DONE]\n\n');
    expect((await row()).slice(0, 2)).toEqual(['first', 'second-up']);
  });
});

describe('the first model’s answer stands', () => {
  it.each([400, 401, 403, 404, 413, 422])('when it is %i: the caller’s own error', async (status) => {
    first.behave = fail(status, {}, '{"error":"yours"}');
    const reply = await ask('first');
    expect([reply.status, reply.text]).toEqual([status, '{"error":"yours"}']);
    expect(second.asked).toEqual([]);
    expect(await row()).toEqual(['first', 'first-up', 'provider_error', status]);
  });

  it('when its stream has begun', async () => {
    const events = ['data: {"n":1}\n\n', 'data: {"error":{"message":"busy"}}\n\n'];
    first.behave = stream(...events);
    expect((await ask('first', { stream: true })).text).toBe(events.join(''));
    expect(second.asked).toEqual([]);
  });

  it('when the first event is the caller’s own error', async () => {
    const event = 'event: error\ndata: {"type":"error","error":{"type":"invalid_request_error"}}\n\n';
    first.behave = stream(event);
    expect((await ask('first', { stream: true }, '/v1/messages')).text).toContain('invalid_request_error');
    expect(second.asked).toEqual([]);
  });

  it.each([
    [
      'openai, its first event the caller’s own error',
      'data: {"error":{"code":"x","type":"invalid_request_error"}}\n\n',
    ],
    ['gemini, likewise', 'data: {"error":{"code":400,"status":"INVALID_ARGUMENT"}}\n\n'],
    [
      'a first event that only speaks of errors',
      'data: {"choices":[{"delta":{"content":"\\"error\\""}}]}\n\n',
    ],
    ['a first event longer than what is waited for', `data: {"n":"${'x'.repeat(200_000)}"}\n\n`],
    ['nothing but comments', ': one\n\n: two\n\n'],
    ['an end inside of its first event', 'data: {"error":'],
  ])('when its stream begins otherwise: %s', async (_name, text) => {
    first.behave = stream(text.slice(0, 20), text.slice(20));
    expect((await ask('first', { stream: true })).text.slice(0, text.length)).toBe(text);
    expect(second.asked).toEqual([]);
  });

  it('when its stream is compressed: it is not looked into', async () => {
    const packed = gzipSync('data: {"error":{"message":"busy"}}\n\n');
    first.behave = (_asked, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream', 'content-encoding': 'gzip' });
      response.end(packed);
    };
    const reply = await ask('first');
    expect(gunzipSync(reply.body).toString()).toContain('busy');
    expect(second.asked).toEqual([]);
  });

  it('when it breaks off in its first event, which is nobody’s yet', async () => {
    first.behave = (_asked, response, socket) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: {"n"', () => setImmediate(() => socket.destroy()));
    };
    const reply = await ask('first', { stream: true });
    expect([reply.status, reply.headers['sallyport-reason']]).toEqual([502, 'provider_failed']);
    expect(second.asked).toEqual([]);
  });

  it('when it breaks off: what it did cannot be known', async () => {
    first.behave = (_asked, _response, socket) => socket.destroy();
    const reply = await ask('first');
    expect([reply.status, reply.headers['sallyport-reason']]).toEqual([502, 'provider_failed']);
    expect(second.asked).toEqual([]);
  });

  it('when it is redirected', async () => {
    first.behave = fail(307, { location: 'https://elsewhere.test/' });
    expect((await ask('first')).headers['sallyport-reason']).toBe('redirect_refused');
    expect(second.asked).toEqual([]);
  });

  it('when its stream is silent after its head: it is not waited for longer than a moment', async () => {
    let goOn = (): void => {};
    first.behave = (_asked, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.flushHeaders();
      goOn = () => void response.end('data: {"error":{"message":"busy"}}\n\n');
    };
    const reply = await fetch(`http://127.0.0.1:${gates.gates.address.port}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${run.token}`, 'content-type': 'application/json' },
      body: '{"model":"first","stream":true}',
    });
    expect(reply.status).toBe(200);
    goOn();
    expect(await reply.text()).toContain('busy');
    expect(second.asked).toEqual([]);
  });

  it('when the session’s manifest has no other', async () => {
    first.behave = fail(429, { 'retry-after': '7' }, '{"error":"slow down"}');
    run = await gates.run({ models: ['first'] });
    const reply = await ask('first');
    expect([reply.status, reply.headers['retry-after'], reply.text]).toEqual([
      429,
      '7',
      '{"error":"slow down"}',
    ]);
    expect(second.asked).toEqual([]);
  });
});

describe('when nothing is left', () => {
  it('the last provider’s answer passes as it came, with its Retry-After', async () => {
    for (const provider of [first, second]) provider.behave = fail(503, { 'retry-after': '1' });
    third.behave = fail(429, { 'retry-after': '9', 'x-odd': 'kept' }, '{"error":"third"}');
    const reply = await ask('first');
    expect([reply.status, reply.text]).toEqual([429, '{"error":"third"}']);
    expect(reply.headers).toMatchObject({ 'retry-after': '9', 'x-odd': 'kept' });
    expect(await row()).toEqual(['first', 'third-up', 'provider_error', 429]);
  });

  it.each(['server_error', 'invalid_request_error'])(
    'a stream that is an error costs nothing: %s',
    async (code) => {
      const error = `data: {"error":{"message":"no","code":"${code}"}}\n\n`;
      for (const provider of [first, second, third]) provider.behave = stream(error);
      expect((await ask('first', { stream: true })).text).toBe(error);
      expect(await gates.usage(run, 1)).toMatchObject([
        { outcome: 'provider_error', status: 200, presumed: false, input_tokens: null, cost_usd: null },
      ]);
    },
  );

  it('a refusal of ours has the Retry-After of a provider', async () => {
    first.behave = fail(429, { 'retry-after': '12' });
    const reply = await ask('then-closed');
    expect([reply.status, reply.headers['sallyport-reason'], reply.headers['retry-after']]).toEqual([
      503,
      'provider_busy',
      '12',
    ]);
    expect(await row()).toEqual(['then-closed', 'closed', 'provider_busy', 503]);
  });

  it('or says why the first could not be reached', async () => {
    const reply = await ask('all-closed');
    expect([reply.status, reply.headers['sallyport-reason']]).toEqual([502, 'connect_failed']);
  });

  it('and a caller that leaves meanwhile ends it', async () => {
    const came = Promise.withResolvers<void>();
    const gone = Promise.withResolvers<void>();
    first.behave = fail(503);
    second.behave = (_asked, _response, socket) => {
      socket.once('close', () => gone.resolve());
      came.resolve();
    };
    const abort = new AbortController();
    const left = fetch(`http://127.0.0.1:${gates.gates.address.port}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${run.token}`, 'content-type': 'application/json' },
      body: '{"model":"first"}',
      signal: abort.signal,
    }).catch(() => 'left');
    await came.promise;
    abort.abort();
    await gone.promise;
    expect(await left).toBe('left');
    expect(third.asked).toEqual([]);
    expect(await row()).toEqual(['first', 'second-up', 'client_left', null]);
  });
});

async function findClosedPort(): Promise<number> {
  const server: Server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === 'object' && address !== null ? address.port : 0;
}

/** A model call through the real gates to a scripted provider: the same bytes both ways, and a row for each call. */
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { putModel, startTestGates, type TestGates, type TestRun } from '../support/gates.ts';
import { type Provider, startProvider } from '../support/provider.ts';

const KEY = 'sk-canary-2f7c91d4e8';
let provider: Provider;
let gates: TestGates;
let run: TestRun;

beforeAll(async () => {
  provider = await startProvider('provider.test');
  gates = await startTestGates([provider]);
  await putModel(gates, 'team/gpt', provider, { key: KEY });
  await putModel(gates, 'alias', provider, { key: KEY, upstreamName: 'the-real-one' });
});
beforeEach(async () => {
  run = await gates.run();
});
afterAll(async () => {
  await gates?.close();
  await provider?.close();
});
afterEach(() => {
  expect(gates.world.logged()).not.toContain(KEY);
  expect(gates.world.logged()).not.toContain(run.token);
  provider.asked.length = 0;
});

const bearer = (): Record<string, string> => ({ authorization: `Bearer ${run.token}` });
const json = (): Record<string, string> => ({ ...bearer(), 'content-type': 'application/json' });
const ODD_BODY =
  '  { "model" :\t"team\\u002fgpt",\r\n "big": 12345678901234567890123, "f": 1.0E+2, "future_field": {"a":[null, "\\ud83d\\ude00 é 漢"]},"messages": [ {"role":"user","content":"hi \\" there"}] } \n';

describe('a call and its answer', () => {
  it('passes odd bytes, unknown fields and unknown headers as they are, both ways', async () => {
    const answer = Buffer.from(
      '{ "id":"x",\t"big":98765432109876543210, "text":"漢 \\u00e9", "choices":[ ] }\n',
    );
    provider.behave = (_asked, response) => {
      response.writeHead(201, 'Made Up', [
        'X-Odd-Case',
        'v1',
        'x-odd-case',
        'v2',
        'Content-Type',
        'application/json',
        'Set-Cookie',
        'a=b',
        'Content-Length',
        String(answer.length),
      ]);
      response.end(answer);
    };
    const reply = await gates.ask('/v1/chat/completions?beta=true&x=%20', {
      headers: { ...json(), 'OpenAI-Beta': 'a-beta-of-tomorrow', 'X-Custom_Thing': 'kept', Cookie: 'c=d' },
      body: ODD_BODY,
    });
    expect(reply.status).toBe(201);
    expect(reply.body.equals(answer)).toBe(true);
    expect(reply.rawHeaders.join('|')).toContain('X-Odd-Case|v1|x-odd-case|v2');
    expect(reply.headers['set-cookie']).toBeUndefined();
    const [asked] = provider.asked;
    expect(asked?.path).toBe('/v1/chat/completions?beta=true&x=%20');
    expect(asked?.body.toString()).toBe(ODD_BODY);
    expect(asked?.headers).toMatchObject({
      'openai-beta': 'a-beta-of-tomorrow',
      authorization: `Bearer ${KEY}`,
    });
    expect(asked?.rawHeaders).toContain('X-Custom_Thing');
    expect(asked?.headers.cookie).toBeUndefined();
    expect(asked?.rawHeaders.join(' ')).not.toContain(run.token);
    expect(asked?.headers.host).toBe(`provider.test:${provider.port}`);
  });

  it('puts the key where the dialect has it, and takes every credential of the caller away', async () => {
    provider.behave = (_asked, response) => void response.end('{}');
    const headers = {
      'x-api-key': run.token,
      'anthropic-version': '2099-01-01',
      'anthropic-beta': 'b-1,b-2',
    };
    await gates.ask('/messages', {
      headers: {
        ...headers,
        'api-key': 'EVIL',
        'x-goog-api-key': run.token,
        X_Api_Key: 'EVIL',
        'x.api.key': 'EVIL',
        'x-fwd': `Bearer ${run.token}`,
      },
      body: '{"model":"team/gpt"}',
    });
    const [asked] = provider.asked;
    expect(asked?.path).toBe('/v1/messages');
    expect(asked?.headers).toMatchObject({
      'x-api-key': KEY,
      'anthropic-version': '2099-01-01',
      'anthropic-beta': 'b-1,b-2',
    });
    expect(asked?.rawHeaders.join(' ')).not.toMatch(/EVIL/);
    expect(asked?.rawHeaders.join(' ')).not.toContain(run.token);
  });

  it('replaces only the name of an aliased model', async () => {
    provider.behave = (_asked, response) => void response.end('{}');
    const body =
      '{"messages":[{"model":"alias"}] ,"a":"\\"model\\":\\"alias\\"", "model" : "alias" , "big":1e999}';
    await gates.ask('/v1/chat/completions', { headers: json(), body });
    expect(provider.asked[0]?.body.toString()).toBe(
      body.replace('"model" : "alias"', '"model" : "the-real-one"'),
    );
  });

  it('passes compressed bodies as they came, and opens them only to rename', async () => {
    const packed = gzipSync('{"id":"z","usage":{"prompt_tokens":7,"completion_tokens":3}}');
    provider.behave = (_asked, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' });
      response.end(packed);
    };
    const headers = { ...json(), 'content-encoding': 'gzip', 'accept-encoding': 'gzip' };
    const sent = gzipSync(ODD_BODY);
    const reply = await gates.ask('/v1/chat/completions', { headers, body: sent });
    expect(reply.headers['content-encoding']).toBe('gzip');
    expect(gunzipSync(reply.body).toString()).toContain('"prompt_tokens":7');
    expect(provider.asked[0]?.body.equals(sent)).toBe(true);
    await gates.ask('/v1/chat/completions', { headers, body: gzipSync('{"model":"alias"}') });
    expect(provider.asked[1]?.body.toString()).toBe('{"model":"the-real-one"}');
    expect(provider.asked[1]?.headers['content-encoding']).toBeUndefined();
    const rows = await gates.usage(run, 2);
    expect(rows[0]).toMatchObject({
      input_tokens: '7',
      output_tokens: '3',
      outcome: 'completed',
      streamed: false,
    });
  });

  it('passes the provider’s own errors as they are', async () => {
    const error = '{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long"}}';
    provider.behave = (_asked, response) => {
      response.writeHead(400, { 'content-type': 'application/json', 'retry-after': '7', 'request-id': 'r1' });
      response.end(error);
    };
    const reply = await gates.ask('/v1/messages', { headers: json(), body: '{"model":"team/gpt"}' });
    expect([reply.status, reply.text]).toEqual([400, error]);
    expect(reply.headers).toMatchObject({ 'retry-after': '7', 'request-id': 'r1' });
    expect((await gates.usage(run, 1)).at(-1)).toMatchObject({ outcome: 'provider_error', status: 400 });
  });

  it('masks the key where a provider gives it back', async () => {
    provider.behave = (asked, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'x-echo': `Bearer ${KEY}` });
      for (const byte of JSON.stringify({ said: asked.headers.authorization })) response.write(byte);
      response.end();
    };
    const reply = await gates.ask('/v1/chat/completions', { headers: json(), body: '{"model":"team/gpt"}' });
    expect(reply.text).toBe(`{"said":"Bearer ${'*'.repeat(KEY.length)}"}`);
    expect(reply.headers['x-echo']).toBe(`Bearer ${'*'.repeat(KEY.length)}`);
  });
});

const OPENAI_STREAM =
  'data: {"choices":[{"delta":{"content":"漢字 😀"}}],"usage":null}\n\n: a comment\n\ndata: {"choices":[],"usage":{"prompt_tokens":11,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":2}}}\n\ndata: {"choices":[]}\n\ndata: [DONE]\n\n';
const ANTHROPIC_STREAM = `event: message_start\ndata: {"type":"message_start","message":{"usage":{"input_tokens":3,"cache_creation_input_tokens":12304,"cache_read_input_tokens":9,"output_tokens":1}}}\n\nevent: content_block_delta\ndata: {"delta":{"text":"\\"usage\\":{\\"output_tokens\\":99999} ${'long '.repeat(5000)}"}}\n\nevent: message_delta\ndata: {"type":"message_delta","usage":{"output_tokens":550}}\n\nevent: message_stop\ndata: {"type":"message_stop"}\n\n`;

describe('a stream', () => {
  it('comes through byte by byte, metered, in both dialects', async () => {
    for (const [path, stream] of [
      ['/v1/chat/completions', OPENAI_STREAM],
      ['/v1/messages', ANTHROPIC_STREAM],
    ] as const) {
      provider.behave = (_asked, response, socket) => {
        socket.setNoDelay(true);
        response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
        const bytes = Buffer.from(stream);
        for (let i = 0; i < Math.min(bytes.length, 600); i += 1) response.write(bytes.subarray(i, i + 1));
        response.end(bytes.subarray(600));
      };
      const body = '{"stream":true,"model":"team/gpt","stream_options":{"include_usage":true}}';
      const reply = await gates.ask(path, { headers: json(), body });
      expect(provider.asked.at(-1)?.body.toString()).toBe(body);
      expect(reply.text).toBe(stream);
      expect(reply.whole).toBe(true);
    }
    const [openai, anthropic] = await gates.usage(run, 2);
    expect(openai).toMatchObject({
      dialect: 'openai',
      streamed: true,
      outcome: 'completed',
      input_tokens: '11',
      output_tokens: '5',
      cached_tokens: '4',
      reasoning_tokens: '2',
    });
    expect(anthropic).toMatchObject({
      dialect: 'anthropic',
      input_tokens: '12316',
      output_tokens: '550',
      cached_tokens: '9',
      cache_write_tokens: '12304',
    });
    expect(Number(openai?.first_byte_ms)).toBeGreaterThanOrEqual(0);
  });

  it('is asked for its usage, which a caller that did not ask does not see', async () => {
    const usage = 'data: {"choices":[],"usage":{"prompt_tokens":11,"completion_tokens":5}}\n\n';
    const before = 'data: {"choices":[{"delta":{"content":"x"}}],"usage":null}\n\n';
    for (const hasLength of [false, true]) {
      provider.behave = (_asked, response) => {
        const stream = `${before}${usage}data: [DONE]\n\n`;
        const length = hasLength ? { 'content-length': Buffer.byteLength(stream) } : {};
        response.writeHead(200, { 'content-type': 'text/event-stream', ...length });
        for (const byte of stream) response.write(byte);
        response.end();
      };
      const headers = { ...json(), 'accept-encoding': 'gzip', 'content-encoding': 'gzip' };
      const reply = await gates.ask('/v1/chat/completions', {
        headers,
        body: gzipSync('{"model" : "alias","stream":true}'),
      });
      expect(reply.text).toBe(`${before}data: [DONE]\n\n`);
      expect([reply.whole, reply.headers['content-length']]).toEqual([true, undefined]);
      const asked = provider.asked.at(-1);
      expect(asked?.body.toString()).toBe(
        '{"model" : "the-real-one","stream":true,"stream_options":{"include_usage":true}}',
      );
      expect(asked?.headers['accept-encoding']).toBeUndefined();
      expect(asked?.headers['content-encoding']).toBeUndefined();
    }
    expect(await gates.usage(run, 2)).toMatchObject([
      { input_tokens: '11', output_tokens: '5', outcome: 'completed' },
      { input_tokens: '11', output_tokens: '5', outcome: 'completed' },
    ]);
  });

  it('is passed on at once: the head before any byte, each event before the next is made', async () => {
    let goOn: () => void = () => {};
    provider.behave = (_asked, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: {"n":1}\n\n');
      goOn = () => void response.end('data: [DONE]\n\n');
    };
    const reply = await gates.ask('/v1/chat/completions', {
      headers: json(),
      body: '{"stream":true,"model":"team/gpt"}',
      onData: (soFar) => {
        if (soFar.toString() === 'data: {"n":1}\n\n') goOn();
        return false;
      },
    });
    expect(reply.text).toBe('data: {"n":1}\n\ndata: [DONE]\n\n');
  });

  it('ends the provider’s call when the caller leaves', async () => {
    const closed = Promise.withResolvers<void>();
    provider.behave = (_asked, response, socket) => {
      socket.once('close', () => closed.resolve());
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: {"n":1}\n\n');
    };
    await gates.ask('/v1/chat/completions', {
      headers: json(),
      body: '{"stream":true,"model":"team/gpt"}',
      onData: () => true,
    });
    await closed.promise;
    expect((await gates.usage(run, 1)).at(-1)).toMatchObject({ outcome: 'client_left' });
  });

  it('ends the provider’s call when the caller leaves before anything came', async () => {
    const closed = Promise.withResolvers<void>();
    const came = Promise.withResolvers<void>();
    provider.behave = (_asked, _response, socket) => {
      socket.once('close', () => closed.resolve());
      came.resolve();
    };
    const abort = new AbortController();
    const asked = fetch(`http://127.0.0.1:${gates.gates.address.port}/v1/messages`, {
      method: 'POST',
      headers: json(),
      body: '{"model":"team/gpt"}',
      signal: abort.signal,
    }).catch(() => 'left');
    await came.promise;
    abort.abort();
    expect(await asked).toBe('left');
    await closed.promise;
  });

  const DEATHS = [
    [
      'openai, between events',
      '/v1/chat/completions',
      'data: {"n":1}\n\n',
      /^data: \{"n":1\}\n\ndata: \{"error":\{"message":"[^"]+","type":"server_error","param":null,"code":"provider_died"\}\}\n\n$/,
    ],
    ['openai, inside an event', '/v1/chat/completions', 'data: {"n":1', /^data: \{"n":1\n\ndata: \{"error":/],
    [
      'anthropic, between events',
      '/v1/messages',
      'event: a\ndata: {}\n\n',
      /^event: a\ndata: \{\}\n\nevent: error\ndata: \{"type":"error","error":\{"type":"api_error"/,
    ],
    [
      'anthropic, inside an event',
      '/v1/messages',
      'event: a\ndata: {',
      /^event: a\ndata: \{\nevent: error\ndata: \{"type":"error"/,
    ],
  ] as const;
  for (const [name, path, sent, expected] of DEATHS) {
    it(`never ends cleanly when the provider dies: ${name}`, async () => {
      for (const [i, closeDelimited] of [false, true].entries()) {
        provider.behave = (_asked, response, socket) => {
          if (closeDelimited) {
            socket.end(
              `HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n${sent}`,
            );
            return;
          }
          response.writeHead(200, { 'content-type': 'text/event-stream' });
          response.write(sent, () => setImmediate(() => socket.destroy()));
        };
        const reply = await gates.ask(path, { headers: json(), body: '{"stream":true,"model":"team/gpt"}' });
        expect(reply.text).toMatch(expected);
        expect((await gates.usage(run, i + 1)).at(-1)).toMatchObject({
          outcome: 'provider_died',
          status: 200,
        });
      }
    });
  }

  it('breaks a JSON answer off where the provider breaks off', async () => {
    provider.behave = (_asked, response, socket) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': 100 });
      response.write('{"a":', () => setImmediate(() => socket.destroy()));
    };
    const reply = await gates.ask('/v1/messages', { headers: json(), body: '{"model":"team/gpt"}' });
    expect([reply.status, reply.whole]).toEqual([200, false]);
  });

  it('lets no id or retry line of a provider through, however it is cut', async () => {
    const stream =
      'id: 1\ndata: a\n\nretry: 1\n\nevent: e\nid: 999\ndata: id: kept\nretry:5\n\ndata: identity\n\n';
    provider.behave = (_asked, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const byte of stream) response.write(byte);
      response.end();
    };
    const reply = await gates.ask('/v1/messages', {
      headers: json(),
      body: '{"stream":true,"model":"team/gpt"}',
    });
    expect(reply.text).toBe('data: a\n\n\nevent: e\ndata: id: kept\n\ndata: identity\n\n');
  });
});

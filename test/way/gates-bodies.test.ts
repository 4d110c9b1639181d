/** What a call may come as: compressed, large, without a type, behind a 100; and its headers, line by line, both ways. */
import { brotliCompressSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { DIALECTS } from '../../core-lite/state/dialect.ts';
import { connectTo } from '../support/client.ts';
import { putModel, startTestGates, type TestGates, type TestRun } from '../support/gates.ts';
import { type Provider, startProvider } from '../support/provider.ts';

const KEY = 'sk-canary-bodies-1f44';
const MIB = 1024 * 1024;
let provider: Provider;
let gates: TestGates;
let run: TestRun;

beforeAll(async () => {
  provider = await startProvider('provider.test');
  gates = await startTestGates([provider]);
  await putModel(gates, 'm', provider, { key: KEY, dialects: DIALECTS });
  await putModel(gates, 'alias', provider, { key: KEY, dialects: DIALECTS, upstreamName: 'real' });
  await putModel(gates, 'only-two', provider, { key: KEY, dialects: ['openai', 'gemini'] });
  run = await gates.run();
  provider.behave = (_asked, response) => void response.end('{"ok":1}');
}, 60_000);
afterEach(() => {
  provider.asked.length = 0;
});
afterAll(async () => {
  expect(gates.world.logged()).not.toContain(KEY);
  await gates?.close();
  await provider?.close();
});

const bearer = (): Record<string, string> => ({ authorization: `Bearer ${run.token}` });

/** A body of a given size with an image in it. */
function sized(bytes: number): Buffer {
  const [head, tail] = ['{"model":"m","image":"data:image/png;base64,', '"}'];
  return Buffer.concat([
    Buffer.from(head),
    Buffer.alloc(bytes - head.length - tail.length, 'iVBORw0KGgo'),
    Buffer.from(tail),
  ]);
}

describe('a body', () => {
  const CODINGS = [
    ['gzip', gzipSync],
    ['br', brotliCompressSync],
    ['zstd', zstdCompressSync],
  ] as const;
  for (const [encoding, compress] of CODINGS) {
    it(`may be compressed: ${encoding}`, async () => {
      for (const path of ['/v1/responses', '/v1/messages', '/v1/embeddings']) {
        const sent = compress('{"model":"m"}');
        const headers = { ...bearer(), 'content-encoding': encoding };
        expect((await gates.ask(path, { headers, body: sent })).text).toBe('{"ok":1}');
        expect(provider.asked.at(-1)?.body.equals(sent)).toBe(true);
        expect(provider.asked.at(-1)?.headers['content-encoding']).toBe(encoding);
        await gates.ask(path, { headers, body: compress('{"model":"alias"}') });
        expect(provider.asked.at(-1)?.body.toString()).toBe('{"model":"real"}');
        expect(provider.asked.at(-1)?.headers['content-encoding']).toBeUndefined();
      }
    });

    it(`may not be more than 32 MiB in it: ${encoding}`, async () => {
      const headers = { ...bearer(), 'content-encoding': encoding };
      const reply = await gates.ask('/v1/messages', { headers, body: compress(sized(32 * MIB + 1)) });
      expect([reply.status, reply.headers['sallyport-reason']]).toEqual([413, 'body_too_large']);
      expect(JSON.parse(reply.text)).toMatchObject({ type: 'error', error: { type: 'request_too_large' } });
      expect(provider.asked).toEqual([]);
    });
  }

  it('may be 32 MiB large, and not a byte more', async () => {
    const largest = sized(32 * MIB);
    const reply = await gates.ask('/v1/chat/completions', { headers: bearer(), body: largest });
    expect(reply.text).toBe('{"ok":1}');
    expect(provider.asked[0]?.body.equals(largest)).toBe(true);
    const path = '/v1beta/models/m:generateContent';
    const over = await gates.ask(path, { headers: bearer(), body: sized(32 * MIB + 1) });
    expect([over.status, over.headers['sallyport-reason']]).toEqual([413, 'body_too_large']);
    expect(JSON.parse(over.text).error.code).toBe(413);
  });

  it('needs no type, and keeps the one it has', async () => {
    for (const type of [
      undefined,
      'application/json; charset=utf-8',
      'Application/JSON',
      'application/a.b+json',
    ]) {
      const headers = { ...bearer(), ...(type ? { 'content-type': type } : {}) };
      const reply = await gates.ask('/v1/messages', { headers, body: '{"model":"m"}' });
      expect([type, reply.text]).toEqual([type, '{"ok":1}']);
      expect(provider.asked.at(-1)?.headers['content-type']).toBe(type);
    }
  });

  it('is refused with a type by which another reader would find another body in it', async () => {
    for (const type of [
      'application/x-www-form-urlencoded',
      'text/plain',
      'application/x-protobuf',
      'application/json; charset=utf-7',
      'nonsense',
    ]) {
      for (const path of ['/v1/chat/completions', '/v1/messages', '/v1beta/models/m:generateContent']) {
        const headers = { ...bearer(), 'content-type': type };
        const body = path.includes('models/') ? '{}' : '{"model":"m","x":"&model=other&x="}';
        const reply = await gates.ask(path, { headers, body });
        expect([type, reply.status, reply.headers['sallyport-reason']]).toEqual([
          type,
          415,
          'media_type_refused',
        ]);
      }
    }
    expect(provider.asked).toEqual([]);
  });

  it('is told to go on where the client waits for it', async () => {
    const peer = await connectTo(gates.gates.address.port);
    const body = '{"model":"m"}';
    await peer.send(
      `POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nx-api-key: ${run.token}\r\nExpect: 100-continue\r\nContent-Length: ${body.length}\r\n\r\n`,
    );
    expect((await peer.answer()).status).toBe(100);
    await peer.send(body);
    expect((await peer.answer()).status).toBe(200);
    expect(provider.asked[0]?.headers.expect).toBeUndefined();
  });
});

describe('the headers', () => {
  it('go on line by line: case, order, doubles, and what nobody knows', async () => {
    const lines = [
      'Anthropic-Beta: a-beta-of-tomorrow-2031-01-01,other',
      'anthropic-beta: one-more',
      'ANTHROPIC-VERSION: 2099-12-31',
      'X-Odd_Name.1: \t spaced  out ',
      'x-stainless-lang: js',
      'X-Empty:',
      'OpenAI-Organization: org',
      'x-claude-code-session-id: s',
      'Accept: */*',
      'User-Agent: made up',
      'X-High: \xe9\xff',
    ];
    const peer = await connectTo(gates.gates.address.port);
    const head = `POST /v1/messages?beta=true HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${run.token}\r\n${lines.join('\r\n')}\r\nConnection: x-hop\r\nX-Hop: gone\r\nCookie: gone\r\nContent-Length: 13\r\n\r\n{"model":"m"}`;
    await peer.send(Buffer.from(head, 'latin1'));
    expect((await peer.answer()).status).toBe(200);
    const { rawHeaders = [] } = provider.asked[0] ?? {};
    const came = rawHeaders.flatMap((name, i) => (i % 2 === 0 ? [`${name}: ${rawHeaders[i + 1]}`] : []));
    const passed = lines.map((line) => line.replace(/:\s*(.*?)\s*$/s, ': $1'));
    const ours = [`host: provider.test:${provider.port}`, `x-api-key: ${KEY}`, 'content-length: 13'];
    expect(came.filter((line) => passed.includes(line))).toEqual(passed);
    const others = came.filter((line) => !passed.includes(line)).map((line) => line.toLowerCase());
    expect(others.filter((line) => !line.startsWith('connection:')).toSorted()).toEqual(ours.toSorted());
  });

  it('come back line by line', async () => {
    provider.behave = (_asked, _response, socket) => {
      socket.write(
        'HTTP/1.1 299 Odd Phrase\r\nX-A: 1\r\nx-a: 2\r\nrequest-id: r\r\nX-RateLimit-Remaining: 0\r\nAnthropic-Organization-Id: o\r\nRetry-After: 3\r\nSet-Cookie: gone\r\nConnection: x-hop\r\nX-Hop: gone\r\nContent-Length: 2\r\n\r\n{}',
      );
    };
    const reply = await gates.ask('/v1/messages', { headers: bearer(), body: '{"model":"m"}' });
    expect(reply.status).toBe(299);
    expect(reply.rawHeaders.join('|')).toMatch(
      /^X-A\|1\|x-a\|2\|request-id\|r\|X-RateLimit-Remaining\|0\|Anthropic-Organization-Id\|o\|Retry-After\|3\|Content-Length\|2(\|Connection\|[\w-]+)?(\|Keep-Alive\|[^|]+)?$/,
    );
    provider.behave = (_asked, response) => void response.end('{"ok":1}');
  });
});

describe('a dialect that the model does not speak', () => {
  it('is told which ones it speaks, in its own shape', async () => {
    const spoken = 'openai (POST /v1/chat/completions), gemini (POST /v1beta/models/{model}:generateContent)';
    for (const path of ['/v1/messages', '/v1/messages/count_tokens', '/v1/responses', '/v1/embeddings']) {
      const reply = await gates.ask(path, { headers: bearer(), body: '{"model":"only-two"}' });
      expect([reply.status, reply.headers['sallyport-reason']]).toEqual([400, 'dialect_unserved']);
      expect(JSON.parse(reply.text).error.message).toContain(`: "only-two" speaks ${spoken};`);
    }
    expect(provider.asked).toEqual([]);
  });
});

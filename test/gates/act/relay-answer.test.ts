/** The relay between real sockets: silences and their comments, broken ends, secrets in compressed answers. */
import type { Socket } from 'node:net';
import {
  brotliCompressSync,
  deflateRawSync,
  deflateSync,
  gunzipSync,
  gzipSync,
  zstdCompressSync,
} from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import type { Dialect } from '../../../core-lite/state/dialect.ts';
import { type Rig, type RigOptions, startRig } from '../../support/relay-rig.ts';

const KEY = 'sk-canary-relay-7a31';
const COMMENT = ': keep-alive\n\n';
const EVENTS = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n';
const CHUNKED = 'Transfer-Encoding: chunked\r\n\r\n';

let rig: Rig | null = null;
afterEach(async () => {
  await rig?.close();
  rig = null;
});
const start = async (options: RigOptions): Promise<Rig> => {
  rig = await startRig(options);
  return rig;
};
const chunk = (text: string | Buffer): Buffer =>
  Buffer.concat([
    Buffer.from(`${Buffer.byteLength(text).toString(16)}\r\n`),
    Buffer.from(text),
    Buffer.from('\r\n'),
  ]);

describe('a silence', () => {
  const BORDERS = [
    ['nothing yet', ''],
    ['an event', 'data: a\n\n'],
    ['an event with CRLF', 'data: a\r\n\r\n'],
    ['an event with CR', 'data: a\r\r'],
    ['an event with both', 'data: a\n\r\n'],
    ['the provider’s own comment', ': ping\n\n'],
  ] as const;
  for (const [name, text] of BORDERS) {
    it(`is filled with comments behind ${name}, and ends at its limit all the same`, async () => {
      const { ask, ends } = await start({
        silenceMs: 20,
        idleLimitMs: 200,
        script: (socket) => {
          socket.write(EVENTS + CHUNKED);
          if (text) socket.write(chunk(text));
        },
      });
      const reply = await ask();
      const comments = reply.text.split(COMMENT).length - 1;
      expect(comments).toBeGreaterThan(0);
      expect(reply.text.startsWith(text + COMMENT)).toBe(true);
      expect(reply.text.slice(text.length + comments * COMMENT.length)).toMatch(
        /^data: \{"error":.*timeout"\}\}\n\n$/,
      );
      expect(ends).toMatchObject([{ failure: 'provider_timeout', status: 200 }]);
    });
  }

  it('is one though the provider sends comments', async () => {
    const { ask, ends } = await start({
      idleLimitMs: 300,
      script: (socket) => {
        socket.write(Buffer.concat([Buffer.from(EVENTS + CHUNKED), chunk('data: 1\n\n')]));
        const ping = setInterval(() => socket.write(chunk(': ping\r\n\r\n')), 20);
        socket.once('close', () => clearInterval(ping));
      },
    });
    const { text } = await ask();
    expect(text).toMatch(/^data: 1\n\n(?:: ping\r\n\r\n){3,}data: \{"error":.*timeout"\}\}\n\n$/);
    expect(ends).toMatchObject([{ failure: 'provider_timeout', status: 200 }]);
  });

  const INSIDE = [
    'data: a',
    'data: a\n',
    'data: a\r',
    'data: a\r\n',
    'data: a\r\n\r',
    'event: x\ndata: y\n',
    ':',
  ];
  for (const text of INSIDE) {
    it(`has no comment inside an event: ${JSON.stringify(text)}`, async () => {
      const { ask } = await start({
        silenceMs: 20,
        idleLimitMs: 150,
        script: (socket) => socket.write(Buffer.concat([Buffer.from(EVENTS + CHUNKED), chunk(text)])),
      });
      const { text: got } = await ask();
      expect(got.startsWith(`${text}\n\ndata: {"error"`)).toBe(true);
      expect(got).not.toContain('keep-alive');
    });
  }

  it('leaves the bytes around its comments as they were', async () => {
    const pieces = ['data: 漢\n\n', 'event: e\ndata: 1\n\n', 'data: [DONE]\n\n'];
    let provider: Socket | undefined;
    let sent = 0;
    const sendNext = (): void => {
      const piece = pieces[sent++];
      if (piece) provider?.write(chunk(piece));
      else provider?.end('0\r\n\r\n');
    };
    const { ask } = await start({
      silenceMs: 20,
      script: (socket) => {
        provider = socket;
        socket.write(EVENTS + CHUNKED);
      },
    });
    let seen = 0;
    const reply = await ask((soFar) => {
      const comments = soFar.toString().split(COMMENT).length - 1;
      if (comments > seen) sendNext();
      seen = comments;
    });
    expect(reply.text.replaceAll(COMMENT, '')).toBe(pieces.join(''));
    expect(reply.whole).toBe(true);
  });

  const QUIET = [
    [
      'an answer that is no stream of events',
      'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n',
      '[{"a":1},\n',
    ],
    ['a compressed stream', `${EVENTS}Content-Encoding: gzip\r\n`, gzipSync('data: a\n\n')],
    ['a stream in a coding that nobody knows', `${EVENTS}Content-Encoding: x-own\r\n`, 'data: a\n\n'],
    ['a stream with a length', `${EVENTS}Content-Length: 100\r\n\r\n`, 'data: a\n\n'],
  ] as const;
  for (const [name, head, body] of QUIET) {
    it(`has no comment in ${name}, and no clean end`, async () => {
      const framed = head.endsWith('\r\n\r\n');
      const { ask, ends } = await start({
        silenceMs: 20,
        idleLimitMs: 150,
        wholeLimitMs: 150,
        script: (socket) =>
          socket.write(
            Buffer.concat([
              Buffer.from(framed ? head : head + CHUNKED),
              framed ? Buffer.from(body) : chunk(body),
            ]),
          ),
      });
      const reply = await ask();
      expect(reply.body.equals(Buffer.from(body))).toBe(true);
      expect([reply.whole, ends[0]?.failure]).toEqual([false, 'provider_timeout']);
    });
  }

  it('has no comment before the provider’s head', async () => {
    const { ask, ends } = await start({ silenceMs: 10, wholeLimitMs: 100, script: () => {} });
    const reply = await ask();
    expect([reply.status, reply.text]).toEqual([502, 'provider_timeout']);
    expect(ends).toMatchObject([{ failure: 'provider_timeout', status: null }]);
  });
});

describe('a provider that breaks off', () => {
  const ENDS = {
    'its connection is reset': (socket: Socket) => socket.resetAndDestroy(),
    'it hangs up before the last chunk': (socket: Socket) => socket.end(),
    'it hangs up inside a chunk': (socket: Socket) => socket.end('40\r\n'),
    'it goes on in garbage': (socket: Socket) => socket.write('no chunk at all\r\n'),
  };
  const SHAPES: Readonly<Record<Exclude<Dialect, 'embeddings'>, RegExp>> = {
    openai:
      /^data: \{"error":\{"message":"[^"]+","type":"server_error","param":null,"code":"provider_died"\}\}\n\n$/,
    responses:
      /^event: error\ndata: \{"type":"error","code":"provider_died",.*"error":\{"type":"server_error",.*\}\n\n$/,
    anthropic:
      /^event: error\ndata: \{"type":"error","error":\{"type":"api_error",.*"code":"provider_died"\}\}\n\n$/,
    gemini: /^data: \{"error":\{"code":500,.*"status":"INTERNAL",.*"reason":"provider_died".*\}\}\n\n$/,
  };
  for (const [how, breakOff] of Object.entries(ENDS)) {
    for (const [dialect, shape] of Object.entries(SHAPES)) {
      it(`ends in an error of ${dialect}: ${how}`, async () => {
        const { ask, ends } = await start({
          dialect: dialect as Dialect,
          script: (socket) =>
            socket.write(EVENTS + CHUNKED + chunk('data: 1\n\n'), () => setImmediate(breakOff, socket)),
        });
        const reply = await ask();
        expect(reply.text.slice(0, 9)).toBe('data: 1\n\n');
        expect(reply.text.slice(9)).toMatch(shape);
        expect(ends).toMatchObject([{ failure: 'provider_died', status: 200 }]);
      });
    }

    it(`breaks off what is no stream: ${how}`, async () => {
      const head = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n';
      const { ask } = await start({
        script: (socket) =>
          socket.write(head + CHUNKED + chunk('{"a":'), () => setImmediate(breakOff, socket)),
      });
      const reply = await ask();
      expect([reply.status, reply.text, reply.whole]).toEqual([200, '{"a":', false]);
    });
  }

  it('can still be told of where nothing of the answer went out', async () => {
    const head = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n';
    const { ask, ends } = await start({ script: (socket) => socket.end(head) });
    expect(await ask()).toMatchObject({ status: 502, text: 'provider_died', whole: true });
    expect(ends).toMatchObject([{ failure: 'provider_died', status: null }]);
  });

  it('is none where an answer has no body', async () => {
    const { ask, ends } = await start({
      script: (socket) => socket.end('HTTP/1.1 204 Nothing here\r\nX-Its: own\r\n\r\n'),
    });
    expect(await ask()).toMatchObject({ status: 204, text: '', whole: true });
    expect(ends).toMatchObject([{ failure: null, status: 204 }]);
  });

  it('is no success when fewer bytes came than it said', async () => {
    const head = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n';
    const { ask, ends } = await start({ script: (socket) => socket.end(`${head}{"a":1}`) });
    const reply = await ask();
    expect([reply.text, reply.whole, ends[0]?.failure]).toEqual(['{"a":1}', false, 'provider_died']);
  });
});

const CODINGS = {
  gzip: gzipSync,
  'x-gzip': gzipSync,
  deflate: deflateSync,
  'deflate, raw': deflateRawSync,
  br: brotliCompressSync,
  zstd: zstdCompressSync,
};

describe('a compressed answer', () => {
  const filler = Array.from({ length: 2_000 }, (_, i) => `line ${i * 7919} of an answer\n`).join('');
  for (const [name, compress] of Object.entries(CODINGS)) {
    const head = `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: ${name.split(',')[0]}\r\n`;
    for (const size of [37, 4096]) {
      it(`passes as it came: ${name}, ${size} bytes at a time`, async () => {
        const body = compress(`${filler}{"the":"end"}`);
        const { ask, ends } = await start({
          secrets: [KEY],
          script: (socket) => sendChopped(socket, head, body, size),
        });
        const reply = await ask();
        expect(reply.body.equals(body)).toBe(true);
        expect([reply.whole, ends[0]?.failure]).toEqual([true, null]);
      });

      it(`is broken off where the secret is in it: ${name}, ${size} bytes at a time`, async () => {
        const body = compress(`${filler}{"said":"Bearer ${KEY}"}\n${filler}`);
        const { ask, ends } = await start({
          secrets: [KEY],
          script: (socket) => sendChopped(socket, head, body, size),
        });
        const reply = await ask();
        expect(ends[0]?.failure).toBe('provider_died');
        // Where nothing had gone out yet all of it is refused.
        if (reply.status === 502) return;
        expect(reply.whole).toBe(false);
        expect(body.subarray(0, reply.body.length).equals(reply.body)).toBe(true);
        expect(reply.body.length).toBeLessThan(body.length);
      });
    }
  }

  for (const [name, coding, compress, between] of [
    ['frames of zstd', 'zstd', zstdCompressSync, ''],
    ['streams of br', 'br', brotliCompressSync, ''],
    ['streams of deflate', 'deflate', deflateSync, ''],
    ['members of gzip with zeros between', 'gzip', gzipSync, '\0'.repeat(8)],
  ] as const) {
    for (const [size, pieces] of [
      [100_000, 'one piece'],
      [7, 'many'],
    ] as const) {
      it(`lets nothing out of what stands behind its end: ${name}, in ${pieces}`, async () => {
        const first = compress(`${filler}{"a":"first part"}\n`);
        const body = Buffer.concat([first, Buffer.from(between), compress(`{"said":"${KEY}"}`)]);
        const head = `HTTP/1.1 401 Unauthorized\r\nContent-Encoding: ${coding}\r\n`;
        const { ask, ends } = await start({
          secrets: [KEY],
          script: (socket) => sendChopped(socket, head, body, size),
        });
        const reply = await ask();
        expect(ends[0]?.failure).toBe('provider_died');
        if (reply.status !== 502)
          expect(reply.body.length).toBeLessThanOrEqual(first.length + between.length);
      });
    }
  }

  it('passes with zeros behind its end', async () => {
    const body = Buffer.concat([gzipSync('{"a":1}'), Buffer.alloc(8)]);
    const head = 'HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n';
    const { ask } = await start({
      secrets: [KEY],
      script: (socket) => sendChopped(socket, head, body, 100_000),
    });
    const reply = await ask();
    expect([reply.whole, reply.body.equals(body)]).toEqual([true, true]);
  });

  it('lets nothing of the secret out where it is cut in two', async () => {
    const parts = [`{"said":"${KEY.slice(0, 12)}`, `${KEY.slice(12)}"}`].map((text) => gzipSync(text));
    const head = 'HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n';
    const { ask } = await start({
      secrets: [KEY],
      script: (socket) => sendChopped(socket, head, Buffer.concat(parts), parts[0]?.length ?? 1),
    });
    const reply = await ask();
    expect([reply.status, reply.text]).toEqual([502, 'provider_died']);
  });

  it('goes on in a pause', async () => {
    const first = gzipSync('{"no line end": 1');
    let provider: Socket | undefined;
    const { ask } = await start({
      secrets: [KEY],
      script: (socket) => {
        provider = socket;
        socket.write(
          Buffer.concat([
            Buffer.from(`HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n${CHUNKED}`),
            chunk(first),
          ]),
        );
      },
    });
    const reply = await ask((soFar) => {
      if (soFar.equals(first)) provider?.end(Buffer.concat([chunk(gzipSync('}')), Buffer.from('0\r\n\r\n')]));
    });
    expect(gunzipSync(reply.body).toString()).toBe('{"no line end": 1}');
  });

  it('passes where it is not what it says, with the secret masked', async () => {
    const { ask } = await start({
      secrets: [KEY],
      script: (socket) =>
        sendChopped(
          socket,
          'HTTP/1.1 200 OK\r\nContent-Encoding: br\r\n',
          Buffer.from(`\u0007plain ${KEY}.`),
          9,
        ),
    });
    expect((await ask()).text).toBe(`\u0007plain ${'*'.repeat(KEY.length)}.`);
  });

  it('is not decoded to the end of a bomb', async () => {
    const bomb = gzipSync(Buffer.alloc(80 * 1024 * 1024), { level: 1 });
    const { ask, ends } = await start({
      secrets: [KEY],
      script: (socket) =>
        sendChopped(socket, 'HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n', bomb, bomb.length),
    });
    const reply = await ask();
    expect(reply.body.equals(bomb)).toBe(true);
    expect(ends[0]?.failure).toBeNull();
  });
});

function sendChopped(socket: Socket, head: string, body: Buffer, size: number): void {
  socket.write(head + CHUNKED);
  for (let at = 0; at < body.length; at += size) socket.write(chunk(body.subarray(at, at + size)));
  socket.end('0\r\n\r\n');
}

/**
 * How long a compressed answer is says how much of it repeats itself, and so whether a guess in it is the secret's (BREACH).
 * Nothing says it before the answer was looked at: a short one is judged as a whole, a long one loses its length.
 */
import { randomBytes } from 'node:crypto';
import { type ClientHttp2Session, constants } from 'node:http2';
import { brotliCompressSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { Peer } from '../support/client.ts';
import { type Http2Origin, startHttp2Origin } from '../support/http2-origin.ts';
import { type Inside, readStream, SECRET, startInside } from '../support/inside.ts';
import { startTlsOrigin, type TlsOrigin } from '../support/tls-origin.ts';

const HOST = 'echo.bound.test';
const HOST2 = 'two.bound.test';
const LONG = gzipSync(randomBytes(200_000).toString('hex'));
const SHORT = gzipSync('nothing to see here');
const GUESSES = ['the-real-secret', 'not-a-true-guess', SECRET.slice(0, -1)];
const echo = (guess: string) => gzipSync(JSON.stringify({ authorization: `Bearer ${SECRET}`, guess }));

let origin: TlsOrigin;
let origin2: Http2Origin;
let inside: Inside;
let target: string;
let tests = 0;
const open: Peer[] = [];

beforeAll(async () => {
  [origin, origin2] = await Promise.all([startTlsOrigin({ name: HOST }), startHttp2Origin(HOST2)]);
  inside = await startInside([HOST, HOST2], [origin.caPem, origin2.caPem]);
  target = `${HOST}:${origin.port}`;
});

afterEach(() => {
  for (const peer of open.splice(0)) peer.close();
  origin.forget();
});

afterAll(async () => {
  await inside?.close();
  await Promise.all([origin?.close(), origin2?.close()]);
});

const exchanges = (environment: string) =>
  inside.gate.world.call<unknown[]>('GET', `/v1/exchanges?environment=${environment}`);

async function ask(minor = 1, method = 'GET') {
  const environment = `length${++tests}`;
  await inside.bind(environment, [target]);
  const client = new Peer(await inside.enter(environment, target, { ALPNProtocols: ['http/1.1'] }));
  open.push(client);
  client.send(`${method} /echo HTTP/1.${minor}\r\nHost: ${target}\r\n\r\n`);
  const peer = await origin.next();
  await peer.answer();
  return { environment, client, peer };
}

const CODED = 'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Encoding: gzip\r\nETag: "1"\r\n';
const whole = (body: Buffer) =>
  Buffer.concat([Buffer.from(`${CODED}Content-Length: ${body.length}\r\n\r\n`), body]);

/** What is in chunks, and what stands behind the last. */
function unchunk(bytes: Buffer): { body: Buffer; rest: string } {
  const parts: Buffer[] = [];
  for (let at = 0; ; ) {
    const line = bytes.indexOf('\r\n', at);
    const size = Number.parseInt(bytes.toString('latin1', at, line), 16);
    if (size === 0) return { body: Buffer.concat(parts), rest: bytes.toString('latin1', line + 2) };
    parts.push(bytes.subarray(line + 2, line + 2 + size));
    at = line + 4 + size;
  }
}

describe('over HTTP/1.1', () => {
  it('whatever the guess is, the same 502 is what comes of a short echo', async () => {
    const lengths = new Set<number>();
    for (const guess of GUESSES) {
      const { environment, client, peer } = await ask();
      peer.send(whole(echo(guess)));
      const refused = await client.answer();
      expect(refused.status).toBe(502);
      expect(refused.headers.get('sallyport-reason')).toBe('secret_echoed');
      expect(await client.ending()).toBe('end');
      lengths.add(client.received.length);
      await expect
        .poll(() => exchanges(environment))
        .toMatchObject([{ reason: 'secret_echoed', status: 200, code: null }]);
    }
    expect(lengths.size).toBe(1);
  });

  it('one that cannot be read to its end is a 502 with a code', async () => {
    for (const [body, code, coding] of [
      [Buffer.concat([SHORT, Buffer.from('more')]), 'CODING_BROKEN', 'gzip'],
      [brotliCompressSync(Buffer.alloc(60_000_000)), 'TOO_MUCH_TO_DECODE', 'br'],
    ] as const) {
      const { environment, client, peer } = await ask();
      peer.send(Buffer.from(whole(body).toString('latin1').replace('gzip', coding), 'latin1'));
      const refused = await client.answer();
      expect(refused.headers.get('sallyport-reason')).toBe('answer_undecodable');
      expect(refused.headers.get('sallyport-code')).toBe(code);
      await expect
        .poll(() => exchanges(environment))
        .toMatchObject([{ reason: 'answer_undecodable', status: 200, code }]);
    }
  });

  it('a long one comes in chunks, keeps its other headers, and the connection goes on', async () => {
    const { client, peer } = await ask();
    const first = whole(LONG);
    expect(LONG.length).toBeGreaterThan(64 * 1024);
    peer.send(first.subarray(0, 70_000));
    const head = `${CODED}Transfer-Encoding: chunked\r\n\r\n`;
    expect(await client.text(head.length)).toBe(head);
    peer.send(first.subarray(70_000));
    let body = await client.read(LONG.length);
    while (!body.subarray(-7).equals(Buffer.from('\r\n0\r\n\r\n')))
      body = Buffer.concat([body, await client.read(1)]);
    expect(unchunk(body)).toEqual({ body: LONG, rest: '\r\n' });
    client.send(`GET /again HTTP/1.1\r\nHost: ${target}\r\n\r\n`);
    await peer.answer();
    peer.send(whole(SHORT));
    expect((await client.read(whole(SHORT).length)).equals(whole(SHORT))).toBe(true);
  });

  it('a long one for an HTTP/1.0 client ends with its connection', async () => {
    const { client, peer } = await ask(0);
    peer.send(whole(LONG));
    expect(await client.ending()).toBe('end');
    const head = `${CODED}Connection: close\r\n\r\n`;
    expect(client.received.toString('latin1', 0, head.length)).toBe(head);
    expect(client.received.subarray(head.length).equals(LONG)).toBe(true);
  });

  it('the size of a chunk does not come before what is in it; trailers stay', async () => {
    const { client, peer } = await ask();
    peer.send(`${CODED}Transfer-Encoding: chunked\r\nTrailer: X-T\r\n\r\n${SHORT.length.toString(16)}\r\n`);
    const head = `${CODED}Trailer: X-T\r\nTransfer-Encoding: chunked\r\n\r\n`;
    expect(await client.text(head.length)).toBe(head);
    peer.send(SHORT.subarray(0, 10));
    peer.send(Buffer.concat([SHORT.subarray(10), Buffer.from(`\r\n0\r\nX-T: ${SECRET}\r\n\r\n`)]));
    const trailer = `0\r\nX-T: ${'*'.repeat(SECRET.length)}\r\n\r\n`;
    let body = '';
    while (!body.endsWith(trailer)) body += await client.text(1);
    const { body: content, rest } = unchunk(Buffer.from(body, 'latin1'));
    expect(content.equals(SHORT)).toBe(true);
    expect(rest).toBe(trailer.slice(3));
  });

  it('an origin that breaks off before the end of a short one is a 502', async () => {
    const { client, peer } = await ask();
    peer.send(whole(SHORT).subarray(0, -5));
    peer.close();
    expect((await client.answer()).headers.get('sallyport-reason')).toBe('origin_failed');
  });
});

describe('over HTTP/2', () => {
  let session: ClientHttp2Session;
  let environment: string;

  const enter = async () => {
    environment = `length${++tests}`;
    await inside.bind(environment, [`${HOST2}:${origin2.port}`]);
    session = await inside.session(environment, `${HOST2}:${origin2.port}`);
  };
  const serve = (body: (path: string) => Buffer) =>
    origin2.serve(({ stream, raw }) => {
      stream.on('error', () => {});
      const coded = body(raw[raw.indexOf(':path') + 1] ?? '');
      stream.respond({
        ':status': 200,
        'content-type': 'text/plain',
        'content-encoding': 'gzip',
        'content-length': coded.length,
        etag: '"1"',
      });
      stream.end(coded);
    });
  const read = (path: string, method = 'GET') =>
    readStream(session.request({ ':path': path, ':method': method }, { endStream: true }));

  afterEach(() => session.destroy());

  it('whatever the guess is, the same 502 is what comes of a short echo; other streams go on', async () => {
    await enter();
    serve((path) => (path === '/clean' ? SHORT : echo(path.slice(1))));
    const answers = await Promise.all(GUESSES.map((guess) => read(`/${guess}`)));
    for (const { status, raw } of answers) {
      expect(status).toBe(502);
      expect(raw[raw.indexOf('sallyport-reason') + 1]).toBe('secret_echoed');
    }
    expect(new Set(answers.map(({ body }) => body.length)).size).toBe(1);
    const clean = await read('/clean');
    expect(clean).toMatchObject({ status: 200, body: SHORT.toString('latin1'), code: 0 });
    expect(clean.raw[clean.raw.indexOf('content-length') + 1]).toBe(String(SHORT.length));
    await expect
      .poll(() => exchanges(environment))
      .toEqual(
        expect.arrayContaining([
          expect.objectContaining({ path: `/${GUESSES[0]}`, reason: 'secret_echoed', status: 200 }),
          expect.objectContaining({ path: '/clean', reason: 'injected' }),
        ]),
      );
  });

  it('a long one and the answer to a HEAD lose their length, and nothing else', async () => {
    await enter();
    serve(() => LONG);
    const long = await read('/long');
    expect(long).toMatchObject({ status: 200, body: LONG.toString('latin1'), code: 0 });
    const bare = await read('/long', 'HEAD');
    for (const { raw } of [long, bare]) {
      expect(raw).not.toContain('content-length');
      expect(raw).toContain('etag');
    }
  });

  it('an origin that breaks off before the end of a short one resets the stream', async () => {
    await enter();
    origin2.serve(({ stream }) => {
      stream.on('error', () => {});
      stream.respond({
        ':status': 200,
        'content-type': 'text/plain',
        'content-encoding': 'gzip',
        'content-length': SHORT.length,
      });
      stream.write(SHORT.subarray(0, 10), () => stream.close(constants.NGHTTP2_INTERNAL_ERROR));
    });
    const answer = await read('/', 'POST');
    expect(answer).toMatchObject({ status: 0, body: '' });
    expect(answer.code).not.toBe(0);
  });

  it.each(['breaks off', 'ends'])(
    'an origin that %s within a zstd block: nothing of it passes',
    async (how) => {
      await enter();
      const coded = zstdCompressSync(`${SECRET}${randomBytes(20_000).toString('latin1')}`).subarray(0, -10);
      origin2.serve(({ stream }) => {
        stream.on('error', () => {});
        stream.respond({ ':status': 200, 'content-type': 'text/plain', 'content-encoding': 'zstd' });
        if (how === 'ends') stream.end(coded);
        else stream.write(coded, () => stream.close(constants.NGHTTP2_INTERNAL_ERROR));
      });
      const answer = await read('/block');
      expect(answer.body.length).toBeLessThan(20);
      expect(answer.code).not.toBe(0);
      const row = how === 'ends' ? { reason: 'answer_undecodable', code: 'CODING_BROKEN' } : {};
      await expect.poll(() => exchanges(environment)).toMatchObject([{ path: '/block', ...row }]);
    },
  );
});

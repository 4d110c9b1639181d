/**
 * Scrubbing from end to end: an origin that gives back the secret that was put on the request. The client sees stars in its
 * place, bodies keep their lengths and their moments, and what cannot be masked never comes to a clean end.
 */
import { randomBytes } from 'node:crypto';
import { type ClientHttp2Session, constants } from 'node:http2';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { MOST_OF_ENVIRONMENT } from '../../egress/scrub/decoder-slots.ts';
import { Peer } from '../support/client.ts';
import { type Http2Origin, startHttp2Origin } from '../support/http2-origin.ts';
import { type Inside, readStream, SECRET, startInside } from '../support/inside.ts';
import { startTlsOrigin, type TlsOrigin } from '../support/tls-origin.ts';

const HOST = 'echo.bound.test';
const HOST2 = 'two.bound.test';
const STARS = '*'.repeat(SECRET.length);

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

/** A client that has asked, and the origin that is to answer; each test in an environment of its own. */
async function ask(method = 'GET') {
  const environment = `echo${++tests}`;
  await inside.bind(environment, [target]);
  const client = new Peer(await inside.enter(environment, target, { ALPNProtocols: ['http/1.1'] }));
  open.push(client);
  client.send(`${method} /echo HTTP/1.1\r\nHost: ${target}\r\n\r\n`);
  const peer = await origin.next();
  expect((await peer.answer()).text).toContain(`Bearer ${SECRET}`);
  return { environment, client, peer };
}

/** The exchanges of an environment, once they are recorded. */
async function exchangesOf(environment: string, count: number): Promise<readonly unknown[]> {
  const read = () => inside.gate.world.call<unknown[]>('GET', `/v1/exchanges?environment=${environment}`);
  await expect.poll(async () => (await read()).length).toBe(count);
  return read();
}

async function exchangeOf(environment: string): Promise<unknown> {
  return (await exchangesOf(environment, 1))[0];
}

const answer = (headers: string, body: string) =>
  `HTTP/1.1 200 OK\r\nContent-Length: ${Buffer.byteLength(body)}\r\n${headers}\r\n${body}`;

describe('an answer that echoes', () => {
  it('in a header, an interim answer and a text has stars there, and is counted', async () => {
    const { environment, client, peer } = await ask();
    peer.send(`HTTP/1.1 103 Early Hints\r\nLink: </?k=${SECRET}>\r\n\r\n`);
    expect((await client.answer()).text).toBe(`HTTP/1.1 103 Early Hints\r\nLink: </?k=${STARS}>\r\n\r\n`);
    const body = `{"authorization":"Bearer ${SECRET}"}`;
    peer.send(answer(`Content-Type: application/json\r\nX-Echo: Bearer ${SECRET}\r\n`, body));
    expect((await client.answer()).text).toBe(
      answer(
        `Content-Type: application/json\r\nX-Echo: Bearer ${STARS}\r\n`,
        `{"authorization":"Bearer ${STARS}"}`,
      ),
    );
    expect(await exchangeOf(environment)).toMatchObject({ reason: 'injected', masked: 3, status: 200 });
  });

  it('across chunks, behind an extension and in a trailer keeps its framing', async () => {
    const { environment, client, peer } = await ask();
    const echoed = (first: string, second: string, trailer: string) =>
      `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8;x=y\r\n${first}\r\nd\r\n${second}\r\n0\r\nX-T: ${trailer}\r\n\r\n`;
    const whole = echoed(SECRET.slice(0, 8), SECRET.slice(8), SECRET);
    for (const byte of Buffer.from(whole)) peer.send(Buffer.of(byte));
    const expected = echoed('*'.repeat(8), '*'.repeat(13), STARS);
    expect(await client.text(expected.length)).toBe(expected);
    expect(await exchangeOf(environment)).toMatchObject({
      reason: 'injected',
      masked: 2,
      bytesDown: expected.length,
    });
  });

  it('in a body that is no text passes as it came', async () => {
    const { environment, client, peer } = await ask();
    const whole = answer('Content-Type: application/octet-stream\r\n', SECRET);
    peer.send(whole);
    expect((await client.answer()).text).toBe(whole);
    expect(await exchangeOf(environment)).toMatchObject({ reason: 'injected', masked: 0 });
  });

  it('in a range of a text keeps its length', async () => {
    const { client, peer } = await ask();
    const range = (body: string) =>
      `HTTP/1.1 206 Partial Content\r\nContent-Type: text/plain\r\nContent-Range: bytes 5-25/100\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    peer.send(range(SECRET));
    expect((await client.answer()).text).toBe(range(STARS));
  });

  it('to a HEAD has its headers masked and no body awaited', async () => {
    const { environment, client, peer } = await ask('HEAD');
    peer.send(
      `HTTP/1.1 200 OK\r\nContent-Length: 900\r\nContent-Encoding: gzip\r\nETag: "${SECRET}"\r\n\r\n`,
    );
    const expected = `HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nETag: "${STARS}"\r\n\r\n`;
    expect(await client.text(expected.length)).toBe(expected);
    expect(await exchangeOf(environment)).toMatchObject({ reason: 'injected', masked: 1 });
  });
});

describe('a compressed answer', () => {
  const coded = (body: Buffer) =>
    Buffer.concat([
      Buffer.from(
        `HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Encoding: gzip\r\nContent-Length: ${body.length}\r\n\r\n`,
      ),
      body,
    ]);

  it('that is clean passes to the byte', async () => {
    const { environment, client, peer } = await ask();
    const whole = coded(gzipSync('nothing to see here'));
    peer.send(whole);
    expect((await client.read(whole.length)).equals(whole)).toBe(true);
    expect(await exchangeOf(environment)).toMatchObject({ reason: 'injected', masked: 0 });
  });

  it('with the secret in it is a 502 of ours, with its reason', async () => {
    const { environment, client, peer } = await ask();
    const whole = coded(gzipSync(`you sent Bearer ${SECRET}, thank you`));
    peer.send(whole);
    const refused = await client.answer();
    expect(refused.status).toBe(502);
    expect(refused.headers.get('sallyport-reason')).toBe('secret_echoed');
    expect(await client.ending()).toBe('end');
    expect(await exchangeOf(environment)).toMatchObject({ reason: 'secret_echoed', status: 200 });
  });
});

describe('a stream of events', () => {
  it('is not held up: each event arrives before the next is sent', async () => {
    const { client, peer } = await ask();
    const head = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n';
    peer.send(head);
    const passed = head.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n');
    expect(await client.text(passed.length)).toBe(passed);
    for (const event of ['data: 1\n\n', 'data: the-real\n\n', 'data: 3\n\n']) {
      peer.send(event);
      expect(await client.text(event.length)).toBe(event);
    }
    peer.send(`data: ${SECRET}\n\n`);
    expect(await client.text(STARS.length + 8)).toBe(`data: ${STARS}\n\n`);
    // A guess and then silence: it goes on however well it begins, and the rest of a secret is masked all the same.
    for (const guess of ['!the-real-secret-val', '!something else']) {
      peer.send(guess);
      expect(await client.text(guess.length)).toBe(guess);
    }
    peer.send('the');
    expect(await client.text(3)).toBe('the');
    peer.send(`${SECRET.slice(3)}.\n`);
    expect(await client.text(STARS.length - 1)).toBe(`${STARS.slice(3)}.\n`);
    peer.send('the-real');
    peer.finish();
    expect(await client.text(8)).toBe('the-real');
    expect(await client.ending()).toBe('end');
  });
});

describe('a text that breaks off', () => {
  it.each([
    ['with a length', 'Content-Length: 1000\r\n', ''],
    ['in chunks', 'Transfer-Encoding: chunked\r\n', '100\r\n'],
  ])('%s shows nothing of its last line', async (_, framing, before) => {
    for (const part of [SECRET.slice(0, -1), SECRET.slice(0, 5), 'something else']) {
      const { environment, client, peer } = await ask();
      const head = `HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n${framing}\r\n`;
      peer.send(`${head}${before}a line\nBearer ${part}`);
      peer.finish();
      const shown = `${head}${before}a line\n`;
      expect(await client.text(shown.length)).toBe(shown);
      await client.ending();
      expect(client.received.length).toBe(0);
      expect(await exchangeOf(environment)).toMatchObject({ reason: 'origin_failed', status: 200 });
      origin.forget();
    }
  });
});

describe('over HTTP/2', () => {
  let session: ClientHttp2Session;
  let environment: string;

  const enter = async () => {
    environment = `echo${++tests}`;
    await inside.bind(environment, [`${HOST2}:${origin2.port}`]);
    session = await inside.session(environment, `${HOST2}:${origin2.port}`);
  };
  const read = (path: string) => readStream(session.request({ ':path': path }, { endStream: true }));

  afterEach(() => session.destroy());

  it('an echo is masked in headers, interim answers, data and trailers', async () => {
    await enter();
    origin2.serve(({ stream }) => {
      stream.additionalHeaders({ ':status': 103, link: SECRET });
      stream.respond(
        { ':status': 200, 'content-type': 'text/plain', 'x-echo': `a ${SECRET} b` },
        { waitForTrailers: true },
      );
      stream.once('wantTrailers', () => stream.sendTrailers({ 'x-end': SECRET }));
      stream.write(`you sent ${SECRET.slice(0, 9)}`, () => stream.end(`${SECRET.slice(9)} and the-real`));
    });
    const stream = session.request({ ':path': '/echo' }, { endStream: true });
    const early: unknown[] = [];
    stream.on('headers', (headers) => early.push(headers['link']));
    const answer = await readStream(stream);
    expect(early).toEqual([STARS]);
    expect(answer).toMatchObject({
      status: 200,
      body: `you sent ${STARS} and the-real`,
      trailers: ['x-end', STARS],
      code: 0,
    });
    expect(answer.raw).toContain(`a ${STARS} b`);
    expect(await exchangeOf(environment)).toMatchObject({ reason: 'injected', masked: 4 });
  });

  it('a compressed echo resets its stream and no other; a clean one passes to the byte', async () => {
    await enter();
    const coded = { clean: gzipSync('nothing to see here'), dirty: gzipSync(`you sent ${SECRET}`) };
    origin2.serve(({ stream, raw }) => {
      stream.respond({ ':status': 200, 'content-type': 'text/plain', 'content-encoding': 'gzip' });
      stream.end(raw.includes('/dirty') ? coded.dirty : coded.clean);
    });
    const [dirty, clean] = await Promise.all([read('/dirty'), read('/clean')]);
    expect(dirty).toMatchObject({ status: 200, body: '', code: constants.NGHTTP2_INTERNAL_ERROR });
    expect(clean).toMatchObject({ status: 200, body: coded.clean.toString('latin1'), code: 0 });
    expect(await exchangesOf(environment, 2)).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ path: '/dirty', reason: 'secret_echoed' }),
        expect.objectContaining({ path: '/clean', reason: 'injected' }),
      ]),
    );
  });

  it('a client that leaves has nothing more decoded for it', async () => {
    await enter();
    const long = Buffer.concat([
      zstdCompressSync('a line\n'),
      zstdCompressSync(randomBytes(60_000).toString('hex')).subarray(0, 20_000),
    ]);
    const dirty = zstdCompressSync(`you sent ${SECRET}`);
    origin2.serve(({ stream, raw }) => {
      stream.on('error', () => {});
      stream.respond({ ':status': 200, 'content-type': 'text/plain', 'content-encoding': 'zstd' });
      if (raw.includes('/dirty')) stream.end(dirty);
      else stream.write(long);
    });
    // As many as are decoded at once for one environment, and none is read to its end: were they kept, the next would wait.
    const left = Array.from({ length: MOST_OF_ENVIRONMENT }, (_, i) =>
      session.request({ ':path': `/${i}` }, { endStream: true }).on('error', () => {}),
    );
    await expect
      .poll(() => left.every((stream) => stream.readableLength > 0), { timeout: 15_000 })
      .toBe(true);
    for (const stream of left) stream.close(constants.NGHTTP2_CANCEL);
    await expect.poll(async () => (await read('/dirty')).code).toBe(constants.NGHTTP2_INTERNAL_ERROR);
  });

  it('a text that breaks off shows nothing of its last line', async () => {
    await enter();
    origin2.serve(({ stream }) => {
      stream.respond({ ':status': 200, 'content-type': 'text/plain' });
      stream.write(`a line\nBearer ${SECRET.slice(0, -1)}`, () => stream.session?.destroy());
    });
    const { body, code } = await read('/echo');
    expect(code).not.toBe(0);
    expect('a line\n'.startsWith(body)).toBe(true);
  });

  it('an origin that is far away is no pause where its window ends in a secret', async () => {
    const far = await startFar(origin2.port);
    environment = `echo${++tests}`;
    await inside.bind(environment, [`${HOST2}:${far.port}`]);
    session = await inside.session(environment, `${HOST2}:${far.port}`);
    origin2.serve(({ stream, raw }) => {
      const before = Number(raw[raw.indexOf(':path') + 1]?.slice(1));
      stream.respond({ ':status': 200, 'content-type': 'text/plain' });
      stream.end(`${'x'.repeat(before)}${SECRET}${'y'.repeat(300_000)}`);
    });
    for (const passed of [3, 12, SECRET.length - 1]) {
      const { body, code } = await read(`/${512 * 1024 - passed}`);
      expect(code).toBe(0);
      expect(body.replace(/^x+|y+$/g, '')).toBe(STARS);
    }
    await far.close();
  });

  it('events are not held up, and what could begin a secret goes on at a pause', async () => {
    await enter();
    const events = ['data: 1\n\n', 'data: the-real-secret', ' end\n\n'];
    origin2.serve(({ stream }) => {
      stream.respond({ ':status': 200, 'content-type': 'text/event-stream' });
      stream.write(events[0]);
      // The client asks for each of the others.
      stream.on('data', () => stream.write(events[++sent] as string));
    });
    let sent = 0;
    const stream = session.request({ ':path': '/events', ':method': 'POST' });
    let body = '';
    stream.on('error', () => {});
    stream.on('data', (chunk: Buffer) => {
      body += chunk;
      if (body === events.slice(0, sent + 1).join('') && sent < 2) stream.write('next');
    });
    await expect.poll(() => body).toBe(events.join(''));
  });
});

/** The same origin, 40 ms away each way. */
async function startFar(port: number): Promise<{ readonly port: number; close(): Promise<void> }> {
  const sockets = new Set<Socket>();
  const server: Server = createServer((near) => {
    const other = connect(port, '127.0.0.1');
    for (const [from, to] of [
      [near, other],
      [other, near],
    ] as const) {
      sockets.add(from);
      from.setNoDelay(true);
      from.on('data', (bytes: Buffer) => setTimeout(() => to.write(bytes), FAR_MS));
      from.on('error', () => to.destroy());
      from.on('close', () => to.destroy());
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    close: () => {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

const FAR_MS = 40;

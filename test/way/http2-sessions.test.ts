/**
 * What HTTP/2 sessions share and what they never do; what changes while they are open; what a hostile peer can do to
 * them: lose its own session, and nobody else's.
 */
import { constants } from 'node:http2';
import type { TLSSocket } from 'node:tls';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Http2Origin, startHttp2Origin } from '../support/http2-origin.ts';
import { type Inside, readStream, SECRET, startInside } from '../support/inside.ts';

const HOST = 'two.bound.test';
const NARROW = 'narrow.bound.test';
let origin: Http2Origin;
let narrow: Http2Origin;
let inside: Inside;
let target: string;
let environment = 'e0';

beforeAll(async () => {
  origin = await startHttp2Origin(HOST);
  narrow = await startHttp2Origin(NARROW, { settings: { maxConcurrentStreams: 1 } });
  inside = await startInside([HOST, NARROW], [origin.caPem, narrow.caPem]);
  target = `${HOST}:${origin.port}`;
});

beforeEach(async () => {
  environment = `e${Number(environment.slice(1)) + 1}`;
  await inside.bind(environment, [target, `${NARROW}:${narrow.port}`]);
  origin.serve(({ stream }) => stream.respond({ ':status': 204 }, { endStream: true }));
});

afterAll(async () => {
  await inside?.close();
  await Promise.all([origin?.close(), narrow?.close()]);
});

const get = (path = '/', authority = target) => ({ ':path': path, ':authority': authority });
const ending = () => inside.gate.rows().then((rows) => rows[0]?.end?.reason);

describe('a session with an origin', () => {
  it('is shared by the clients of an environment, and by no other', async () => {
    const before = origin.sessions.length;
    const first = await inside.session(environment, target);
    const second = await inside.session(environment, target);
    await Promise.all([readStream(first.request(get())), readStream(second.request(get()))]);
    expect(origin.sessions.length).toBe(before + 1);
    await inside.bind('another', [target, `${NARROW}:${narrow.port}`]);
    const other = await inside.session('another', target);
    await readStream(other.request(get()));
    expect(origin.sessions.length).toBe(before + 2);
    for (const session of [first, second, other]) session.destroy();
  });

  it('that is full gets another beside it', async () => {
    const at = `${NARROW}:${narrow.port}`;
    const held: (() => void)[] = [];
    narrow.serve(({ stream }) => {
      stream.respond({ ':status': 200 });
      held.push(() => stream.end('done'));
    });
    const session = await inside.session(environment, at);
    const answers = [session.request(get('/', at)), session.request(get('/', at))].map(readStream);
    await expect.poll(() => held.length).toBe(2);
    expect(narrow.sessions.length).toBe(2);
    for (const finish of held) finish();
    expect(await Promise.all(answers)).toMatchObject([{ body: 'done' }, { body: 'done' }]);
    session.destroy();
  });

  it('that goes away finishes what it has, and the next stream has a new one', async () => {
    let finish: (() => void) | undefined;
    origin.serve(({ stream, raw }) => {
      if (!raw.includes('/first')) return stream.respond({ ':status': 204 }, { endStream: true });
      stream.respond({ ':status': 200 });
      finish = () => stream.end('finished');
      stream.session?.close();
    });
    const session = await inside.session(environment, target);
    const first = session.request(get('/first'));
    const answer = readStream(first);
    await new Promise((resolve) => first.once('response', resolve));
    expect(await readStream(session.request(get('/second')))).toMatchObject({ status: 204 });
    finish?.();
    expect(await answer).toMatchObject({ body: 'finished', code: 0 });
    session.destroy();
  });

  it('that died meanwhile is replaced for a GET', async () => {
    const session = await inside.session(environment, target);
    await readStream(session.request(get()));
    let refused = 0;
    origin.serve(({ stream }) => {
      if (refused++ === 0) stream.session?.destroy();
      else stream.respond({ ':status': 204 }, { endStream: true });
    });
    expect(await readStream(session.request(get()))).toMatchObject({ status: 204 });
    session.destroy();
  });
});

describe('a change while a session is open', () => {
  it('of the secret is in the next stream', async () => {
    const seen: string[] = [];
    origin.serve(({ stream, raw }) => {
      seen.push(raw[raw.indexOf('authorization') + 1] ?? '');
      stream.respond({ ':status': 204 }, { endStream: true });
    });
    const session = await inside.session(environment, target);
    await readStream(session.request(get()));
    await inside.gate.world.call('POST', '/v1/vaults/v/credentials/secret/rotate', {
      secret: { value: 'newer-secret' },
    });
    await expect
      .poll(async () => {
        await readStream(session.request(get()));
        return seen.at(-1);
      })
      .toBe('Bearer newer-secret');
    expect(seen[0]).toBe(`Bearer ${SECRET}`);
    session.destroy();
  });

  it('that unbinds it ends the connection with its reason', async () => {
    const session = await inside.session(environment, target);
    await readStream(session.request(get()));
    const closed = new Promise((resolve) => session.once('close', resolve));
    await inside.gate.put(environment, { allow: [target], credentials: [] });
    await closed;
    await expect.poll(ending).toBe('secret_unbound');
  });
});

describe('a hostile origin', () => {
  it.each([
    ['trailers that belong to a connection', { 'http2-settings': 'x', 'x-t': '1' }],
    ['trailers that are not text', { 'x-t': '\u00ff' }],
  ])('with %s does not end the gate', async (_name, trailers) => {
    origin.serve(({ stream, raw }) => {
      if (raw.includes('/next')) return stream.respond({ ':status': 204 }, { endStream: true });
      stream.respond({ ':status': 200 }, { waitForTrailers: true });
      stream.on('wantTrailers', () => {
        try {
          stream.sendTrailers(trailers);
        } catch {
          stream.close(2);
        }
      });
      stream.end('body');
    });
    const session = await inside.session(environment, target);
    expect(await readStream(session.request(get()))).toMatchObject({ status: 200 });
    expect(await readStream(session.request(get('/next')))).toMatchObject({ status: 204 });
    session.destroy();
  });

  it('with endless informational answers gets a 502', async () => {
    origin.serve(({ stream }) => {
      for (let i = 0; i < 50; i++) stream.additionalHeaders({ ':status': 103 });
    });
    const session = await inside.session(environment, target);
    const answer = await readStream(session.request(get()));
    expect(answer).toMatchObject({ status: 502, code: 0 });
    expect(answer.raw).toContain('origin_failed');
    session.destroy();
  });
});

describe('a hostile client', () => {
  it.each([
    [
      'a head past 64 KiB',
      Object.fromEntries(Array.from({ length: 18 }, (_, i) => [`x-${i}`, 'a'.repeat(4_000)])),
    ],
    ['205 fields and more', Object.fromEntries(Array.from({ length: 210 }, (_, i) => [`x-${i}`, '1']))],
  ])('with %s loses its stream', async (_name, headers) => {
    const session = await inside.session(environment, target, { maxSendHeaderBlockLength: 200_000 });
    const answer = await readStream(session.request({ ...get(), ...headers }));
    expect(answer.status).toBe(0);
    expect([constants.NGHTTP2_ENHANCE_YOUR_CALM, constants.NGHTTP2_REFUSED_STREAM]).toContain(answer.code);
    expect(await readStream(session.request(get()))).toMatchObject({ status: 204 });
    session.destroy();
  });

  it('cannot open more than a hundred streams at once', async () => {
    const held: (() => void)[] = [];
    origin.serve(({ stream }) => {
      stream.respond({ ':status': 200 });
      held.push(() => stream.end());
    });
    const session = await inside.session(environment, target);
    await new Promise((resolve) => session.once('remoteSettings', resolve));
    const answers = Array.from({ length: 101 }, () => readStream(session.request(get())));
    await expect.poll(() => held.length).toBe(100);
    expect(await inside.gate.world.call('GET', '/v1/exchanges?limit=500')).toBeDefined();
    expect(held.length).toBe(100);
    for (const finish of held.splice(0)) finish();
    await expect.poll(() => held.length).toBe(1);
    held[0]?.();
    expect((await Promise.all(answers)).every(({ status }) => status === 200)).toBe(true);
    session.destroy();
  });

  it('has no more streams in all its connections than its environment may have connections', async () => {
    await inside.gate.put(environment, { allow: [target], credentials: ['v/secret'], maxConnections: 3 });
    const held: (() => void)[] = [];
    origin.serve(({ stream }) => {
      stream.respond({ ':status': 200 });
      held.push(() => stream.end());
    });
    const sessions = [
      await inside.session(environment, target),
      await inside.session(environment, target),
    ] as const;
    const open = Array.from({ length: 3 }, (_, i) => readStream(sessions[(i % 2) as 0 | 1].request(get())));
    await expect.poll(() => held.length).toBe(3);
    const refused = await readStream(sessions[1].request(get()));
    expect([refused.status, refused.raw.includes('connection_limit')]).toEqual([429, true]);
    for (const finish of held.splice(0)) finish();
    await Promise.all(open);
    const again = readStream(sessions[1].request(get()));
    await expect.poll(() => held.length).toBe(1);
    held[0]?.();
    expect((await again).status).toBe(200);
    for (const session of sessions) session.destroy();
  });

  it('that is refused again and again has few rows of it written, and the rest counted', async () => {
    const session = await inside.session(environment, target);
    const since = Date.now();
    const asks = 300;
    for (let i = 0; i < asks; i += 60) {
      const some = Array.from({ length: 60 }, () => session.request({ ...get(), ':method': 'TRACE' }));
      expect(await Promise.all(some.map(readStream))).toMatchObject(some.map(() => ({ status: 405 })));
    }
    const seconds = Math.ceil((Date.now() - since) / 1_000) + 1;
    const read = async () => {
      const written = await inside.gate.world.call<unknown[]>(
        'GET',
        `/v1/exchanges?environment=${environment}&limit=500`,
      );
      const counts = (await inside.gate.counts()).filter(({ reason }) => reason === 'method_refused');
      const counted = counts.reduce((sum, { count }) => sum + count, 0);
      return { rows: written.length, all: written.length + counted };
    };
    await expect.poll(async () => (await read()).all, { timeout: 10_000 }).toBe(asks);
    expect((await read()).rows).toBeLessThanOrEqual(50 * seconds);
    expect((await read()).rows).toBeGreaterThanOrEqual(50);
    session.destroy();
  });

  it('that resets streams as fast as it opens them is put out; others are served', async () => {
    const secured = await inside.enter(environment, target, { ALPNProtocols: ['h2'] });
    let id = -1;
    await flood(secured, () => {
      id += 2;
      const authority = Buffer.from(target);
      const head = Buffer.concat([Buffer.from([0x82, 0x87, 0x84, 0x41, authority.length]), authority]);
      return Buffer.concat([frame(1, 5, id, head), frame(3, 0, id, Buffer.from([0, 0, 0, 8]))]);
    });
    const other = await inside.session(environment, target);
    expect(await readStream(other.request(get()))).toMatchObject({ status: 204 });
    other.destroy();
    await expect.poll(ending).toBeDefined();
  });

  it.each([
    ['pings', frame(6, 0, 0, Buffer.alloc(8))],
    ['settings', frame(4, 0, 0, Buffer.from([0, 3, 0, 0, 0, 100]))],
    ['empty data for no stream', frame(0, 0, 1, Buffer.alloc(0))],
    [
      'continuations',
      Buffer.concat([
        frame(1, 0, 1, Buffer.from([0x82])),
        ...Array(100).fill(frame(9, 0, 1, Buffer.from([0x82]))),
      ]),
    ],
  ])('that floods a session with %s loses it; others are served', async (_name, bytes) => {
    const secured = await inside.enter(environment, target, { ALPNProtocols: ['h2'] });
    await flood(secured, () => bytes);
    const other = await inside.session(environment, target);
    expect(await readStream(other.request(get()))).toMatchObject({ status: 204 });
    other.destroy();
  });
});

/** Writes without reading what comes back, until the gate ends it. */
async function flood(secured: TLSSocket, make: () => Buffer): Promise<void> {
  secured.on('error', () => {});
  const closed = new Promise((resolve) => secured.once('close', resolve));
  secured.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
  secured.write(frame(4, 0, 0, Buffer.alloc(0)));
  const block = () => Buffer.concat(Array.from({ length: 500 }, make));
  const more = (): void => {
    while (!secured.destroyed && secured.write(block()));
  };
  secured.on('drain', more);
  more();
  // Once it was seen that nobody reads, what came is looked at: a session that was ended ends the connection.
  setImmediate(() => secured.resume());
  await closed;
}

function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/**
 * HTTP/2 inside interceptions: a client that speaks it, an origin that does, the gate between them. What passes keeps its
 * lines, its trailers and how it ended; the secret is on every stream.
 */
import { connect as connectHttp2, constants } from 'node:http2';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Http2Origin, startHttp2Origin } from '../support/http2-origin.ts';
import { type Inside, readStream, SECRET, startInside } from '../support/inside.ts';
import { startTlsOrigin, type TlsOrigin } from '../support/tls-origin.ts';

const HOST = 'two.bound.test';
const OLD = 'one.bound.test';

let origin: Http2Origin;
let old: TlsOrigin;
let inside: Inside;
let target: string;
let environment = 'e0';

beforeAll(async () => {
  origin = await startHttp2Origin(HOST);
  old = await startTlsOrigin({ name: OLD });
  inside = await startInside([HOST, OLD], [origin.caPem, old.caPem]);
  target = `${HOST}:${origin.port}`;
});

beforeEach(async () => {
  environment = `e${Number(environment.slice(1)) + 1}`;
  await inside.bind(environment, [target, `${OLD}:${old.port}`]);
});

afterAll(async () => {
  await inside?.close();
  await Promise.all([origin?.close(), old?.close()]);
});

const request = (path: string, ...more: string[]): string[] => [
  ':method',
  'GET',
  ':scheme',
  'https',
  ':authority',
  target,
  ':path',
  path,
  ...more,
];

describe('the secret', () => {
  it('is set on each stream in place of what the client sent; the lines keep order and repeats', async () => {
    const seen: (readonly string[])[] = [];
    origin.serve(({ stream, raw }) => {
      seen.push(raw);
      stream.respond([
        ':status',
        '299',
        'x-a',
        '1',
        'set-cookie',
        'a',
        'x-b',
        '2',
        'set-cookie',
        'b',
        'date',
        'x',
      ]);
      stream.end('hello');
    });
    const session = await inside.session(environment, target);
    const lines = [
      'x-odd',
      'two',
      'authorization',
      'Bearer sallyport-managed',
      'x-odd',
      'again',
      'te',
      'trailers',
    ];
    const answer = await readStream(
      session.request(request('//a/../b;c?d=e', ...lines), { endStream: true }),
    );
    expect(answer).toMatchObject({ status: 299, body: 'hello', code: 0 });
    expect(answer.raw).toEqual([
      ':status',
      '299',
      'x-a',
      '1',
      'set-cookie',
      'a',
      'x-b',
      '2',
      'set-cookie',
      'b',
      'date',
      'x',
    ]);
    expect(seen).toEqual([
      request(
        '//a/../b;c?d=e',
        'x-odd',
        'two',
        'x-odd',
        'again',
        'te',
        'trailers',
        'authorization',
        `Bearer ${SECRET}`,
      ),
    ]);
    session.destroy();
  });

  it('goes out never indexed', async () => {
    let sensitive: unknown;
    origin.server.once('stream', (_stream, headers) => {
      sensitive = Object.getOwnPropertySymbols(headers).map((symbol) => Reflect.get(headers, symbol));
    });
    origin.serve(({ stream }) => stream.respond({ ':status': 204 }, { endStream: true }));
    const session = await inside.session(environment, target);
    await readStream(session.request(request('/'), { endStream: true }));
    expect(sensitive).toEqual([['authorization']]);
    session.destroy();
  });
});

describe('the protocol', () => {
  it('is HTTP/2 only where the client offers it and the origin speaks it', async () => {
    const at = `${OLD}:${old.port}`;
    const both = ['h2', 'http/1.1'];
    expect((await inside.enter(environment, target, { ALPNProtocols: both })).alpnProtocol).toBe('h2');
    expect((await inside.enter(environment, at, { ALPNProtocols: both })).alpnProtocol).toBe('http/1.1');
    expect((await inside.enter(environment, target, { ALPNProtocols: ['http/1.1'] })).alpnProtocol).toBe(
      'http/1.1',
    );
    expect((await inside.enter(environment, target)).alpnProtocol).toBe(false);
    await expect(inside.enter(environment, at, { ALPNProtocols: ['h2'] })).rejects.toThrow(/alert/);
    await expect(inside.enter(environment, target, { ALPNProtocols: ['spdy/3'] })).rejects.toThrow(/alert/);
  });

  it('needs no SNI: then the leaf is of the CONNECT’s host', async () => {
    origin.serve(({ stream }) => stream.respond({ ':status': 204 }, { endStream: true }));
    const secured = await inside.enter(environment, target, {
      servername: '',
      checkServerIdentity: () => undefined,
      ALPNProtocols: ['h2'],
    });
    expect(secured.getPeerCertificate().subjectaltname).toBe(`DNS:${HOST}`);
    const session = connectHttp2(`https://${target}`, { createConnection: () => secured });
    expect((await readStream(session.request(request('/'), { endStream: true }))).status).toBe(204);
    session.destroy();
  });
});

describe('bodies', () => {
  it('pass both ways with trailers, those that authenticate or override left out', async () => {
    let trailers: readonly string[] = [];
    origin.serve(({ stream }) => {
      stream.on('trailers', (_headers, _flags, raw) => {
        trailers = raw;
      });
      stream.respond({ ':status': 200 }, { waitForTrailers: true });
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0', 'x-t': ['1', '2'] }));
      stream.pipe(stream);
    });
    const session = await inside.session(environment, target);
    const stream = session.request(request('/', 'x', 'y').with(1, 'POST'), {
      waitForTrailers: true,
      endStream: false,
    });
    stream.on('wantTrailers', () =>
      stream.sendTrailers({
        'x-sum': '1',
        authorization: 'evil',
        cookie: 'evil',
        'x-http-method-override': 'DELETE',
      }),
    );
    const answer = readStream(stream);
    stream.write('one ');
    stream.end('two');
    expect(await answer).toMatchObject({ status: 200, body: 'one two', code: 0 });
    expect((await answer).trailers).toEqual(['grpc-status', '0', 'x-t', '1', 'x-t', '2']);
    await expect.poll(() => trailers).toEqual(['x-sum', '1']);
    session.destroy();
  });

  it.each(['HEAD', 'GET'])('are not made up: %s, 204, 304', async (method) => {
    origin.serve(({ stream, raw }) => {
      const status = raw[7] === '/304' ? 304 : 200;
      stream.respond({ ':status': status, 'content-length': '500' }, { endStream: true });
    });
    const session = await inside.session(environment, target);
    const asked = method === 'HEAD' ? '/200' : '/304';
    const answer = await readStream(session.request(request(asked).with(1, method), { endStream: true }));
    expect(answer).toMatchObject({ body: '', code: 0, status: Number(asked.slice(1)) });
    expect(answer.raw).toContain('500');
    session.destroy();
  });

  it('informational answers pass', async () => {
    origin.serve(({ stream }) => {
      stream.additionalHeaders({ ':status': 103, link: '</a>' });
      stream.respond({ ':status': 200 }, { endStream: true });
    });
    const session = await inside.session(environment, target);
    const stream = session.request(request('/'), { endStream: true });
    const early = new Promise((resolve) => stream.once('headers', (headers) => resolve(headers)));
    await readStream(stream);
    expect(await early).toMatchObject({ ':status': 103, link: '</a>' });
    session.destroy();
  });
});

describe('what breaks off', () => {
  it.each([
    ['with a code', constants.NGHTTP2_ENHANCE_YOUR_CALM, constants.NGHTTP2_ENHANCE_YOUR_CALM],
    ['without one, which is no clean end', constants.NGHTTP2_NO_ERROR, constants.NGHTTP2_INTERNAL_ERROR],
  ])('at the origin breaks off at the client: %s', async (_name, code, shown) => {
    origin.serve(({ stream }) => {
      // Without waiting for trailers Node would end the stream before it resets it.
      stream.respond({ ':status': 200 }, { waitForTrailers: true });
      stream.write('half\n', () => stream.close(code));
    });
    const session = await inside.session(environment, target);
    const answer = await readStream(session.request(request('/'), { endStream: true }));
    expect(answer).toMatchObject({ status: 200, body: 'half\n', code: shown });
    session.destroy();
  });

  it('at the client breaks off at the origin at once, and the other streams go on', async () => {
    const codes: number[] = [];
    let held: (() => void) | undefined;
    origin.serve(({ stream, raw }) => {
      stream.once('close', () => codes.push(stream.rstCode ?? -1));
      stream.respond({ ':status': 200 });
      stream.write('begun');
      if (raw[7] === '/stays') held = () => stream.end(' and ended');
    });
    const session = await inside.session(environment, target);
    const stays = readStream(session.request(request('/stays'), { endStream: true }));
    const goes = session.request(request('/goes'), { endStream: true });
    goes.on('data', () => goes.close(constants.NGHTTP2_CANCEL));
    await readStream(goes);
    await expect.poll(() => codes).toEqual([constants.NGHTTP2_CANCEL]);
    await expect
      .poll(() => inside.gate.world.call('GET', `/v1/exchanges?environment=${environment}`))
      .toMatchObject([{ path: '/goes', status: 200, reason: 'client_reset' }]);
    held?.();
    expect(await stays).toMatchObject({ body: 'begun and ended', code: 0 });
    session.destroy();
  });

  it('is a 502 on its stream where the origin’s session dies before an answer', async () => {
    origin.serve(({ stream }) => stream.session?.destroy());
    const session = await inside.session(environment, target);
    const posted = session.request(request('/').with(1, 'POST'), { endStream: true });
    const answer = await readStream(posted);
    expect(answer).toMatchObject({ status: 502, code: 0 });
    expect(answer.raw).toContain('origin_failed');
    session.destroy();
  });
});

describe('what is refused', () => {
  it.each([
    ['another authority', ['GET', 'https', 'denied.test', '/'], [], 421, 'authority_mismatch'],
    ['a host that differs', ['GET', 'https', '', '/'], ['host', 'denied.test'], 421, 'authority_mismatch'],
    ['another scheme', ['GET', 'http', '', '/'], [], 400, 'request_malformed'],
    ['TRACE', ['TRACE', 'https', '', '/'], [], 405, 'method_refused'],
    ['a length in disguise', ['POST', 'https', '', '/'], ['content_length', '4'], 400, 'request_malformed'],
  ] as const)('%s', async (_name, [method, scheme, authority, path], more, status, reason) => {
    const reached: unknown[] = [];
    origin.serve(({ raw }) => reached.push(raw));
    const session = await inside.session(environment, target);
    const head = [
      ':method',
      method,
      ':scheme',
      scheme,
      ':authority',
      authority || target,
      ':path',
      path,
      ...more,
    ];
    const answer = await readStream(session.request(head, { endStream: true }));
    expect(answer).toMatchObject({ status, code: 0 });
    expect(answer.raw).toContain(reason);
    expect(answer.body).toContain(reason);
    expect(reached).toEqual([]);
    const connection = answer.raw[answer.raw.indexOf('sallyport-connection') + 1];
    await expect
      .poll(() => inside.gate.world.call('GET', `/v1/exchanges?connection=${connection}`))
      .toMatchObject([{ status: null, reason, method: status === 400 ? '' : method }]);
    session.destroy();
  });

  it('a target that is absolute, by the library', async () => {
    const session = await inside.session(environment, target);
    const answer = await readStream(session.request(request('https://denied.test/'), { endStream: true }));
    expect(answer).toMatchObject({ status: 0, code: constants.NGHTTP2_PROTOCOL_ERROR });
    session.destroy();
  });

  it('a CONNECT inside; and the session goes on', async () => {
    origin.serve(({ stream }) => stream.respond({ ':status': 204 }, { endStream: true }));
    const session = await inside.session(environment, target);
    const plain = session.request({ ':method': 'CONNECT', ':authority': target });
    const answer = await readStream(plain);
    expect(answer.status).toBe(405);
    expect((await readStream(session.request(request('/'), { endStream: true }))).status).toBe(204);
    session.destroy();
  });
});

/**
 * WebSockets inside interceptions: the handshake with its secret, then opaque bytes both ways, by raw sockets, by the
 * client of `ws`, by Node's own, and over HTTP/2 streams where the origin takes them.
 */
import type { Server } from 'node:https';
import { createServer } from 'node:https';
import type { Duplex } from 'node:stream';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { WebSocketServer, WebSocket as WsClient } from 'ws';
import { makeAuthority, openAuthority } from '../../certs/authority.ts';
import { issueLeaf } from '../../certs/leaf.ts';
import { Peer } from '../support/client.ts';
import { type Http2Origin, startHttp2Origin } from '../support/http2-origin.ts';
import { type Inside, readStream, SECRET, startInside } from '../support/inside.ts';
import { startTlsOrigin, type TlsOrigin } from '../support/tls-origin.ts';

const RAW = 'raw.bound.test';
const WS = 'ws.bound.test';
const TWO = 'two.bound.test';

let raw: TlsOrigin;
let server: Server;
let sockets: WebSocketServer;
let two: Http2Origin;
let inside: Inside;
let targets: { readonly raw: string; readonly ws: string; readonly two: string };
let environment = 'e0';
const open: Peer[] = [];
const served = new Set<Duplex>();

beforeAll(async () => {
  raw = await startTlsOrigin({ name: RAW, halfOpen: true });
  two = await startHttp2Origin(TWO, { settings: { enableConnectProtocol: true } });
  const authority = openAuthority(makeAuthority({ name: 'Test origin ws', now: new Date() }));
  const leaf = issueLeaf(authority, WS, new Date());
  server = createServer({ cert: leaf.certificatePem, key: leaf.keyPem });
  server.on('connection', (socket) => served.add(socket));
  sockets = new WebSocketServer({ server, perMessageDeflate: true });
  sockets.on('connection', (socket, request) => {
    socket.send(request.headers.authorization ?? 'none');
    socket.on('message', (data, binary) => socket.send(data, { binary }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  inside = await startInside([RAW, WS, TWO], [raw.caPem, two.caPem, authority.certificatePem]);
  targets = { raw: `${RAW}:${raw.port}`, ws: `${WS}:${port}`, two: `${TWO}:${two.port}` };
});

beforeEach(async () => {
  environment = `e${Number(environment.slice(1)) + 1}`;
  raw.forget();
  await inside.bind(environment, Object.values(targets));
});

afterEach(() => {
  for (const peer of open.splice(0)) peer.close();
});

afterAll(async () => {
  await inside?.close();
  for (const socket of served) socket.destroy();
  await new Promise((resolve) => server.close(resolve));
  await Promise.all([raw?.close(), two?.close()]);
});

const upgrade = (more = '') =>
  `GET /chat HTTP/1.1\r\nHost: ${targets.raw}\r\nUpgrade: websocket\r\nConnection: keep-alive, Upgrade\r\n` +
  `Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n${more}\r\n`;
const KEY = 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n';
const SWITCH =
  'HTTP/1.1 101 Switching  Protocols\r\nupgrade: WebSocket\r\nConnection: Upgrade\r\n' +
  'Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\nX-A: 1\r\n\r\n';

async function enter(): Promise<Peer> {
  const peer = new Peer(await inside.enter(environment, targets.raw));
  open.push(peer);
  return peer;
}

describe('an upgrade', () => {
  it('reaches the origin with its secret; the switch comes back, and bytes behind it both ways', async () => {
    const client = await enter();
    client.send(upgrade('Authorization: sallyport-managed\r\n'));
    const origin = await raw.next();
    expect((await origin.answer()).text).toBe(
      `GET /chat HTTP/1.1\r\nHost: ${targets.raw}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
        'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n' +
        `authorization: Bearer ${SECRET}\r\n\r\n`,
    );
    origin.send(`${SWITCH}first`);
    expect((await client.answer()).text).toBe(SWITCH);
    expect(await client.text(5)).toBe('first');
    client.send('GET / HTTP/1.1\r\n\r\n');
    expect(await origin.text(18)).toBe('GET / HTTP/1.1\r\n\r\n');
  });

  it('keeps half-close, and is recorded with its bytes', async () => {
    const client = await enter();
    client.send(upgrade());
    const origin = await raw.next();
    const head = (await origin.answer()).text.length;
    origin.send(SWITCH);
    await client.answer();
    client.send('last words').finish();
    expect(await origin.text(10)).toBe('last words');
    expect(await origin.ending()).toBe('end');
    origin.send('the answer').finish();
    expect(await client.text(10)).toBe('the answer');
    expect(await client.ending()).toBe('end');
    await expect
      .poll(() => inside.gate.world.call('GET', `/v1/exchanges?environment=${environment}`))
      .toMatchObject([
        { status: 101, reason: 'injected', bytesUp: head + 10, bytesDown: SWITCH.length + 10 },
      ]);
  });

  it('that the origin declines is an answer like any other', async () => {
    const client = await enter();
    client.send(upgrade());
    const origin = await raw.next();
    await origin.answer();
    origin.send('HTTP/1.1 426 Upgrade Required\r\nContent-Length: 2\r\n\r\nno');
    expect(await client.answer()).toMatchObject({ status: 426, body: 'no' });
    client.send(upgrade());
    expect((await origin.answer()).text).toContain('GET /chat');
  });

  it.each([
    ['to something else', 'Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMA\r\n'],
    ['to one of two', 'Upgrade: websocket, h2c\r\nConnection: Upgrade\r\n'],
    ['that Connection does not name', 'Upgrade: websocket\r\n'],
  ])('is left out: %s', async (_name, lines) => {
    const client = await enter();
    client.send(`GET / HTTP/1.1\r\nHost: ${targets.raw}\r\n${lines}${KEY}\r\n`);
    const origin = await raw.next();
    expect((await origin.answer()).text).toBe(
      `GET / HTTP/1.1\r\nHost: ${targets.raw}\r\n${KEY}authorization: Bearer ${SECRET}\r\n\r\n`,
    );
    origin.send(SWITCH);
    expect(await client.answer()).toMatchObject({ status: 502 });
  });

  it.each(['Transfer-Encoding: chunked\r\n', 'Content-Length: 10\r\n'])(
    'that owes a body is refused: %j',
    async (line) => {
      const client = await enter();
      client.send(upgrade(line));
      const answer = await client.answer();
      expect([answer.status, answer.headers.get('sallyport-reason')]).toEqual([400, 'request_malformed']);
      expect(await client.ending()).toBe('end');
    },
  );

  it.each([
    ['without its key', ''],
    ['with a key of another length', 'Sec-WebSocket-Key: YQ==\r\n'],
    ['with two keys', `${KEY}${KEY}`],
  ])('%s is left out', async (_name, lines) => {
    const client = await enter();
    client.send(
      `GET / HTTP/1.1\r\nHost: ${targets.raw}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n${lines}\r\n`,
    );
    const origin = await raw.next();
    expect((await origin.answer()).text).not.toMatch(/upgrade/i);
    origin.send(SWITCH);
    expect(await client.answer()).toMatchObject({ status: 502 });
  });

  const ACCEPT = 'Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n';
  it.each([
    ['to something else', `Upgrade: h2c\r\n${ACCEPT}`],
    ['that does not answer its key', 'Upgrade: websocket\r\n'],
    ['for another key', 'Upgrade: websocket\r\nSec-WebSocket-Accept: AAAAAAAAAAAAAAAAAAAAAAAAAAA=\r\n'],
    ['that answers its key twice', `Upgrade: websocket\r\n${ACCEPT}${ACCEPT}`],
  ])('answered by a switch %s is a 502, and nothing more goes on', async (_name, lines) => {
    const client = await enter();
    client.send(upgrade());
    const origin = await raw.next();
    await origin.answer();
    origin.send(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n${lines}\r\n`);
    client.send('GET /behind HTTP/1.1\r\n\r\n');
    expect(await client.answer()).toMatchObject({ status: 502 });
    await origin.ending();
    expect(origin.received.toString()).not.toContain('behind');
  });
});

describe('real clients', () => {
  it('of `ws`: compressed messages, in text and in bytes', async () => {
    const secured = await inside.enter(environment, targets.ws);
    const socket = new WsClient(`wss://${targets.ws}/`, {
      createConnection: () => secured,
      perMessageDeflate: true,
    });
    const messages: string[] = [];
    socket.on('message', (data: Buffer) => messages.push(data.toString('latin1')));
    await new Promise((resolve) => socket.once('open', resolve));
    const large = 'x'.repeat(300_000);
    socket.send(large);
    socket.send(Buffer.from([1, 2, 255]));
    await expect.poll(() => messages.length).toBe(3);
    expect(messages).toEqual([`Bearer ${SECRET}`, large, '\u0001\u0002\u00ff']);
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.close(1000, 'done');
    expect(await closed).toBe(1000);
  });
});

describe('over a stream (RFC 8441)', () => {
  const extended = (protocol: string) => [
    ...[':method', 'CONNECT', ':protocol', protocol, ':scheme', 'https'],
    ...[':authority', targets.two, ':path', '/chat', 'sec-websocket-version', '13'],
  ];

  it('passes where the origin takes them, with the secret', async () => {
    const seen: (readonly string[])[] = [];
    two.serve(({ stream, raw: lines }) => {
      seen.push(lines);
      stream.respond({ ':status': 200 });
      stream.pipe(stream);
    });
    const session = await inside.session(environment, targets.two);
    await new Promise((resolve) => session.once('remoteSettings', resolve));
    expect(session.remoteSettings.enableConnectProtocol).toBe(true);
    const stream = session.request(extended('websocket'), { endStream: false });
    const answer = readStream(stream);
    stream.write('frames');
    stream.end();
    expect(await answer).toMatchObject({ status: 200, body: 'frames', code: 0 });
    expect(seen[0]).toEqual(expect.arrayContaining([':protocol', 'websocket', `Bearer ${SECRET}`]));
    session.destroy();
  });

  it('is refused for anything but a WebSocket', async () => {
    const session = await inside.session(environment, targets.two);
    await new Promise((resolve) => session.once('remoteSettings', resolve));
    const answer = await readStream(session.request(extended('connect-udp'), { endStream: false }));
    expect(answer.status).toBe(405);
    session.destroy();
  });
});

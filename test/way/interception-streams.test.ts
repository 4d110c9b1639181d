/**
 * HTTP/1.1 inside interceptions, as odd clients and origins speak it: who finishes first, who answers early, who breaks
 * off. Nothing is lost, nothing is held back, nothing that broke off looks whole.
 */
import { connect } from 'node:tls';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { chop } from '../support/chopped.ts';
import { Peer } from '../support/client.ts';
import { type Inside, startInside } from '../support/inside.ts';
import { startTlsOrigin, type TlsOrigin } from '../support/tls-origin.ts';

const HOST = 'api.bound.test';
let origin: TlsOrigin;
let inside: Inside;
let target: string;
let environment = 'e0';
const open: Peer[] = [];

beforeAll(async () => {
  origin = await startTlsOrigin({ name: HOST, halfOpen: true });
  inside = await startInside([HOST], [origin.caPem]);
  target = `${HOST}:${origin.port}`;
});

beforeEach(async () => {
  environment = `e${Number(environment.slice(1)) + 1}`;
  origin.forget();
  await inside.bind(environment, [target]);
});

afterEach(() => {
  for (const peer of open.splice(0)) peer.close();
});

afterAll(async () => {
  await inside?.close();
  await origin?.close();
});

async function enter(): Promise<Peer> {
  const peer = new Peer(await inside.enter(environment, target));
  open.push(peer);
  return peer;
}

/** A client that asked, and the origin that was asked. */
async function asking(request: string): Promise<{ readonly client: Peer; readonly peer: Peer }> {
  const client = await enter();
  client.send(request);
  const peer = await origin.next();
  await peer.answer();
  return { client, peer };
}

const get = (version = '1.1') => `GET /x HTTP/${version}\r\nHost: ${target}\r\n\r\n`;
const post = (lines: string) => `POST /x HTTP/1.1\r\nHost: ${target}\r\n${lines}\r\n`;

it('an informational answer frames nothing, whatever it says', async () => {
  const { client, peer } = await asking(get());
  const last = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi';
  const lengths = 'Content-Length: 5\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n';
  peer.send(`HTTP/1.1 100 Continue\r\n${lengths}\r\n${last}`);
  const shown = `HTTP/1.1 100 Continue\r\n\r\n${last}`;
  expect(await client.text(shown.length)).toBe(shown);
});

describe('an answer that comes before the request is whole', () => {
  it.each(['100-continue', '100-Continue'])('to Expect: %s, refusing it', async (value) => {
    const client = await enter();
    client.send(post(`Expect: ${value}\r\nContent-Length: 5\r\n`));
    const peer = await origin.next();
    expect(await peer.text(post(`Expect: ${value}\r\n`).length)).toContain(`Expect: ${value}\r\n`);
    peer.send('HTTP/1.1 417 Expectation Failed\r\nContent-Length: 2\r\n\r\nno');
    const answer = await client.answer();
    expect([answer.status, answer.body, answer.headers.get('connection')]).toEqual([417, 'no', 'close']);
    expect(await client.ending()).toBe('end');
  });

  it('reaches a client that still uploads, whole, and no reset takes it away', async () => {
    const client = await enter();
    client.send(post('Content-Length: 100000000\r\n'));
    const peer = await origin.next();
    await peer.text(post('').length);
    const upload = Buffer.alloc(1 << 20, 'u');
    for (let i = 0; i < 4; i++) client.send(upload);
    const body = 'x'.repeat(300_000);
    peer.send(`HTTP/1.1 413 Content Too Large\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
    expect(await client.answer()).toMatchObject({ status: 413, body });
    expect(await client.ending()).toBe('end');
  });
});

describe('an HTTP/1.0 client of an origin that chunks all the same', () => {
  it('gets what is in the chunks, to the end of its connection', async () => {
    const { client, peer } = await asking(get('1.0'));
    peer.send('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\nX-A: 1\r\n\r\n5;e=1\r\nhel');
    peer.send('lo\r\n6\r\n world\r\n0\r\nX: 1\r\n\r\n');
    expect((await client.answer()).text).toBe('HTTP/1.1 200 OK\r\nX-A: 1\r\nConnection: close\r\n\r\n');
    expect(await client.text(11)).toBe('hello world');
    expect(await client.ending()).toBe('end');
    expect(client.received.length).toBe(0);
  });
});

describe('a side that finishes', () => {
  it('first, the client: the answer comes all the same', async () => {
    const { client, peer } = await asking(get());
    client.finish();
    // Something else goes through the gate meanwhile: the end is long seen.
    const other = await asking(get());
    other.peer.send('HTTP/1.1 204 No Content\r\n\r\n');
    await other.client.answer();
    peer.send('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nlate');
    expect(await client.answer()).toMatchObject({ status: 200, body: 'late' });
    expect(await client.ending()).toBe('end');
  });

  it('right behind 2 MB, the origin: none of them is lost', async () => {
    const { client, peer } = await asking(get());
    peer.send('HTTP/1.1 200 OK\r\n\r\n').send(Buffer.alloc(2_000_000, 'z')).finish();
    expect((await client.answer()).headers.get('connection')).toBe('close');
    expect((await client.read(2_000_000)).equals(Buffer.alloc(2_000_000, 'z'))).toBe(true);
    expect(await client.ending()).toBe('end');
  });

  it('before its length is reached, the origin: what came is passed on to its last line, and it is recorded as broken off', async () => {
    const { client, peer } = await asking(get());
    peer
      .send('HTTP/1.1 200 OK\r\nContent-Length: 2000001\r\n\r\n')
      .send(Buffer.alloc(1_999_999, 'z'))
      .send('\n')
      .finish();
    const head = await client.text('HTTP/1.1 200 OK\r\nContent-Length: 2000001\r\n\r\n'.length);
    expect(head).not.toContain('close');
    await client.read(2_000_000);
    await client.ending();
    await expect
      .poll(() => inside.gate.world.call('GET', `/v1/exchanges?environment=${environment}`))
      .toMatchObject([{ status: 200, reason: 'origin_failed' }]);
  });
});

describe('bytes', () => {
  it('of events come one by one', async () => {
    const { client, peer } = await asking(get());
    const head = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n';
    peer.send(head);
    expect(await client.text(head.length)).toBe(head);
    for (const event of ['data: one\n\n', ': ping\n\n', 'data: two\n\n']) {
      const chunk = `${event.length.toString(16)}\r\n${event}\r\n`;
      peer.send(chunk);
      expect(await client.text(chunk.length)).toBe(chunk);
    }
  });

  it.each(['gzip', 'br'])('that are coded pass as they are: %s', async (coding) => {
    const { client, peer } = await asking(get());
    const body = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
    const head = `HTTP/1.1 206 Partial Content\r\nContent-Encoding: ${coding}\r\nContent-Range: bytes 0-255/999\r\nContent-Length: 256\r\n\r\n`;
    peer.send(head).send(body);
    expect(await client.text(head.length)).toBe(head);
    expect((await client.read(256)).equals(body)).toBe(true);
  });

  it.each([1, 7, 100])('of a handshake come %i at a time', async (size) => {
    const outer = await inside.gate.connect(target, await inside.gate.world.token(environment));
    expect((await outer.answer()).status).toBe(200);
    const secured = connect({ socket: chop(outer.detach(), size), servername: HOST, ca: [inside.caPem] });
    const client = new Peer(secured);
    open.push(client);
    client.send(get());
    const peer = await origin.next();
    await peer.answer();
    peer.send('HTTP/1.1 204 No Content\r\n\r\n');
    expect((await client.answer()).status).toBe(204);
  });
});

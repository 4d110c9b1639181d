/** The probes that a stream of HTTP/2 can put to an interception, whose origin speaks HTTP/2 too. */
import type { ClientHttp2Session, ServerHttp2Stream } from 'node:http2';
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { type Http2Origin, startHttp2Origin } from '../../support/http2-origin.ts';
import { type Inside, readStream, startInside } from '../../support/inside.ts';

const HOST = 'two.bound.test';
let origin: Http2Origin;
let inside: Inside;
let target: string;
let session: ClientHttp2Session;

beforeAll(async () => {
  origin = await startHttp2Origin(HOST, { settings: { maxHeaderListSize: 65_535 } });
  inside = await startInside([HOST], [origin.caPem], { SALLYPORT_TUNNEL_IDLE: '600ms' });
  target = `${HOST}:${origin.port}`;
  await inside.bind('e', [target]);
});
beforeEach(async () => {
  session = await inside.session('e', target, { settings: { maxHeaderListSize: 65_535 } });
});
afterEach(() => session.destroy());
afterAll(async () => {
  await inside?.close();
  await origin?.close();
});

interface Asked {
  readonly stream: ServerHttp2Stream;
  readonly raw: readonly string[];
}

/** The next stream at the origin. */
const nextAsked = () => new Promise<Asked>((resolve) => origin.serve(resolve));
const head = (method: string) => ({ ':method': method, ':path': '/x', ':authority': target });

it('the headers of an answer leave before the first byte of its body', async () => {
  const asked = nextAsked();
  const stream = session.request(head('GET'));
  const { stream: far } = await asked;
  far.respond({ ':status': 200 });
  await new Promise((resolve) => stream.once('response', resolve));
  const read = readStream(stream);
  far.end('hi');
  expect((await read).body).toBe('hi');
});

it('each event arrives before the origin sends the next', async () => {
  const asked = nextAsked();
  const stream = session.request(head('GET'));
  const { stream: far } = await asked;
  far.respond({ ':status': 200, 'content-type': 'text/event-stream' });
  for (const event of ['data: one\n\n', ': ping\n\n', 'data: two\n\n']) {
    const arrived = new Promise((resolve) => stream.once('data', resolve));
    far.write(event);
    expect(String(await arrived)).toBe(event);
  }
  far.end();
  expect((await readStream(stream)).code).toBe(0);
});

it('a header of 20 KB passes, in a request and in an answer', async () => {
  const long = 'l'.repeat(20_000);
  const asked = nextAsked();
  const stream = session.request({ ...head('GET'), 'x-long': long });
  const read = readStream(stream);
  const { stream: far, raw } = await asked;
  expect(raw[raw.indexOf('x-long') + 1]).toBe(long);
  far.respond({ ':status': 200, 'x-long': long }, { endStream: true });
  const { raw: came } = await read;
  expect(came[came.indexOf('x-long') + 1]).toBe(long);
});

it('a client that finishes first still gets a reply that comes later, and an upload takes its time', async () => {
  const asked = nextAsked();
  const stream = session.request(head('POST'));
  const read = readStream(stream);
  const { stream: far } = await asked;
  const came = far.toArray();
  const startedAt = Date.now();
  for (let sent = 0; sent < 20; sent += 1) {
    stream.write('piece');
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  stream.end();
  expect(Buffer.concat(await came).toString()).toBe('piece'.repeat(20));
  expect(Date.now() - startedAt).toBeGreaterThan(3 * 600);
  far.respond({ ':status': 201 });
  far.end('later');
  expect(await read).toMatchObject({ status: 201, body: 'later', code: 0 });
});

it('an answer takes its time too, though all of it is held until it has come', async () => {
  const asked = nextAsked();
  const read = readStream(session.request(head('GET')));
  const { stream: far } = await asked;
  const startedAt = Date.now();
  const coded = gzipSync('piece'.repeat(20));
  far.respond({ ':status': 200, 'content-type': 'text/plain', 'content-encoding': 'gzip' });
  for (let at = 0; at < 20; at += 1) {
    far.write(coded.subarray(at, at < 19 ? at + 1 : undefined));
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  far.end();
  expect(await read).toMatchObject({ status: 200, body: coded.toString('latin1'), code: 0 });
  expect(Date.now() - startedAt).toBeGreaterThan(3 * 600);
});

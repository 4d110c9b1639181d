/** Clients that take minutes, and those that say nothing: the first are served, the others are let go. */
import { connect as connectTls } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectTo, Peer } from '../support/client.ts';
import { type Asking, Stand } from '../way/probes/stand.ts';

let stand: Stand;
beforeAll(async () => {
  stand = await Stand.start();
  await stand.renew('slow');
});
afterAll(() => stand?.close());

const BEATS = 68;
const BEAT_MS = 5_000;
const PIECE = 'p'.repeat(100);
const LENGTH = BEATS * PIECE.length;

function drip(send: (piece: string) => unknown): Promise<void> {
  return new Promise((resolve) => {
    let sent = 0;
    const timer = setInterval(() => {
      send(PIECE);
      sent += 1;
      if (sent < BEATS) return;
      clearInterval(timer);
      resolve();
    }, BEAT_MS);
  });
}

/** One after another: two ways share an origin. */
async function askAll(method: string, lines: string): Promise<Asking[]> {
  const asked: Asking[] = [];
  for (const name of ['a tunnel', 'an interception', 'plain HTTP'] as const) {
    asked.push(await stand.ask(stand.way(name), method, '/x', lines));
  }
  return asked;
}

describe('a client', () => {
  it('that uploads for 340 s is served', async () => {
    const uploads = await askAll('PUT', `Content-Length: ${LENGTH}\r\n`);
    await Promise.all(
      uploads.map(async ({ client, origin }) => {
        await drip((piece) => client.send(piece));
        expect((await origin.read(LENGTH)).length).toBe(LENGTH);
        origin.send('HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n');
        expect((await client.answer()).status).toBe(201);
      }),
    );
  });

  it('that is sent to for 340 s is served', async () => {
    const downloads = await askAll('GET', '');
    await Promise.all(
      downloads.map(async ({ client, origin }) => {
        origin.send('HTTP/1.1 200 OK\r\n\r\n');
        await drip((piece) => origin.send(piece));
        origin.finish();
        await client.answer();
        expect((await client.read(LENGTH)).length).toBe(LENGTH);
        expect(await client.ending()).toBe('end');
      }),
    );
  });

  it('in an interception says nothing after the 200', async () => {
    const startedAt = Date.now();
    const client = await stand.tunnelTo(stand.targets.bound);
    await client.ending(75_000);
    expect(Date.now() - startedAt).toBeGreaterThan(55_000);
    await expect.poll(async () => (await stand.inside.gate.rows())[0]?.end?.reason).toBe('client_tls');
  });

  it('in an interception sends half a head, drop by drop', async () => {
    const client = await stand.way('an interception').enter();
    const startedAt = Date.now();
    client.send('GET / HTTP/1.1\r\nX: ');
    const dripping = setInterval(() => client.send('y'), 500);
    const answer = await client.answer(20_000).finally(() => clearInterval(dripping));
    expect(answer.headers.get('sallyport-reason')).toBe('request_malformed');
    expect(Date.now() - startedAt).toBeGreaterThan(8_000);
    expect(await client.ending()).toBe('end');
  });

  it('of the proxy in TLS says nothing, or no whole head', async () => {
    const port = stand.inside.gate.egress.tlsAddress?.port ?? 0;
    const startedAt = Date.now();
    const silent = stand.keep(await connectTo(port));
    const secured = connectTls({ port, host: '127.0.0.1', servername: 'localhost', ca: stand.inside.caPem });
    const half = stand.keep(new Peer(secured));
    half.send('CONNECT a.test:443 HTTP/1.1\r\nHost: a.te');
    await Promise.all([silent.ending(20_000), half.answer(20_000)]);
    expect(Date.now() - startedAt).toBeGreaterThan(8_000);
  });
});

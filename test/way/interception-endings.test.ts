/** How an interception ends a client's connection while the client still sends: the last answer arrives whole. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Peer } from '../support/client.ts';
import { type Inside, startInside } from '../support/inside.ts';
import { startTlsOrigin, type TlsOrigin } from '../support/tls-origin.ts';

const HOST = 'api.bound.test';
let inside: Inside;
let origin: TlsOrigin;
let target: string;

beforeAll(async () => {
  origin = await startTlsOrigin({ name: HOST });
  inside = await startInside([HOST], [origin.caPem]);
  target = `${HOST}:${origin.port}`;
  await inside.bind('e', [target]);
});
afterAll(async () => {
  await inside?.close();
  await origin?.close();
});

const enter = async (environment = 'e') =>
  new Peer(await inside.enter(environment, target, { ALPNProtocols: ['http/1.1'] }));
const PIECE = Buffer.alloc(16 * 1024, 'x');

/** Sends on for as long as the other side takes it, at most 4 MiB. */
async function sendOn(client: Peer): Promise<void> {
  for (let i = 0; i < 256 && client.socket.writable; i += 1) {
    await new Promise((resolve) => client.socket.write(PIECE, resolve));
  }
}

describe('a client that goes on sending', () => {
  it.each(Array.from({ length: 5 }, (_, i) => i))('behind a refusal reads it whole (%i)', async () => {
    const client = await enter();
    client.send('NONSENSE\r\n\r\n');
    await sendOn(client);
    const answer = await client.answer();
    expect(answer.headers.get('sallyport-reason')).toBe('request_malformed');
    expect(await client.ending()).toBe('end');
  });

  it.each(Array.from({ length: 5 }, (_, i) => i))('behind an early answer reads it whole (%i)', async () => {
    const client = await enter();
    client.send(`POST /up HTTP/1.1\r\nHost: ${target}\r\nContent-Length: 100000000\r\n\r\n`);
    const peer = await origin.next();
    peer.send('HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\nConnection: close\r\n\r\nno!');
    await sendOn(client);
    const answer = await client.answer();
    expect([answer.status, answer.body]).toEqual([413, 'no!']);
    expect(await client.ending()).toBe('end');
    peer.close();
  });

  it('behind the last answer of HTTP/1.0 reads it whole', async () => {
    const client = await enter();
    client.send(`GET /a HTTP/1.0\r\nHost: ${target}\r\n\r\n`);
    const peer = await origin.next();
    await peer.answer();
    peer.send('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi');
    await sendOn(client);
    expect((await client.answer()).body).toBe('hi');
    expect(await client.ending()).toBe('end');
  });
});

describe('empty lines before a request', () => {
  it('are overlooked where it is one', async () => {
    // No connection is kept for it yet, and those of the tests before are not its own.
    await inside.bind('f', [target]);
    origin.forget();
    const client = await enter('f');
    client.send(`\r\nGET /a HTTP/1.1\r\nHost: ${target}\r\n\r\n`);
    const peer = await origin.next();
    expect((await peer.answer()).text).toMatch(/^GET \/a /);
    peer.close();
  });

  it('are no request where they are more', async () => {
    const client = await enter();
    client.send('\r\n\r\n');
    expect((await client.answer()).headers.get('sallyport-reason')).toBe('request_malformed');
    expect(await client.ending()).toBe('end');
  });
});

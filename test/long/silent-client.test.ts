/** Clients that send no whole head, or no TLS, are let go after ten seconds; it takes that long to see it. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { basic, connectHead, connectTo, type Peer } from '../support/client.ts';
import { startGate, type TestGate } from '../support/gate.ts';
import { startOrigin } from '../support/origin.ts';

let gate: TestGate;

beforeAll(async () => {
  gate = await startGate({});
});
afterAll(() => gate?.close());

/** One byte every half second, for as long as the gate listens. */
function drip(client: Peer): Peer {
  client.send('CONNECT a.test:443 HTTP/1.1\r\n');
  const timer = setInterval(() => client.send('a'), 500);
  client.socket.once('end', () => clearInterval(timer)).once('close', () => clearInterval(timer));
  return client;
}

const CLIENTS: readonly [name: string, begin: (client: Peer) => Promise<Peer> | Peer][] = [
  ['nothing', (client) => client],
  ['half a head', (client) => client.send('CONNECT a.test:443 HTTP/1.1\r\nHost: a.te')],
  ['a head, drop by drop', drip],
  [
    'nothing after a 407',
    async (client) => {
      await client.send(connectHead('a.test:443')).answer();
      return client;
    },
  ],
];

describe('a client that sends', () => {
  it.concurrent.each(CLIENTS)('%s is told and let go', async (_, begin) => {
    const startedAt = Date.now();
    const client = await begin(await connectTo(gate.egress.address.port));
    const answer = await client.answer(15_000);
    expect(answer.headers.get('sallyport-reason')).toBe('request_malformed');
    expect(await client.ending()).toBe('end');
    expect(Date.now() - startedAt).toBeGreaterThan(9_000);
    client.close();
  });
});

describe('a client of the TLS listener that sends', () => {
  it.concurrent.each([
    ['nothing', ''],
    ['half a greeting', '\x16\x03\x01\x02\x00\x01'],
  ])('%s is let go', async (_, bytes) => {
    const startedAt = Date.now();
    const client = await connectTo(gate.egress.tlsAddress.port);
    client.socket.write(bytes, 'latin1');
    await client.ending(15_000);
    expect(Date.now() - startedAt).toBeGreaterThan(9_000);
    client.close();
  });
});

it.concurrent('a client that was answered may be silent for a minute, then it is let go without a word', async () => {
  const origin = await startOrigin({
    behave: (socket) => void socket.on('data', () => socket.write('HTTP/1.1 204 x\r\n\r\n')),
  });
  const one = await startGate({ hosts: '127.0.0.1 a.test', open: 'a.test=127.0.0.0/8' });
  await one.put('e', { allow: [`a.test:${origin.port}`] });
  const client = await connectTo(one.egress.address.port);
  const credential = `Proxy-Authorization: ${basic(await one.world.token('e'))}\r\n`;
  client.send(`GET http://a.test:${origin.port}/ HTTP/1.1\r\nHost: a\r\n${credential}\r\n`);
  expect((await client.answer()).status).toBe(204);
  const startedAt = Date.now();
  expect(await client.ending(70_000)).toBe('end');
  expect(Date.now() - startedAt).toBeGreaterThan(59_000);
  expect(client.received.length).toBe(0);
  client.close();
  await one.close();
  await origin.close();
});

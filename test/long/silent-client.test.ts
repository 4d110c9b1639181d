/** Clients that send no whole head are let go after ten seconds, whatever they drip; it takes that long to see it. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectHead, connectTo, type Peer } from '../support/client.ts';
import { startGate, type TestGate } from '../support/gate.ts';

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

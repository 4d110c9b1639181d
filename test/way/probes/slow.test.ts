/** No transfer has a time limit: as long as something moves, it may take many times what silence may. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Stand } from './stand.ts';

const IDLE_MS = 600;
/** Longer than any silence that is allowed, several times over. */
const PIECES = 24;
const BEAT_MS = 100;

let stand: Stand;
let count = 0;
beforeAll(async () => {
  stand = await Stand.start({ SALLYPORT_TUNNEL_IDLE: `${IDLE_MS}ms` });
});
beforeEach(() => {
  count += 1;
  return stand.renew(`e${count}`);
});
afterEach(() => stand.release());
afterAll(() => stand?.close());

/** Writes the pieces, one a beat. */
function drip(send: (piece: string) => unknown): Promise<void> {
  return new Promise((resolve) => {
    let sent = 0;
    const timer = setInterval(() => {
      send('piece');
      sent += 1;
      if (sent < PIECES) return;
      clearInterval(timer);
      resolve();
    }, BEAT_MS);
  });
}

const LENGTH = PIECES * 'piece'.length;

describe.each(['a tunnel', 'an interception', 'plain HTTP'] as const)('through %s', (name) => {
  it('an upload takes as long as it takes', async () => {
    const startedAt = Date.now();
    const { client, origin } = await stand.ask(stand.way(name), 'PUT', '/x', `Content-Length: ${LENGTH}\r\n`);
    await drip((piece) => client.send(piece));
    expect(await origin.text(LENGTH)).toBe('piece'.repeat(PIECES));
    origin.send('HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n');
    expect((await client.answer()).status).toBe(201);
    expect(Date.now() - startedAt).toBeGreaterThan(3 * IDLE_MS);
  });

  it('a stream down takes as long as it takes', async () => {
    const startedAt = Date.now();
    const { client, origin } = await stand.ask(stand.way(name), 'GET', '/x');
    origin.send('HTTP/1.1 200 OK\r\n\r\n');
    await drip((piece) => origin.send(piece));
    origin.finish();
    await client.answer();
    expect(await client.text(LENGTH)).toBe('piece'.repeat(PIECES));
    expect(Date.now() - startedAt).toBeGreaterThan(3 * IDLE_MS);
  });

  it('silence of both sides ends it, and not as if it were whole', async () => {
    const { client, origin } = await stand.ask(stand.way(name), 'GET', '/x');
    origin.send('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n12');
    const ended = client.ending().catch(() => 'broken off');
    await origin.ending().catch(() => {});
    await ended;
    expect(client.received.toString('latin1').endsWith('12')).toBe(true);
    await expect.poll(async () => (await stand.inside.gate.rows())[0]?.end?.reason).toBe('idle');
  });
});

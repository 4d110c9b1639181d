/** Faults that users of other proxies report, and that no other test of ours would show. */
import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { SECRET } from '../../support/inside.ts';
import { readHead, Stand } from './stand.ts';

let stand: Stand;
let count = 0;
beforeAll(async () => {
  stand = await Stand.start();
});
beforeEach(() => {
  count += 1;
  return stand.renew(`e${count}`);
});
afterEach(() => stand.release());
afterAll(() => stand?.close());

const WAYS = ['a tunnel', 'an interception', 'plain HTTP'] as const;

describe.each(WAYS)('through %s', (name) => {
  it('an answer of 2 MB behind which the origin closes arrives whole', async () => {
    const { client, origin } = await stand.ask(stand.way(name), 'GET', '/x');
    const body = Buffer.alloc(2_000_000, 'tail-');
    origin.send('HTTP/1.1 200 OK\r\n\r\n').send(body).finish();
    await client.answer();
    expect((await client.read(body.length)).equals(body)).toBe(true);
    expect(await client.ending()).toBe('end');
  });

  it('an upload of 2 MB behind which the client closes arrives whole', async () => {
    const body = Buffer.alloc(2_000_000, 'tail-');
    const { client, origin } = await stand.ask(
      stand.way(name),
      'PUT',
      '/x',
      `Content-Length: ${body.length}\r\n`,
    );
    client.send(body).finish();
    expect((await origin.read(body.length)).equals(body)).toBe(true);
  });

  it('an answer that the client does not read yet is not kept by the gate', async () => {
    const { client, origin } = await stand.ask(stand.way(name), 'GET', '/x');
    const slow = client.detach();
    const before = process.memoryUsage().arrayBuffers;
    origin.send(`HTTP/1.1 200 OK\r\nContent-Length: ${BULK}\r\n\r\n`);
    // What the origin has not got rid of stands in its own memory, which is this process’s.
    const piece = Buffer.alloc(1 << 16);
    let room = true;
    let sent = 0;
    while (room && sent < BULK) {
      room = origin.socket.write(piece);
      sent += piece.length;
      if (!room) room = await Promise.race([once(origin.socket, 'drain').then(() => true), stalled()]);
    }
    expect(sent).toBeLessThan(BULK);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(16 << 20);
    slow.destroy();
  });
});

describe('a placeholder', () => {
  it('that comes one byte at a time is replaced all the same', async () => {
    const { bound } = stand.targets;
    await stand.inside.gate.world.call('PUT', '/v1/vaults/v/credentials/spelt', {
      kind: 'environment_secret',
      variable: 'OTHER_KEY',
      hosts: [bound],
      placement: { kind: 'replace', headers: ['x-api-key'] },
      secret: { value: SECRET },
    });
    await stand.inside.gate.put(`e${count}`, { allow: [bound], credentials: ['v/spelt'] });
    const way = stand.way('an interception');
    const client = await way.enter();
    for (const byte of way.head('GET', '/x', 'X-Api-Key: sallyport-managed\r\n')) {
      await new Promise((resolve) => client.socket.write(byte, resolve));
    }
    const origin = await way.accept();
    const head = await readHead(origin);
    expect(head).toContain(`: ${SECRET}\r\n`);
    expect(head).not.toContain('sallyport-managed');
  });
});

function stalled(): Promise<false> {
  return new Promise((resolve) => setTimeout(resolve, 1_000, false));
}

const BULK = 256 << 20;

/** How a body comes: room for what is there alone, a limit, and no more patience than said. */
import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Arriving, receiveBody, type Unreceived } from '../../../gates/read/arriving-body.ts';

let server: Server;
let socket: Socket;
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});
afterEach(() => {
  vi.useRealTimers();
  socket.destroy();
  server.closeAllConnections();
  server.close();
});

interface Came {
  readonly response: ServerResponse;
  readonly received: Promise<string | Unreceived>;
  /** How much there was each time when room was asked for. */
  readonly grown: readonly number[];
}

/** Sends a head and what is to come with it. */
async function send(framing: string, body: string, arriving: Partial<Arriving> = {}): Promise<Came> {
  const { promise, resolve } = Promise.withResolvers<Came>();
  server = createServer((request, response) => {
    const grown: number[] = [];
    const room = arriving.maxBytes ?? 1_000;
    const grow = (bytes: number) => {
      grown.push(bytes);
      return bytes > room ? ('run_busy' as const) : null;
    };
    const given = { maxBytes: 2_000, grow, signal: new AbortController().signal, ...arriving };
    const received = receiveBody(request, given).then((came) => (Buffer.isBuffer(came) ? `${came}` : came));
    resolve({ response, received, grown });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  socket = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => {});
  socket.write(`POST / HTTP/1.1\r\nHost: x\r\n${framing}\r\n\r\n${body}`);
  return promise;
}

/** A while passes that no clock shows. A poll makes some of it pass, too. */
async function passing(ms: number): Promise<'late'> {
  vi.advanceTimersByTime(ms);
  return 'late';
}

const LEAST = 64 * 1024;
const SLOW = { maxBytes: 100 * LEAST };
const LIMIT = { maxBytes: 1_000 };
const CHUNKED = 'Transfer-Encoding: chunked';
const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;

describe('a body that comes', () => {
  it('is whole when its framing says so', async () => {
    for (const [framing, body, whole] of [
      ['Content-Length: 5', 'abcde', 'abcde'],
      [CHUNKED, `${chunk('abc')}${chunk('de')}0\r\n\r\n`, 'abcde'],
      ['X-None: 1', '', ''],
    ] as const) {
      expect(await (await send(framing, body)).received).toBe(whole);
      server.close();
    }
  });

  it('takes room for what is there, not for what its head says', async () => {
    const { received, grown } = await send('Content-Length: 1900', '');
    expect(grown).toEqual([]);
    socket.write('abc');
    await expect.poll(() => grown).toEqual([3]);
    socket.write('d'.repeat(998));
    expect([await received, grown]).toEqual(['run_busy', [3, 1_001]]);
  });

  it('is refused by its head alone where that says too much, else where it becomes too large', async () => {
    expect(await (await send('Content-Length: 1001', '', LIMIT)).received).toBe('body_too_large');
    server.close();
    const most = chunk('a'.repeat(1_000));
    expect(await (await send(CHUNKED, `${most}0\r\n\r\n`, LIMIT)).received).toHaveLength(1_000);
    server.close();
    expect(await (await send(CHUNKED, `${most}${chunk('b')}`, LIMIT)).received).toBe('body_too_large');
  });

  it('is not waited for when nothing of it comes for 10 seconds, or nothing more for 30', async () => {
    for (const [begun, patienceMs] of [
      ['', 10_000],
      ['a', 30_000],
    ] as const) {
      const { received, response, grown } = await send('Content-Length: 5', begun);
      await expect.poll(() => grown).toEqual(begun ? [1] : []);
      expect(await Promise.race([received, passing(patienceMs - 5_000)])).toBe('late');
      vi.advanceTimersByTime(5_000);
      expect(await received).toBe('body_timeout');
      // Whoever sent it is still there to be told.
      response.writeHead(408).end();
      expect(String((await once(socket, 'data'))[0])).toContain('408');
      server.close();
    }
  });

  it('may take as long as it likes while it brings 64 KiB in each 30 seconds', async () => {
    const { received, grown } = await send(CHUNKED, '', SLOW);
    for (let looks = 1; looks <= 60; looks += 1) {
      const bytes = Math.ceil(looks / 2) * LEAST;
      if (looks % 2 === 1) socket.write(chunk('b'.repeat(LEAST)));
      await expect.poll(() => grown.at(-1)).toBe(bytes);
      vi.advanceTimersByTime(10_000);
    }
    socket.write('0\r\n\r\n');
    expect(await received).toHaveLength(30 * LEAST);
  });

  it('is not waited for where it brings less, however much it brought before and however often', async () => {
    for (const [begun, drip] of [
      [1, 1],
      [10 * LEAST, 1],
      [10 * LEAST, Math.floor(LEAST / 4)],
    ] as const) {
      const { received, grown } = await send(CHUNKED, chunk('a'.repeat(begun)), SLOW);
      const borne = begun < LEAST ? 2 : 3;
      for (let looks = 0; looks < borne; looks += 1) {
        await expect.poll(() => grown.at(-1)).toBe(begun + looks * drip);
        expect(await Promise.race([received, passing(10_000)])).toBe('late');
        socket.write(chunk('b'.repeat(drip)));
      }
      await expect.poll(() => grown.at(-1)).toBe(begun + borne * drip);
      vi.advanceTimersByTime(10_000);
      expect(await received).toBe('body_timeout');
      server.close();
    }
  });

  it('is broken off when its caller leaves or its run is over, and before it is read', async () => {
    const { received } = await send('Content-Length: 5', 'a');
    socket.destroy();
    expect(await received).toBe('broken');
    server.close();
    const over = new AbortController();
    const second = await send('Content-Length: 5', 'a', { signal: over.signal });
    over.abort();
    expect(await second.received).toBe('broken');
    server.close();
    expect(await (await send('Content-Length: 5', '', { signal: over.signal })).received).toBe('broken');
  });
});

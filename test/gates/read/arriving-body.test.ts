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
    const grow = (bytes: number) => {
      grown.push(bytes);
      return bytes > 1_000 ? ('run_busy' as const) : null;
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
async function after(ms: number): Promise<'late'> {
  vi.advanceTimersByTime(ms);
  return 'late';
}

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
      expect(await Promise.race([received, after(patienceMs - 5_000)])).toBe('late');
      vi.advanceTimersByTime(5_000);
      expect(await received).toBe('body_timeout');
      // Whoever sent it is still there to be told.
      response.writeHead(408).end();
      expect(String((await once(socket, 'data'))[0])).toContain('408');
      server.close();
    }
  });

  it('may take as long as it likes', async () => {
    const { received, grown } = await send('Content-Length: 20', 'a');
    for (let bytes = 1; bytes < 20; bytes += 1) {
      await expect.poll(() => grown.at(-1)).toBe(bytes);
      vi.advanceTimersByTime(25_000);
      socket.write('b');
    }
    expect(await received).toHaveLength(20);
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

/** Heads out of a stream: whole however they are cut, bounded in size, in empty lines and in work. */
import { PassThrough } from 'node:stream';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { ByteReader } from '../../../egress/http1/byte-reader.ts';

const HEAD = 'GET / HTTP/1.1\r\nHost: a.test\r\n\r\n';
const MAX_BYTES = 64 * 1024;

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** Lets whoever waits for bytes have them. */
const turn = () => new Promise((resolve) => setImmediate(resolve));

function start() {
  const socket = new PassThrough();
  const reader = new ByteReader(socket);
  return { socket, reader };
}

/** The head of a stream that gets `text` in pieces and ends behind it. */
async function headOf(text: string, pieceBytes: number) {
  const { socket, reader } = start();
  const head = reader.head(MAX_BYTES, null);
  for (let at = 0; at < text.length; at += pieceBytes) {
    socket.write(Buffer.from(text.slice(at, at + pieceBytes), 'latin1'));
    await turn();
  }
  socket.end();
  const found = await head;
  return typeof found === 'string' ? found : found.toString('latin1');
}

describe.each([1, 3, 1_000])('a head in pieces of %i', (pieceBytes) => {
  it.each([
    ['alone', HEAD, HEAD],
    ['behind one empty line', `\r\n${HEAD}`, HEAD],
    ['behind two', `\r\n\r\n${HEAD}`, 'no_head'],
    ['that is only empty lines', '\r\n'.repeat(1_000), 'no_head'],
    ['that breaks off', 'GET / HT', 'broken'],
    ['that never begins', '', 'end'],
    ['of which only an empty line comes', '\r\n', 'end'],
  ])('%s', async (_, text, found) => {
    expect(await headOf(text, pieceBytes)).toBe(found);
  });
});

describe('the size of a head', () => {
  const ofBytes = (bytes: number) => `GET / HTTP/1.1\r\na: ${'b'.repeat(bytes - 23)}\r\n\r\n`;

  it.each([1_000, MAX_BYTES * 2])('is bounded, in pieces of %i', async (pieceBytes) => {
    expect((await headOf(ofBytes(MAX_BYTES), pieceBytes)).length).toBe(MAX_BYTES);
    expect(await headOf(ofBytes(MAX_BYTES + 1), pieceBytes)).toBe('no_head');
    expect(await headOf('a'.repeat(MAX_BYTES + 1), pieceBytes)).toBe('no_head');
  });

  it('costs nothing but its bytes: none is copied for each that comes', async () => {
    const concat = vi.spyOn(Buffer, 'concat');
    const search = vi.spyOn(Buffer.prototype, 'indexOf');
    const { socket, reader } = start();
    const head = reader.head(MAX_BYTES, null);
    for (let i = 0; i < 3_000; i += 1) {
      socket.write('a');
      await turn();
    }
    expect(search.mock.calls.length).toBeGreaterThan(2_000);
    for (const [i, [, from]] of search.mock.calls.entries()) expect(from).toBeGreaterThan(i - 4);
    expect(concat).not.toHaveBeenCalled();
    socket.end();
    expect(await head).toBe('broken');
  });
});

it('what comes behind a head is read next', async () => {
  const { socket, reader } = start();
  socket.write(`${HEAD}${HEAD}rest`);
  expect(String(await reader.head(MAX_BYTES, null))).toBe(HEAD);
  expect(String(await reader.head(MAX_BYTES, null))).toBe(HEAD);
  expect(String(await reader.next())).toBe('rest');
});

describe('the time of a head', () => {
  it('begins with its first byte, and is not prolonged by the next ones', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const { socket, reader } = start();
    const head = reader.head(MAX_BYTES, 10_000);
    vi.advanceTimersByTime(60_000);
    for (const byte of ['\r\n', 'G', 'E', 'T']) {
      socket.write(byte);
      await turn();
      vi.advanceTimersByTime(byte === 'T' ? 4_000 : 3_000);
    }
    expect(await head).toBe('no_head');
    expect(vi.getTimerCount()).toBe(0);
  });

  it('is not counted while none has begun, nor once it is whole', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const { socket, reader } = start();
    for (const rest of [HEAD.slice(1), HEAD.slice(1)]) {
      const head = reader.head(MAX_BYTES, 10_000);
      socket.write('G');
      await turn();
      expect(vi.getTimerCount()).toBe(1);
      vi.advanceTimersByTime(9_999);
      socket.write(rest);
      expect(String(await head)).toBe(HEAD);
      expect(vi.getTimerCount()).toBe(0);
    }
    const whole = reader.head(MAX_BYTES, 10_000);
    socket.write(HEAD);
    expect(String(await whole)).toBe(HEAD);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('ends with the stream', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const { socket, reader } = start();
    const head = reader.head(MAX_BYTES, 10_000);
    socket.write('G');
    await turn();
    socket.end();
    expect(await head).toBe('broken');
    expect(vi.getTimerCount()).toBe(0);
  });
});

/** A caller that reads slowly or not at all: what the gate holds for it meanwhile, and that nothing is lost. */
import { createHash } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { createGunzip, gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { type Rig, startRig } from '../../support/relay-rig.ts';

const MIB = 1024 * 1024;
const TOTAL = 64 * MIB;
/** Lines without an end in sight of a chunk, so that the mask has something to hold. */
const PIECE = Buffer.from(`data: ${'0123456789abcdef'.repeat(4095)}\n\n`);
const COUNT = Math.ceil(TOTAL / PIECE.length);

let rig: Rig | null = null;
afterEach(async () => {
  await rig?.close();
  rig = null;
});

/** Writes as fast as its connection takes it. */
async function flood(socket: Socket, head: string, pieces: Iterable<Buffer>): Promise<void> {
  socket.write(`${head}Transfer-Encoding: chunked\r\n\r\n`);
  for (const piece of pieces) {
    socket.write(`${piece.length.toString(16)}\r\n`);
    socket.write(piece);
    if (!socket.write('\r\n') && !socket.destroyed)
      await new Promise<void>((resolve) => socket.once('drain', resolve).once('close', () => resolve()));
    socket.removeAllListeners('close');
  }
  socket.end('0\r\n\r\n');
}

/** Resolves once nothing moves any more. @returns the most that was held meanwhile, in bytes */
async function watchUntilStuck({ responses, upstreams, provided }: Rig): Promise<number> {
  let most = 0;
  let moved = -1;
  for (let same = 0; same < 20; ) {
    await new Promise((resolve) => setTimeout(resolve, 10));
    const [response, upstream, provider] = [responses[0], upstreams[0], provided[0]];
    most = Math.max(most, (response?.writableLength ?? 0) + (upstream?.readableLength ?? 0));
    const now = (upstream?.bytesRead ?? 0) + (provider?.bytesWritten ?? 0);
    same = now === moved && now > 0 ? same + 1 : 0;
    moved = now;
  }
  return most;
}

const KINDS = [
  ['a stream', 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n', () => PIECE],
  [
    'a compressed answer',
    'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Encoding: gzip\r\n',
    () => gzipSync(PIECE, { level: 0 }),
  ],
] as const;

describe('a caller that stops reading', () => {
  for (const [name, head, make] of KINDS) {
    it(`has less than 1 MiB held for it, and gets all of ${name} when it goes on`, async () => {
      const piece = make();
      const pieces = Array.from({ length: COUNT }, () => piece);
      rig = await startRig({
        secrets: ['sk-canary-slow-1'],
        script: (socket) => void flood(socket, head, pieces),
      });
      const client = connect(rig.port, '127.0.0.1');
      client.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
      client.pause();
      const held = await watchUntilStuck(rig);
      expect(rig.provided[0]?.bytesWritten).toBeLessThan(TOTAL / 2);
      expect(held).toBeGreaterThan(0);
      expect(held).toBeLessThan(MIB);
      const body = await readChunked(client);
      const plain = name === 'a stream' ? body : await gunzip(body);
      expect(plain.length).toBe(PIECE.length * COUNT);
      expect(hash(plain)).toBe(hash(Buffer.concat(Array.from({ length: COUNT }, () => PIECE))));
    }, 60_000);
  }

  it('is taken for gone at the limit of a silence, and its provider is let go', async () => {
    rig = await startRig({
      idleLimitMs: 300,
      script: (socket) =>
        void flood(
          socket,
          KINDS[0][1],
          Array.from({ length: COUNT }, () => PIECE),
        ),
    });
    const client = connect(rig.port, '127.0.0.1').on('error', () => {});
    client.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    client.pause();
    await watchUntilStuck(rig);
    const { provided, ends } = rig;
    await until(() => provided[0]?.destroyed === true && ends.length === 1);
    expect(ends[0]?.failure).toBe('client_left');
    const body = await readChunked(client).catch(() => null);
    expect(body).toBeNull();
  }, 60_000);
});

function readChunked(client: Socket): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    client.on('data', (chunk: Buffer) => chunks.push(chunk));
    client.once('close', () => {
      const all = Buffer.concat(chunks);
      const out: Buffer[] = [];
      for (let at = all.indexOf('\r\n\r\n') + 4; ; ) {
        const line = all.indexOf('\r\n', at);
        const size = Number.parseInt(all.subarray(at, line < 0 ? at : line).toString(), 16);
        if (size === 0) return resolve(Buffer.concat(out));
        if (Number.isNaN(size) || line + 2 + size > all.length) return reject(new Error('it was cut off'));
        out.push(all.subarray(line + 2, line + 2 + size));
        at = line + 4 + size;
      }
    });
    client.resume();
  });
}

function gunzip(body: Buffer): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const out: Buffer[] = [];
    const decoder = createGunzip().on('data', (chunk: Buffer) => out.push(chunk));
    decoder.once('end', () => resolve(Buffer.concat(out))).once('error', reject);
    decoder.end(body);
  });
}

async function until(holds: () => boolean): Promise<void> {
  for (let tries = 0; !holds(); tries += 1) {
    if (tries > 500) throw new Error('it never came to that');
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

function hash(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

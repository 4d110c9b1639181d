/** In how many pieces a compressed body is decoded: each is work, and whoever writes into a text chooses where they end. */
import { randomBytes } from 'node:crypto';
import * as zlib from 'node:zlib';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { Decoding } from '../../../egress/scrub/decoding.ts';
import { open, scrub } from './coded.ts';

const repeat = (hex: string) => Buffer.from(hex.repeat(Math.ceil((2 * 65_536) / hex.length)), 'hex');
const stored = (hex: string) => zlib.gzipSync(repeat(hex), { level: 0 });
const gzipHead = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3]);
const zstdHead = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58]);

afterEach(() => {
  vi.restoreAllMocks();
});

describe('are so many for each KiB and no more', () => {
  it.each([
    ['gzip', 'texts like the beginning of a member', stored('1f8b0800')],
    ['gzip', 'texts that are none, by their flags', stored('1f8b08')],
    ['gzip', 'texts like the mark of a flush', stored('0000ffff')],
    ['gzip', 'both', stored('0000ffff1f8b0800')],
    ['gzip', 'flushes of nothing', Buffer.concat([gzipHead, repeat('000000ffff')])],
    ['gzip', 'members of a byte', repeat(zlib.gzipSync('a').toString('hex'))],
    ['deflate', 'texts like the mark of a flush', zlib.deflateSync(repeat('0000ffff'), { level: 0 })],
    ['br', 'texts like the beginning of a member', Buffer.concat([Buffer.from([0x0b]), repeat('1f8b0800')])],
    ['zstd', 'blocks of a byte', Buffer.concat([zstdHead, repeat('08000061')])],
    ['zstd', 'runs of a byte', Buffer.concat([zstdHead, repeat('0a000061')])],
  ])('%s: %s', async (coding, _what, coded) => {
    const write = vi.spyOn(Decoding.prototype, 'write');
    await scrub(coding, coded, 16_384);
    expect(write.mock.calls.length).toBeLessThanOrEqual(64 + coded.length / 64 + coded.length / 4096 + 10);
  });

  it('of whatever else, one for each few KiB', async () => {
    const coded = zlib.gzipSync(randomBytes(1_000_000));
    const write = vi.spyOn(Decoding.prototype, 'write');
    const { bytes, cut } = await scrub('gzip', coded, 16_384);
    expect({ same: bytes.equals(coded), cut }).toEqual({ same: true, cut: null });
    expect(write.mock.calls.length).toBeLessThan(400);
  });
});

describe('what is in more pieces than that', () => {
  const events = Array.from({ length: 3000 }, (_, i) => `data: ${i}\n\n`);
  const flushed = async (kind: number, encoder: zlib.Gzip | zlib.ZstdCompress) => {
    const parts: Buffer[] = [];
    encoder.on('data', (part: Buffer) => parts.push(part));
    for (const event of events) {
      encoder.write(event);
      await new Promise<void>((resolve) => encoder.flush(kind, resolve));
    }
    await new Promise<void>((resolve) => encoder.once('end', resolve).end());
    return Buffer.concat(parts);
  };

  it.each([
    ['gzip', 'members', async () => Buffer.concat(events.map((event) => zlib.gzipSync(event)))],
    ['gzip', 'flushes', () => flushed(zlib.constants.Z_SYNC_FLUSH, zlib.createGzip())],
    ['zstd', 'frames', async () => Buffer.concat(events.map((event) => zlib.zstdCompressSync(event)))],
    ['zstd', 'blocks', () => flushed(zlib.constants.ZSTD_e_flush, zlib.createZstdCompress())],
  ])('passes as it came, in %s of %s', async (coding, _what, make) => {
    const coded = await make();
    for (const pieceBytes of [100, 16_384, 1_000_000]) {
      const { bytes, cut } = await scrub(coding, coded, pieceBytes);
      expect({ same: bytes.equals(coded), cut }).toEqual({ same: true, cut: null });
    }
  });

  it('holds up no later member of gzip', async () => {
    const body = open('gzip', 200, 'e', 'text/event-stream');
    const push = async (bytes: Buffer) => {
      const out = (await body.push(Buffer.from(bytes), [0, bytes.length])) as Buffer[];
      return Buffer.concat([...out, ...body.letGo()]);
    };
    const members = events.map((event) => zlib.gzipSync(event));
    const burst = Buffer.concat(members);
    const passed = await push(burst);
    expect(passed.length).toBeLessThan(burst.length);
    const [next, last] = [zlib.gzipSync('data: next\n\n'), zlib.gzipSync('data: last\n\n')];
    const rest = Buffer.concat([burst.subarray(passed.length), next]);
    expect((await push(next)).equals(rest)).toBe(true);
    expect((await push(last)).equals(last)).toBe(true);
    body.close();
  });
});

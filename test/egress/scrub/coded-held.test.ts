/** How much of a compressed body is held at once: what takes no place among the decoders there may be any number of. */
import { randomBytes } from 'node:crypto';
import * as zlib from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { MOST_OF_ENVIRONMENT } from '../../../egress/scrub/decoder-slots.ts';
import { open, scrub } from './coded.ts';

const MOST_BYTES = 1.5 * 1024 * 1024;
const PIECE_BYTES = 65_536;
const letters = Buffer.alloc(PIECE_BYTES, 'a');
const zeros = Buffer.alloc(PIECE_BYTES);
/** Empty blocks with the fixed codes, each of ten bits: neither text nor a mark. */
const emptyBlocks = Buffer.from(
  Uint8Array.from(
    { length: PIECE_BYTES },
    (_, i) => [0b00000010, 0b00001000, 0b00100000, 0b10000000, 0][i % 5] ?? 0,
  ),
);
const gzipHead = (flags: number) => Buffer.from([0x1f, 0x8b, 8, flags, 0, 0, 0, 0, 0, 3]);
/** 64 KiB that are skipped (RFC 7932 9.2), the first behind the size of the window. */
const skipped = Buffer.concat([Buffer.from([0xe6, 0xff, 0x3f]), zeros]);

describe('what gives no text', () => {
  it.each([
    ['gzip', 'application/json', 'a name that never ends', gzipHead(8), letters],
    ['gzip', 'text/event-stream', 'a comment that never ends', gzipHead(16), letters],
    ['gzip', 'application/json', 'empty blocks', gzipHead(0), emptyBlocks.subarray(0, 65_535)],
    ['gzip', 'application/json', 'zeros behind its end', zlib.gzipSync('x'), zeros],
    [
      'deflate',
      'application/json',
      'empty blocks',
      Buffer.from([0x78, 0x9c]),
      emptyBlocks.subarray(0, 65_535),
    ],
    ['deflate', 'application/json', 'zeros behind its end', zlib.deflateRawSync('x'), zeros],
    ['zstd', 'application/json', 'what it skips', Buffer.from([0x50, 0x2a, 0x4d, 0x18, 0, 0, 0, 4]), letters],
    [
      'br',
      'text/event-stream',
      'what it skips',
      Buffer.concat([Buffer.from([0xcc, 0xff, 0x7f]), zeros]),
      skipped,
    ],
    ['br', 'application/json', 'what is gzip: a name that never ends', gzipHead(8), letters],
  ])('%s, %s: %s is held no further than so far', async (coding, type, _what, head, unit) => {
    const body = open(coding, 200, 'e', type);
    let [came, passed] = [0, 0];
    let cut: string | null = null;
    for (let piece = head; !cut && came < 2 * MOST_BYTES; piece = unit) {
      came += piece.length;
      const out = await body.push(Buffer.from(piece), [0, piece.length]);
      if ('cut' in out) cut = out.cut;
      else for (const part of out) passed += part.length;
    }
    expect(cut).toBe('overmuch');
    expect(came - passed).toBeGreaterThan(MOST_BYTES);
    expect(came - passed).toBeLessThan(MOST_BYTES + 3 * PIECE_BYTES);
    body.close();
  });
});

describe('what is whole', () => {
  it.each(['gzip', 'deflate', 'br', 'zstd'])('may be nothing, in %s', async (coding) => {
    expect(await scrub(coding, Buffer.alloc(0), 1)).toEqual({ bytes: Buffer.alloc(0), cut: null });
  });

  const noise = randomBytes(6_000_000);
  const text = Buffer.from(noise.toString('hex'));
  it.each([
    ['gzip', () => zlib.gzipSync(noise)],
    ['gzip', () => zlib.gzipSync(noise, { level: 0 })],
    ['gzip', () => zlib.gzipSync(text, { level: 9, memLevel: 9 })],
    ['deflate', () => zlib.deflateSync(text, { level: 1 })],
    ['deflate', () => zlib.deflateRawSync(noise, { memLevel: 1 })],
    ['zstd', () => zlib.zstdCompressSync(noise)],
    ['zstd', () => zlib.zstdCompressSync(text)],
    ['br', () => zlib.brotliCompressSync(noise, { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 3 } })],
  ])('passes, however long, in %s (%#)', async (coding, encode) => {
    const coded = encode();
    const { bytes, cut } = await scrub(coding, coded, PIECE_BYTES);
    expect({ same: bytes.equals(coded), cut }).toEqual({ same: true, cut: null });
  });
});

it('what a body of br holds it holds in its place, also behind the end of what is coded', async () => {
  const coded = zlib.brotliCompressSync(randomBytes(100_000).toString('hex'));
  const ended = Array.from({ length: MOST_OF_ENVIRONMENT }, () => open('br', 200, 'ended'));
  // Nobody says that no more comes.
  for (const body of ended) await body.push(Buffer.concat([coded, Buffer.alloc(1)]), [0, coded.length + 1]);
  const waiting = open('br', 200, 'ended');
  let placed = false;
  const pushed = waiting.push(coded, [0, coded.length]);
  void (pushed as Promise<unknown>).then(() => {
    placed = true;
  });
  // Its text is settled behind a pause, and so it goes on.
  expect(Buffer.concat([...(ended[0]?.letGo() ?? [])]).length).toBe(coded.length + 1);
  expect(placed).toBe(false);
  ended[0]?.close();
  await pushed;
  expect(placed).toBe(true);
  for (const body of [waiting, ...ended]) body.close();
});

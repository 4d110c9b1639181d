/** Compressed bodies: clean ones pass to the byte and at once, one with a secret in it never comes to its end. */
import { randomBytes } from 'node:crypto';
import * as zlib from 'node:zlib';
import { describe, expect, it, vi } from 'vitest';
import { MAX_WAIT_MS, MOST_OF_ENVIRONMENT } from '../../../egress/scrub/decoder-slots.ts';
import { clean, dirty, ECHOED, open, PIECES, SECRET, STREAMS, scrub } from './coded.ts';

const ENCODERS: readonly (readonly [string, (text: Buffer) => Buffer])[] = [
  ['gzip', zlib.gzipSync],
  ['X-GZIP', zlib.gzipSync],
  ['deflate', zlib.deflateSync],
  ['deflate', zlib.deflateRawSync],
  ['br', zlib.brotliCompressSync],
  ['zstd', zlib.zstdCompressSync],
];
/** At its best br takes ten seconds for a bomb. */
const QUICK = { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 5 } };

describe.each(ENCODERS)('%s', (coding, encode) => {
  it.each(PIECES)('passes a clean text as it came, in pieces of %i', async (pieceBytes) => {
    const coded = encode(clean);
    const { bytes, cut } = await scrub(coding, coded, pieceBytes);
    expect(cut).toBeNull();
    expect(bytes.equals(coded)).toBe(true);
  });

  it.each(PIECES)('cuts a text with a secret before its end, in pieces of %i', async (pieceBytes) => {
    const coded = encode(dirty);
    const { bytes, cut } = await scrub(coding, coded, pieceBytes);
    expect(cut).toBe('echoed');
    expect(bytes.length).toBeLessThan(coded.length);
    expect(coded.subarray(0, bytes.length).equals(bytes)).toBe(true);
  });

  it('that is broken is cut off: others may read on', async () => {
    const coded = encode(clean);
    const half = coded.length >> 1;
    const broken = Buffer.concat([coded.subarray(0, half), Buffer.alloc(64, 0xff), coded.subarray(half)]);
    const { bytes, cut } = await scrub(coding, broken, 100);
    expect(cut).toBe('broken');
    expect(bytes.length).toBeLessThan(broken.length);
  });

  it.each(PIECES)(
    'that was cut short is not whole beyond what was read, in pieces of %i',
    async (pieceBytes) => {
      const short = encode(clean).subarray(0, -20);
      const { bytes, cut } = await scrub(coding, short, pieceBytes);
      expect(cut).toBe('broken');
      expect(bytes.length).toBeLessThan(short.length);
    },
  );

  it.each(PIECES)('followed by something else is cut off, in pieces of %i', async (pieceBytes) => {
    const coded = Buffer.concat([encode(clean), Buffer.from(`\n!${SECRET}`)]);
    const { bytes, cut } = await scrub(coding, coded, pieceBytes);
    expect(cut).toBe('broken');
    expect(bytes.includes(SECRET)).toBe(false);
  });
});

describe('a stream of events', () => {
  it.each(STREAMS)('in %s goes on event by event', async (coding, make, kind) => {
    const encoder = make();
    const parts: Buffer[] = [];
    encoder.on('data', (part: Buffer) => parts.push(part));
    const flush = (text: string) =>
      new Promise<Buffer>((resolve) => {
        encoder.write(text);
        encoder.flush(kind, () => resolve(Buffer.concat(parts.splice(0))));
      });
    const body = open(coding, 200, 'e', 'text/event-stream');
    for (const event of ['data: {"a":1}\n\n', 'data: sk-live\n\n', 'data: {"b":2}\n\n']) {
      const coded = await flush(event);
      expect(Buffer.concat((await body.push(coded, [0, coded.length])) as Buffer[]).equals(coded)).toBe(true);
    }
    // However well a guess begins, it waits as any other.
    for (const guess of [`data: ${SECRET.slice(0, 10)}`, 'data: nothing to see here']) {
      const coded = await flush(guess);
      expect(await body.push(coded, [0, coded.length])).toEqual([]);
      expect(body.mayLetGo).toBe(true);
      expect(Buffer.concat(body.letGo()).equals(coded)).toBe(true);
    }
    const partly = await flush(`data: ${SECRET.slice(0, 10)}`);
    expect(await body.push(partly, [0, partly.length])).toEqual([]);
    const rest = await flush(SECRET.slice(10));
    expect(await body.push(rest, [0, rest.length])).toEqual(ECHOED);
    body.close();
    encoder.destroy();
  });
});

describe('as clients read it', () => {
  const noise = () => randomBytes(2_000).toString('hex');
  const hidden = Buffer.from(`${noise()}${SECRET}${noise()}`);

  it('a zstd block does not go on before its text is known, at a pause neither', async () => {
    const coded = zlib.zstdCompressSync(hidden);
    const body = open('zstd');
    let passed = 0;
    for (let at = 0; at < coded.length - 1; at += 1) {
      const out = (await body.push(coded.subarray(at, at + 1), [0, 1])) as Buffer[];
      passed += Buffer.concat([...out, ...body.letGo()]).length;
    }
    expect(passed).toBe(0);
    expect(await body.push(coded.subarray(-1), [0, 1])).toEqual(ECHOED);
    body.close();
  });

  it('a zstd block that never comes to its end does not pass: whole it is cut, broken off it is dropped', async () => {
    const coded = zlib.zstdCompressSync(hidden).subarray(0, -10);
    const { bytes, cut } = await scrub('zstd', coded, 100);
    expect(cut).toBe('broken');
    expect(bytes.length).toBe(0);
    const body = open('zstd');
    const out = (await body.push(coded, [0, coded.length])) as Buffer[];
    expect(Buffer.concat([...out, ...body.letGo()]).length).toBe(0);
    body.close();
  });

  it.each([50, 1000])(
    'of zstd goes nothing that tells the size of what follows, in pieces of %i',
    async (pieceBytes) => {
      const filler = `${randomBytes(132_000).toString('hex').slice(0, 262_143)}\n`;
      const passed = new Set<number>();
      for (const guess of [SECRET, 'another-of-the-same-len', randomBytes(400).toString('hex')]) {
        const coded = zlib.zstdCompressSync(`${filler}${guess} Bearer ${SECRET}`);
        // It skips what says how long the frame behind it is (as pzstd has it).
        const sized = Buffer.concat([Buffer.from([0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0]), Buffer.alloc(4)]);
        sized.writeUInt32LE(coded.length, 8);
        for (const before of [Buffer.alloc(0), zlib.zstdCompressSync(filler)]) {
          const { bytes, cut } = await scrub('zstd', Buffer.concat([before, sized, coded]), pieceBytes);
          expect(cut).toBe('echoed');
          passed.add(bytes.length - before.length);
        }
      }
      const [block = 0] = passed;
      expect([...passed]).toEqual([block]);
      expect(block).toBeGreaterThan(60_000);
    },
  );

  it.each(PIECES)('what zstd skips at the end goes on with it, in pieces of %i', async (pieceBytes) => {
    const coded = Buffer.concat([zlib.zstdCompressSync(clean), skippable, emptySkippable]);
    expect(await scrub('zstd', coded, pieceBytes)).toEqual({ bytes: coded, cut: null });
    expect((await scrub('zstd', coded.subarray(0, -1), pieceBytes)).cut).toBe('broken');
  });

  const skippable = Buffer.from([0x5a, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3]);
  const emptySkippable = Buffer.from([0x50, 0x2a, 0x4d, 0x18, 0, 0, 0, 0]);
  const checked = (text: Buffer) =>
    zlib.zstdCompressSync(text, { params: { [zlib.constants.ZSTD_c_checksumFlag]: 1 } });
  const runs = zlib.zstdCompressSync(Buffer.alloc(300_000, 0x20));
  it.each([
    [
      'zstd',
      [zlib.zstdCompressSync('one'), skippable, emptySkippable, checked(clean), runs],
      checked(hidden),
    ],
    ['gzip', [zlib.gzipSync('one'), zlib.gzipSync(clean)], zlib.gzipSync(hidden)],
  ])('several of %s one behind the other are all looked at', async (coding, before, dirtyOne) => {
    const start = Buffer.concat(before);
    for (const pieceBytes of PIECES) {
      expect(await scrub(coding, start, pieceBytes)).toEqual({ bytes: start, cut: null });
      const { bytes, cut } = await scrub(coding, Buffer.concat([start, dirtyOne]), pieceBytes);
      expect(cut).toBe('echoed');
      expect(bytes.length).toBeLessThan(start.length + dirtyOne.length / 2 + 64);
    }
  });

  it('deflate that only looks as if it had the header of zlib is read without', async () => {
    const padded = Buffer.from([0x08, 0, 0, 0xff, 0xff]);
    for (const pieceBytes of PIECES) {
      const coded = Buffer.concat([padded, zlib.deflateRawSync(clean)]);
      expect(await scrub('deflate', coded, pieceBytes)).toEqual({ bytes: coded, cut: null });
      const bad = Buffer.concat([padded, zlib.deflateRawSync(dirty)]);
      expect((await scrub('deflate', bad, pieceBytes)).cut).toBe('echoed');
    }
  });
});

describe('under another name, or behind an end', () => {
  const zeros = Buffer.alloc(8);
  it.each([
    [
      'gzip',
      'zeros and a second member',
      (text: Buffer) => [zlib.gzipSync('one'), zeros, zlib.gzipSync(text)],
    ],
    ['gzip', 'an empty member and another', (text: Buffer) => [zlib.gzipSync(''), zlib.gzipSync(text)]],
    ['gzip', 'what is deflate', (text: Buffer) => [zlib.deflateSync(text)]],
    ['deflate', 'what is gzip', (text: Buffer) => [zlib.gzipSync(text)]],
    ['br', 'what is gzip', (text: Buffer) => [zlib.gzipSync(text)]],
    ['zstd', 'what is gzip', (text: Buffer) => [zlib.gzipSync(text)]],
  ])('%s: %s is read all the same', async (coding, _what, encode) => {
    for (const pieceBytes of PIECES) {
      const coded = Buffer.concat(encode(clean));
      expect(await scrub(coding, coded, pieceBytes)).toEqual({ bytes: coded, cut: null });
      expect((await scrub(coding, Buffer.concat(encode(dirty)), pieceBytes)).cut).toBe('echoed');
    }
  });

  it('zeros alone fill up what was read', async () => {
    for (const coding of ['gzip', 'deflate', 'br'] as const) {
      const encode = { gzip: zlib.gzipSync, deflate: zlib.deflateSync, br: zlib.brotliCompressSync }[coding];
      const coded = Buffer.concat([encode(clean), Buffer.alloc(1000)]);
      for (const pieceBytes of PIECES)
        expect(await scrub(coding, coded, pieceBytes)).toEqual({ bytes: coded, cut: null });
    }
  });
});

describe('bounds', () => {
  const flat = (bytes: number) => Buffer.alloc(bytes, 'A');

  it.each([
    ['gzip', zlib.gzipSync(flat(20_000_000))],
    ['deflate', zlib.deflateSync(flat(20_000_000))],
    ['br', zlib.brotliCompressSync(flat(4_000_000))],
    ['zstd', zlib.zstdCompressSync(flat(4_000_000))],
  ])('a text of one letter is read to its end, in %s', async (coding, coded) => {
    expect((await scrub(coding, coded, 65_536)).cut).toBeNull();
    const bad = Buffer.concat([
      coded,
      coding === 'zstd' ? zlib.zstdCompressSync(dirty) : zlib.gzipSync(dirty),
    ]);
    if (coding !== 'br') expect((await scrub(coding, bad, 65_536)).cut).toBe('echoed');
  });

  it.each([
    ['br', (text: Buffer) => zlib.brotliCompressSync(text, QUICK)],
    ['zstd', (text: Buffer) => zlib.zstdCompressSync(text)],
  ])('a bomb in %s is not decoded to its end: it is cut off', async (coding, encode) => {
    const bomb = encode(flat(100 * 1024 * 1024));
    const before = process.memoryUsage().rss;
    const { bytes, cut } = await scrub(coding, bomb, 1000);
    expect(cut).toBe('overmuch');
    expect(bytes.length).toBeLessThan(bomb.length);
    expect(process.memoryUsage().rss - before).toBeLessThan(64 * 1024 * 1024);
  });

  it('others are served while a bomb is decoded', async () => {
    const bomb = zlib.gzipSync(flat(30_000_000));
    let turns = 0;
    let done = false;
    const count = () => {
      turns += 1;
      if (!done) setImmediate(count);
    };
    count();
    await scrub('gzip', bomb, bomb.length);
    done = true;
    // One for each 64 KiB.
    expect(turns).toBeGreaterThan(30_000_000 / 65_536);
  });

  it('a zstd window beyond 8 MiB is not taken: the body is cut off', async () => {
    const windowLog = (log: number) => ({ params: { [zlib.constants.ZSTD_c_windowLog]: log } });
    const coded = (log: number) =>
      new Promise<Buffer>((resolve) => {
        const encoder = zlib.createZstdCompress(windowLog(log));
        const parts: Buffer[] = [];
        encoder.on('data', (part: Buffer) => parts.push(part));
        encoder.once('end', () => resolve(Buffer.concat(parts)));
        encoder.write(dirty);
        encoder.flush(zlib.constants.ZSTD_e_flush, () => encoder.end());
      });
    expect((await scrub('zstd', await coded(24), 1000)).cut).toBe('overmuch');
    expect((await scrub('zstd', await coded(23), 1000)).cut).toBe('echoed');
  });

  it('only so many br and zstd bodies are decoded at once: others wait, and none passes unread', async () => {
    const coded = { br: zlib.brotliCompressSync(dirty), zstd: zlib.zstdCompressSync(dirty) };
    const working = Array.from({ length: MOST_OF_ENVIRONMENT }, (_, i) =>
      open(i % 2 ? 'br' : 'zstd', 200, 'busy'),
    );
    for (const [i, body] of working.entries())
      await body.push(coded[i % 2 ? 'br' : 'zstd'].subarray(0, 10), [0, 10]);
    const waiting = open('br', 200, 'busy');
    const gone = open('br', 200, 'busy');
    let settled = 0;
    const pushed = [waiting, gone].map(async (body) => {
      const out = await body.push(coded.br, [0, coded.br.length]);
      settled += 1;
      return out;
    });
    // Another environment's, and what needs no place, are not held up.
    expect((await scrub('br', coded.br, 1000)).cut).toBe('echoed');
    expect((await scrub('gzip', zlib.gzipSync(dirty), 1000)).cut).toBe('echoed');
    expect(settled).toBe(0);
    gone.close();
    expect(await pushed[1]).toEqual([]);
    expect(settled).toBe(1);
    working[0]?.close();
    expect(await pushed[0]).toEqual(ECHOED);
    for (const body of [waiting, ...working]) body.close();
  });

  it('one that waits for its place for too long is cut off', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const coded = zlib.brotliCompressSync(clean);
    const quiet = Array.from({ length: MOST_OF_ENVIRONMENT }, () => open('br', 200, 'quiet'));
    for (const body of quiet) await body.push(coded.subarray(0, 2), [0, 2]);
    const waiting = open('br', 200, 'quiet');
    const pushed = waiting.push(coded, [0, coded.length]);
    vi.advanceTimersByTime(MAX_WAIT_MS);
    expect(await pushed).toEqual({ before: [], cut: 'busy' });
    vi.useRealTimers();
    for (const body of [waiting, ...quiet]) body.close();
  });

  it('a range of a coded text, and a text coded twice, pass as they are', async () => {
    const coded = zlib.gzipSync(dirty);
    for (const body of [open('gzip', 206), open('gzip, br')]) {
      const out = [
        ...((await body.push(coded, [0, coded.length])) as Buffer[]),
        ...((await body.end()) as Buffer[]),
      ];
      expect(Buffer.concat(out).equals(coded)).toBe(true);
    }
  });

  it.each(PIECES)('what is no such coding is looked at as text, in pieces of %i', async (pieceBytes) => {
    for (const coding of ['utf-8', 'none', 'gzip, br', 'gzip', 'zstd']) {
      for (const before of ['!', '']) {
        const { bytes } = await scrub(coding, Buffer.from(`${before}${SECRET}!`), pieceBytes);
        expect(bytes.toString()).toBe(`${before}${'*'.repeat(SECRET.length)}!`);
      }
    }
  });

  it('chunked framing between coded bytes is not decoded', async () => {
    const coded = zlib.gzipSync(clean);
    const body = open('gzip');
    const framed = Buffer.concat([
      Buffer.from('5\r\n'),
      coded.subarray(0, 5),
      Buffer.from('\r\n1F\r\n'),
      coded.subarray(5),
    ]);
    const out = await body.push(framed, [3, 8, 14, framed.length]);
    expect(Buffer.concat([...(out as Buffer[]), ...((await body.end()) as Buffer[])]).equals(framed)).toBe(
      true,
    );
    body.close();
  });

  it('a body that is closed while it is decoded lets nothing more pass', async () => {
    const body = open('gzip');
    const coded = zlib.gzipSync(clean);
    const pushed = body.push(coded, [0, coded.length]);
    body.close();
    expect(await pushed).toEqual([]);
  });
});

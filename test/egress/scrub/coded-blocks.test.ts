/** What goes on of a compressed body before all of it was looked at: nothing that tells of what is still to be. */
import { randomBytes } from 'node:crypto';
import * as zlib from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { dirty, open, SECRET, STREAMS, scrub } from './coded.ts';

describe('members of gzip', () => {
  const events = Array.from({ length: 40 }, (_, i) => `data: ${i} ${'y'.repeat(i % 7)}\n\n`);
  const members = events.map((event) => zlib.gzipSync(event));

  it.each([1, 2, 11, 100])('go on one by one, in pieces of %i and in one', async (pieceBytes) => {
    for (const type of ['text/event-stream', 'application/json']) {
      const body = open('gzip', 200, 'e', type);
      for (const member of members) {
        const out: Buffer[] = [];
        for (let at = 0; at < member.length; at += pieceBytes) {
          const piece = Buffer.from(member.subarray(at, at + pieceBytes));
          out.push(...((await body.push(piece, [0, piece.length])) as Buffer[]));
        }
        expect(Buffer.concat(out).equals(member)).toBe(true);
      }
      const rest = Buffer.concat(members);
      expect(Buffer.concat((await body.push(rest, [0, rest.length])) as Buffer[]).equals(rest)).toBe(true);
      body.close();
    }
  });

  it('cut anywhere go on as far as they are whole, and what begins like one is none', async () => {
    const text = Buffer.concat([
      Buffer.from([0x1f, 0x8b, 8, 0, 0x1f, 0x8b]),
      randomBytes(50),
      Buffer.from('\n'),
    ]);
    const stored = zlib.gzipSync(text, { level: 0 });
    const whole = Buffer.concat([stored, ...members.slice(0, 2), stored]);
    for (let cut = 1; cut < whole.length; cut++) {
      const body = open('gzip');
      const parts = (await body.push(Buffer.from(whole.subarray(0, cut)), [0, cut])) as Buffer[];
      const ends = [
        0,
        stored.length,
        stored.length + (members[0]?.length ?? 0),
        whole.length - stored.length,
      ];
      expect(Buffer.concat(parts).length).toBe(Math.max(...ends.filter((end) => end <= cut)));
      body.close();
    }
  });

  it('of which one has the secret are cut off before it', async () => {
    const before = Buffer.concat(members);
    const { bytes, cut } = await scrub('gzip', Buffer.concat([before, zlib.gzipSync(dirty)]), 50);
    expect(cut).toBe('echoed');
    expect(bytes.equals(before)).toBe(true);
  });
});

describe('what goes before a cut', () => {
  const types = ['text/event-stream', 'application/json'];
  it.each(STREAMS.flatMap((stream) => types.map((type) => [...stream, type] as const)))(
    'in %s is the same whatever stands behind it (%#)',
    async (coding, make, kind, type) => {
      const lines = Array.from({ length: 100 }, (_, i) => `line ${i} sk-live\n`).join('');
      const passed = new Set<string>();
      for (const behind of ['', SECRET, 'x'.repeat(5000), randomBytes(3000).toString('hex')]) {
        const encoder = make();
        const parts: Buffer[] = [];
        encoder.on('data', (part: Buffer) => parts.push(part));
        for (const text of [lines, `${SECRET}${behind}`]) {
          encoder.write(text);
          await new Promise<void>((resolve) => encoder.flush(kind, resolve));
        }
        const body = open(coding, 200, 'e', type);
        const out: Buffer[] = [];
        for (const byte of Buffer.concat(parts)) {
          const more = await body.push(Buffer.of(byte), [0, 1]);
          if ('cut' in more) break;
          out.push(...more);
        }
        passed.add(Buffer.concat(out).toString('hex'));
        body.close();
        encoder.destroy();
      }
      expect(passed.size).toBe(1);
    },
  );
});

describe('what goes before a cut is the same whatever came together', () => {
  const flushes = [zlib.constants.Z_SYNC_FLUSH, zlib.constants.Z_FULL_FLUSH] as const;
  const bits = (bytes: number) => randomBytes(bytes).toString('hex');
  it.each([
    ['gzip', () => zlib.createGzip(), flushes],
    ['deflate', () => zlib.createDeflateRaw(), flushes],
    ['zstd', () => zlib.createZstdCompress(), [zlib.constants.ZSTD_e_flush, zlib.constants.ZSTD_e_end]],
  ] as const)('in %s', async (coding, make, kinds) => {
    for (const end of ['\n', '']) {
      const encoder = make();
      const parts: Buffer[] = [];
      encoder.on('data', (part: Buffer) => parts.push(part));
      for (const text of [`${bits(50)}${end}`, `${bits(1000)}${end}`, `${bits(70)}${SECRET}${bits(60)}`]) {
        encoder.write(text);
        for (const kind of kinds) await new Promise<void>((resolve) => encoder.flush(kind, resolve));
      }
      const coded = Buffer.concat(parts);
      const passed = new Set<string>();
      for (const pieceBytes of [1, 13, 500, 5000]) {
        const { bytes, cut } = await scrub(coding, coded, pieceBytes);
        expect(cut).toBe('echoed');
        expect(bytes.length).toBeGreaterThan(50);
        passed.add(bytes.toString('hex'));
      }
      expect(passed.size).toBe(1);
      encoder.destroy();
    }
  });
});

describe('the tables of a block', () => {
  const noise = (bytes: number) => randomBytes(bytes).toString('base64');
  it.each([
    ['gzip', zlib.gzipSync],
    ['deflate', zlib.deflateRawSync],
  ] as const)(
    'of %s do not go before the text that they tell of, and no more is held',
    async (coding, encode) => {
      const most = 512;
      const filler = noise(9000);
      for (const guess of ['earer tQ', 'earer xQ']) {
        const coded = encode(Buffer.from(`!${guess}${filler}Bearer ${SECRET}`));
        expect(await scrub(coding, coded, 1400)).toEqual({ bytes: Buffer.alloc(0), cut: 'echoed' });
      }
      const long = encode(Buffer.from(noise(1_500_000)));
      const body = open(coding);
      let passed = 0;
      for (let at = 0; at < long.length; at += 16_384) {
        const piece = long.subarray(at, at + 16_384);
        for (const part of (await body.push(Buffer.from(piece), [0, piece.length])) as Buffer[])
          passed += part.length;
        expect(passed).toBeLessThanOrEqual(Math.max(at + piece.length - most * 1024, 0));
      }
      expect(passed).toBeGreaterThan(long.length - (most + 64) * 1024);
      body.close();
    },
  );

  it('of a block of br, however long it is coded, do not go before all of its text', async () => {
    const filler = noise(1_800_000);
    for (const [i, quality] of [5, 9, 5].entries()) {
      const coded = brotli(`${filler}${i === 2 ? 'earer tQ' : 'earer xQ'}Bearer ${SECRET}`, quality);
      expect(coded.length).toBeGreaterThan(1_700_000);
      expect(await scrub('br', coded, 65_536)).toEqual({ bytes: Buffer.alloc(0), cut: 'echoed' });
    }
  });

  it('of br go on when as much text is behind them as a block may have', async () => {
    const long = brotli(`${noise(10_000_000)}${'a line of it\n'.repeat(1_000_000)}`, 1);
    const body = open('br');
    const out: Buffer[] = [];
    const pass = async (piece: Buffer) => {
      const parts = (await body.push(Buffer.from(piece), [0, piece.length])) as Buffer[];
      out.push(...parts, ...body.letGo());
    };
    const last = long.length - 100;
    for (let at = 0; at < last; at += 65_536) await pass(long.subarray(at, Math.min(at + 65_536, last)));
    const passed = Buffer.concat(out);
    expect(passed.equals(long.subarray(0, passed.length))).toBe(true);
    const textOf = (coded: Buffer) =>
      zlib.brotliDecompressSync(coded, { finishFlush: zlib.constants.BROTLI_OPERATION_FLUSH }).length;
    const ahead = textOf(long.subarray(0, last)) - textOf(passed);
    expect(ahead).toBeGreaterThanOrEqual(2 ** 24);
    expect(ahead).toBeLessThan(2 ** 24 + 1_000_000);
    await pass(long.subarray(last));
    out.push(...((await body.end()) as Buffer[]));
    expect(Buffer.concat(out).equals(long)).toBe(true);
    body.close();
  });

  it('of br that give no text are not held beyond measure: the body is cut off', async () => {
    // 64 KiB that are skipped (RFC 7932 9.2), again and again; the first behind the size of the window.
    const data = Buffer.alloc(65_536);
    const skipped = (times: number) => [
      Buffer.from([0xcc, 0xff, 0x7f]),
      data,
      ...Array.from({ length: times - 1 }, () => [Buffer.from([0xe6, 0xff, 0x3f]), data]).flat(),
    ];
    const last = Buffer.from([3]);
    const some = Buffer.concat([...skipped(200), last]);
    expect(zlib.brotliDecompressSync(some).length).toBe(0);
    const { bytes, cut } = await scrub('br', some, 65_536);
    expect({ same: bytes.equals(some), cut }).toEqual({ same: true, cut: null });
    expect(await scrub('br', Buffer.concat([...skipped(300), last]), 65_536)).toEqual({
      bytes: Buffer.alloc(0),
      cut: 'overmuch',
    });
  });
});

function brotli(text: string, quality: number): Buffer {
  return zlib.brotliCompressSync(text, { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: quality } });
}

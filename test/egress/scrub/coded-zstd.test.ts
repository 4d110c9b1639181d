/** Blocks of zstd: an encoder ends them where the text behind is best compressed, so each waits for what it looked at. */
import { createHash, randomBytes } from 'node:crypto';
import * as zlib from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { Secret } from '../../../core-lite/secret.ts';
import { makeLine } from '../../../egress/http1/write-head.ts';
import { Scrubber } from '../../../egress/scrub/scrubber.ts';
import { open, scrub } from './coded.ts';

/** ZSTD_c_targetCBlockSize, which Node does not name. */
const TARGET_BLOCK_SIZE = 130;

/** The same for each seed. */
function hex(chars: number, seed: string): string {
  let text = '';
  for (let i = 0; text.length < chars; i++) text += createHash('sha256').update(`${seed}${i}`).digest('hex');
  return text.slice(0, chars);
}

/** What goes on of an answer that has the secret of its host in it. */
async function passed(coded: Buffer, secret: string): Promise<Buffer> {
  const headers = [makeLine('Content-Type', 'application/json'), makeLine('Content-Encoding', 'zstd')];
  const body = new Scrubber([new Secret(secret)], 'e').body({ status: 200, headers });
  const out = await body.push(Buffer.from(coded), [0, coded.length]);
  body.close();
  expect(out).toMatchObject({ cut: 'echoed' });
  return Buffer.concat('cut' in out ? out.before : []);
}

/** How long each block of the first frame is coded, with its header. */
function blocksOf(coded: Buffer): readonly number[] {
  const flags = coded[4] as number;
  const single = (flags >> 5) & 1;
  let at = 5 + (1 - single) + ([single, 2, 4, 8][flags >> 6] as number);
  const blocks: number[] = [];
  for (let header = 0; (header & 1) === 0; at += blocks.at(-1) as number) {
    header = coded.readUIntLE(at, 3);
    blocks.push(3 + (((header >> 1) & 3) === 1 ? 1 : header >> 3));
  }
  return blocks;
}

describe('where a block of zstd ends', () => {
  const secrets = [
    'the-real-secret-value',
    'eulav-terces-laer-eht',
    'real-the-value-secret',
    'secret-eht-real-value',
  ];
  it.each([
    ['level 16', 12, { [zlib.constants.ZSTD_c_compressionLevel]: 16 }],
    ['level 19', 3, { [zlib.constants.ZSTD_c_compressionLevel]: 19 }],
    ['blocks of 1,340', 12, { [TARGET_BLOCK_SIZE]: 1340 }],
    ['blocks of 4,096', 12, { [TARGET_BLOCK_SIZE]: 4096 }],
  ])('says nothing of the secret behind it, with %s', async (_what, most, params) => {
    let told = 0;
    for (let padding = 0; padding < most; padding += 1) {
      const all = new Set<string>();
      const borders = new Set<string>();
      for (const secret of secrets) {
        const before = hex(24_000 + padding * 2500, `a${padding}`);
        const between = Buffer.from(hex(30_000, `b${padding}`), 'hex').toString('base64');
        const behind = Array.from(
          { length: 300 },
          (_, i) => `line ${i} of something that repeats itself ${hex(6, `r${i}`)}\n`,
        );
        const guess = `Authorization: Bearer the-real-secre ${hex(12, `q${padding}`)}`;
        const text = `${before}\n${guess}\n${between}\nAuthorization: Bearer ${secret}\n${behind.join('')}`;
        const coded = zlib.zstdCompressSync(text, { params });
        const out = await passed(Buffer.concat([zlib.zstdCompressSync('a frame\n'), coded]), secret);
        all.add(out.toString('hex'));
        borders.add(blocksOf(coded).join());
        expect(out.length).toBeGreaterThan(0);
      }
      expect(all.size).toBe(1);
      told += borders.size - 1;
    }
    // Else there was nothing to hide.
    expect(told).toBeGreaterThan(0);
  });

  it('is where it goes on when as much text is behind it as is split at once, or its frame has ended', async () => {
    const lines = (count: number) =>
      Array.from({ length: count }, () => `${randomBytes(512).toString('hex').slice(1)}\n`).join('');
    const encoder = zlib.createZstdCompress();
    const parts: Buffer[] = [];
    encoder.on('data', (part: Buffer) => parts.push(part));
    const flush = async (text: string, kind: number) => {
      encoder.write(text);
      await new Promise<void>((resolve) => encoder.flush(kind, resolve));
      return Buffer.concat(parts.splice(0));
    };
    const body = open('zstd');
    const push = async (coded: Buffer) => {
      const out = (await body.push(Buffer.from(coded), [0, coded.length])) as Buffer[];
      return Buffer.concat([...out, ...body.letGo()]).toString('hex');
    };
    const { ZSTD_e_flush, ZSTD_e_end } = zlib.constants;
    const first = await flush('first\n', ZSTD_e_flush);
    expect(await push(first)).toBe('');
    const most = await flush(lines(127), ZSTD_e_flush);
    expect(await push(most)).toBe('');
    const more = await flush(lines(1), ZSTD_e_flush);
    expect(await push(more)).toBe(first.toString('hex'));
    const last = await flush(lines(1), ZSTD_e_end);
    expect(await push(last)).toBe(Buffer.concat([most, more, last]).toString('hex'));
    const next = await flush('next\n', ZSTD_e_end);
    expect(await push(next)).toBe(next.toString('hex'));
    body.close();
    encoder.destroy();
  });

  it('goes on with its text where it comes as things happen', async () => {
    const encoder = zlib.createZstdCompress();
    const parts: Buffer[] = [];
    encoder.on('data', (part: Buffer) => parts.push(part));
    const body = open('zstd', 200, 'e', 'application/x-ndjson');
    for (const text of ['{"a":1}\n', '{"b":2}\n']) {
      encoder.write(text);
      await new Promise<void>((resolve) => encoder.flush(zlib.constants.ZSTD_e_flush, resolve));
      const coded = Buffer.concat(parts.splice(0));
      const out = (await body.push(Buffer.from(coded), [0, coded.length])) as Buffer[];
      expect(Buffer.concat(out).equals(coded)).toBe(true);
    }
    body.close();
    encoder.destroy();
  });
});

it.each([
  ['level 19', { [zlib.constants.ZSTD_c_compressionLevel]: 19 }],
  ['blocks of 1,340', { [TARGET_BLOCK_SIZE]: 1340 }],
  ['a sum at its end', { [zlib.constants.ZSTD_c_checksumFlag]: 1 }],
])('a clean text of zstd passes as it came, with %s', async (_what, params) => {
  const coded = zlib.zstdCompressSync(hex(700_000, 'clean'), { params });
  const { bytes, cut } = await scrub('zstd', coded, 10_000);
  expect({ same: bytes.equals(coded), cut }).toEqual({ same: true, cut: null });
});

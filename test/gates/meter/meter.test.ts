/** What a meter reads of an answer: tables of real endings, however they are cut and compressed. */
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { array, assert, asyncProperty, constantFrom, nat } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Meter, type Metered } from '../../../gates/meter.ts';
import type { Answer } from './answer.ts';
import { ERROR_ANSWERS } from './error-answers.ts';
import { OPENAI_ANSWERS } from './openai-answers.ts';
import { OTHER_ANSWERS } from './other-answers.ts';

const ANSWERS = [...OPENAI_ANSWERS, ...OTHER_ANSWERS, ...ERROR_ANSWERS];
const CODINGS: Readonly<Record<string, (bytes: Buffer) => Buffer>> = {
  gzip: gzipSync,
  'x-gzip': gzipSync,
  deflate: deflateSync,
  br: brotliCompressSync,
  zstd: zstdCompressSync,
};

/** @param borders where the bytes are cut */
function meter(answer: Answer, bytes: Buffer, borders: readonly number[], encoding = ''): Promise<Metered> {
  const made = new Meter(answer.dialect, answer.type ?? 'text/event-stream', encoding, 'ses_1');
  let from = 0;
  for (const border of [...borders, bytes.length]) {
    made.see(bytes.subarray(from, border));
    from = border;
  }
  return made.read();
}

function expected({ tokens, failed, unbegun, unfinished, more }: Answer): Metered {
  const [input, output, cached = null, cacheWrite = null, reasoning = null] = tokens ?? [null, null];
  return {
    tokens: { input, output, cached, cacheWrite, reasoning, ...more },
    failed: failed === true,
    // Asked of what failed alone.
    begun: failed ? unbegun !== true : expect.any(Boolean),
    wordsInError: expect.any(Boolean),
    finished: unfinished !== true,
    unread: false,
    passedTokens: expect.any(Number),
    outputTold: expect.any(Boolean),
  };
}

describe('a meter counts', () => {
  for (const answer of ANSWERS) {
    const bytes = Buffer.from(answer.text);
    it(`${answer.name}: cut at each border`, async () => {
      const whole = await meter(answer, bytes, []);
      expect(whole).toEqual(expected(answer));
      // A long answer at borders that fall on every place of its events.
      const step = bytes.length > 2_000 ? Math.ceil(bytes.length / 200) : 1;
      for (let at = 0; at < bytes.length; at += step) expect(await meter(answer, bytes, [at])).toEqual(whole);
      const each = Array.from({ length: bytes.length }, (_, i) => i);
      expect(await meter(answer, bytes, each)).toEqual(whole);
    });

    it(`${answer.name}: compressed`, async () => {
      for (const [encoding, compress] of Object.entries(CODINGS)) {
        const coded = compress(bytes);
        expect(await meter(answer, coded, [1, coded.length >> 1], encoding)).toEqual(expected(answer));
      }
    });
  }

  it('any of them, in any pieces', async () => {
    const cuts = array(nat(100_000), { maxLength: 12 });
    const property = asyncProperty(constantFrom(...ANSWERS), cuts, async (answer, places) => {
      const bytes = Buffer.from(answer.text);
      const borders = places.map((place) => place % (bytes.length + 1)).sort((a, b) => a - b);
      expect(await meter(answer, bytes, borders)).toEqual(expected(answer));
    });
    await assert(property, { numRuns: 500 });
  });
});

describe('a meter reads of what is compressed', () => {
  const usage = { prompt_tokens: 10, completion_tokens: 4 };
  const answer: Answer = { name: '', dialect: 'openai', text: '', type: 'application/json', tokens: [10, 4] };
  const tokensOf = async (bytes: Buffer, encoding: string) => {
    const { tokens } = await meter(answer, bytes, [], encoding);
    return [tokens.input, tokens.output];
  };

  it('a bare deflate', async () => {
    expect(await tokensOf(deflateRawSync(JSON.stringify({ usage })), 'deflate')).toEqual([10, 4]);
  });

  it('what came before it was cut off', async () => {
    const noise = Array.from({ length: 20_000 }, (_, i) => Math.imul(i, 2_654_435_761)).join();
    const coded = gzipSync(JSON.stringify({ usage, noise }));
    expect(await tokensOf(coded.subarray(0, coded.length - 100), 'gzip')).toEqual([10, 4]);
  });

  it('nothing where it is broken, or in a coding that is not known', async () => {
    expect(await tokensOf(Buffer.from('{"usage":{"prompt_tokens":1}}'), 'gzip')).toEqual([null, null]);
    expect(await tokensOf(gzipSync(JSON.stringify({ usage })), 'aes128gcm')).toEqual([null, null]);
    expect(await tokensOf(Buffer.alloc(0), 'br')).toEqual([null, null]);
  });

  it('no more of a bomb than its limit', async () => {
    const head = JSON.stringify({ usage }).slice(0, -1);
    const bomb = gzipSync(
      Buffer.concat([Buffer.from(`${head},"pad":"`), Buffer.alloc(200 * 1024 * 1024, 0x61)]),
    );
    expect(bomb.length).toBeLessThan(1024 * 1024);
    expect(await tokensOf(bomb, 'gzip')).toEqual([10, 4]);
  });
});

describe('a meter keeps up with', () => {
  const usage = '"usage":{"prompt_tokens":8,"completion_tokens":2}';
  const text = `"text":"${'all \\"work\\" and no play, '.repeat(900_000)}"`;
  const numbers = `"data":[${'-0.01234567,'.repeat(1_800_000)}0]`;
  const LARGE: readonly (readonly [name: string, body: string])[] = [
    ['20 MiB of text before its usage', `{${text},${usage}}`],
    ['20 MiB of text behind its usage', `{${usage},${text}}`],
    ['20 MiB of numbers before its usage', `{${numbers},${usage}}`],
    ['20 MiB of numbers behind its usage', `{${usage},${numbers}}`],
  ];
  for (const [name, body] of LARGE) {
    it(name, async () => {
      const bytes = Buffer.from(body);
      expect(bytes.length).toBeGreaterThan(20 * 1024 * 1024);
      const answer: Answer = { name, dialect: 'openai', type: 'application/json', text: '', tokens: [8, 2] };
      const borders = Array.from({ length: bytes.length >> 16 }, (_, i) => i << 16);
      expect(await meter(answer, bytes, borders)).toEqual(expected(answer));
      expect(await meter(answer, gzipSync(bytes, { level: 1 }), [], 'gzip')).toEqual(expected(answer));
    });
  }
});

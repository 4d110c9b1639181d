/** What is compressed is decoded within measure: windows, places, and codings over several lines. */
import type { Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import {
  brotliCompressSync,
  constants,
  createZstdCompress,
  deflateSync,
  gzipSync,
  zstdCompressSync,
} from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { contentCoding } from '../../gates/act/headers.ts';
import { makePlaces, openDecoder } from '../../gates/codings.ts';
import { Meter } from '../../gates/meter.ts';
import { readBody } from '../../gates/read/body.ts';
import { Shares } from '../../gates/shares.ts';
import { startRig } from '../support/relay-rig.ts';

const ANSWER = '{"usage":{"prompt_tokens":3,"completion_tokens":4}}';
const COUNTED = { tokens: { input: 3, output: 4 }, unread: false };
const UNREAD = { tokens: { input: null, output: null }, failed: false, finished: false, unread: true };
const KEY = 'sk-canary-codings';

/** A frame that asks for a window of so many bits. */
function zstd(text: string, windowLog: number): Promise<Buffer> {
  const stream = createZstdCompress({ params: { [constants.ZSTD_c_windowLog]: windowLog } });
  stream.write(text.slice(0, 1));
  stream.flush(() => stream.end(text.slice(1)));
  return buffer(stream);
}

function meter(encoding: string, bytes: Buffer, session = 'ses_1'): Meter {
  const made = new Meter('openai', 'application/json', encoding, session);
  made.see(bytes);
  return made;
}

describe('a window of zstd', () => {
  it('of 8 MiB is read', async () => {
    const bytes = await zstd(ANSWER, 23);
    expect(await meter('zstd', bytes).read()).toMatchObject(COUNTED);
    expect(String(await readBody(bytes, 'zstd', 1_000))).toBe(ANSWER);
  });

  it('of more is not', async () => {
    for (const log of [24, 27]) {
      const bytes = await zstd(ANSWER, log);
      expect(await meter('zstd', bytes).read()).toMatchObject(UNREAD);
      expect(await readBody(bytes, 'zstd', 1_000)).toBe('body_malformed');
    }
  });
});

describe('a body that another reader would read on in', () => {
  const [one, two] = ['{"model":"m"}', ' {"model":"n"}'];
  const zeros = Buffer.alloc(8);
  for (const [name, coding, frames] of [
    ['two frames of zstd', 'zstd', [zstdCompressSync(one), zstdCompressSync(two)]],
    ['zstd and zeros', 'zstd', [zstdCompressSync(one), zeros]],
    ['two streams of br', 'br', [brotliCompressSync(one), brotliCompressSync(two)]],
    ['two streams of deflate', 'deflate', [deflateSync(one), deflateSync(two)]],
    ['members of gzip with zeros between', 'gzip', [gzipSync(one), zeros, gzipSync(two)]],
    ['gzip and more', 'gzip', [gzipSync(one), Buffer.from('more')]],
  ] as const)
    it(`is refused: ${name}`, async () => {
      expect(String(await readBody(frames[0], coding, 1_000))).toBe(one);
      expect(await readBody(Buffer.concat(frames), coding, 1_000)).toBe('body_malformed');
    });

  it('is read whole where the coding has members', async () => {
    const members = Buffer.concat([gzipSync(one), gzipSync(two)]);
    expect(String(await readBody(members, 'gzip', 1_000))).toBe(one + two);
  });
});

describe('places', () => {
  it('are for codings with large windows, few for one session, and free again', async () => {
    const bytes = brotliCompressSync(ANSWER);
    const meters = Array.from({ length: 20 }, () => meter('br', bytes));
    expect(await meter('zstd', zstdCompressSync(ANSWER)).read()).toMatchObject(UNREAD);
    expect(await meter('br', bytes, 'ses_2').read()).toMatchObject(COUNTED);
    expect(await meter('gzip', gzipSync(ANSWER)).read()).toMatchObject(COUNTED);
    const read = await Promise.all(meters.map((each) => each.read()));
    expect(read.filter(({ unread }) => !unread)).toHaveLength(8);
    // A place is free a turn after its decoder is done.
    await new Promise((resolve) => setImmediate(resolve));
    expect(await meter('br', bytes).read()).toMatchObject(COUNTED);
  });

  it('are as many as are taken', () => {
    const places = makePlaces();
    const first = Buffer.from([0]);
    const open = (session: string) => openDecoder('zstd', first, { places, session });
    const opened = Array.from({ length: 64 }, (_, i) => open(`ses_${i % 8}`));
    expect(opened).not.toContain(null);
    expect(['ses_1', 'ses_9'].map(open)).toEqual([null, null]);
    for (const decoder of opened) decoder?.destroy();
  });
});

describe('places that all share', () => {
  it('are few for one session, and so many for all', () => {
    const shares = new Shares({ all: 5, ofSession: 2 });
    const take = (sessions: string) => [...sessions].map((session) => shares.take(session));
    expect(take('aaabbcd')).toEqual([true, true, false, true, true, true, false]);
    shares.free('a');
    expect(take('bda')).toEqual([false, true, false]);
    for (const session of 'abbcd') shares.free(session);
    expect(take('aabbcc')).toEqual([true, true, true, true, true, false]);
  });
});

describe('the coding of several lines', () => {
  const ROWS: readonly (readonly [lines: readonly string[], coding: string])[] = [
    [[], ''],
    [['identity'], ''],
    [['', 'GZip'], 'gzip'],
    [['identity', 'gzip'], 'gzip'],
    [['gzip', 'identity'], 'gzip'],
    [['identity, gzip'], 'gzip'],
    [[' gzip ,'], 'gzip'],
    [['gzip', 'br'], 'gzip, br'],
    [['gzip,br'], 'gzip, br'],
    [['gzip', 'gzip'], 'gzip, gzip'],
    [['constructor', 'gzip'], 'constructor, gzip'],
  ];
  for (const [lines, coding] of ROWS) {
    it(`${JSON.stringify(lines)} is ${JSON.stringify(coding)}`, () => {
      const raw = lines.flatMap((line) => ['Content-ENCODING', line]);
      expect(contentCoding(['X-A', 'gzip', ...raw, 'Content_Encoding', 'br'])).toBe(coding);
    });
  }

  const relay = async (lines: readonly string[], body: Buffer) => {
    const head = lines.map((line) => `Content-Encoding: ${line}\r\n`).join('');
    const script = (socket: Socket): void => {
      socket.write(`HTTP/1.1 200 OK\r\n${head}Content-Length: ${body.length}\r\n\r\n`);
      socket.write(body);
    };
    const rig = await startRig({ secrets: [KEY], script });
    const reply = await rig.ask();
    await rig.close();
    return { ...reply, failure: rig.ends[0]?.failure };
  };

  it('is what an answer is decoded by', async () => {
    for (const lines of [['identity', 'gzip'], ['gzip', 'identity'], ['identity, gzip']]) {
      expect(await relay(lines, gzipSync(`{"said":"${KEY}"}`))).toMatchObject({ failure: 'provider_died' });
      const body = gzipSync(ANSWER);
      expect(await relay(lines, body)).toMatchObject({ failure: null, body, whole: true });
    }
  });

  it('that nobody reads is looked at as it is', async () => {
    for (const lines of [
      ['gzip', 'gzip'],
      ['gzip', 'own'],
    ]) {
      const { text, failure } = await relay(lines, Buffer.from(`\u0007plain ${KEY}.`));
      expect([text, failure]).toEqual([`\u0007plain ${'*'.repeat(KEY.length)}.`, null]);
      const twice = gzipSync(gzipSync(KEY));
      expect((await relay(lines, twice)).body.equals(twice)).toBe(true);
    }
  });
});

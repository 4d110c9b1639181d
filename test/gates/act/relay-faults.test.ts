/**
 * What a provider can say in its head, byte by byte, and what throws in any step of the relay: the one call ends, and
 * nothing else. What nobody catches fails these tests by itself.
 */
import { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { EventGuard } from '../../../gates/act/event-guard.ts';
import { SecretMask, SecretSearch } from '../../../gates/act/mask.ts';
import { UsageFilter } from '../../../gates/act/usage-filter.ts';
import { Decoder } from '../../../gates/meter/decoder.ts';
import { Meter } from '../../../gates/meter.ts';
import { type Rig, type RigOptions, startRig } from '../../support/relay-rig.ts';

let rig: Rig | null = null;
afterEach(async () => {
  vi.restoreAllMocks();
  await rig?.close();
  rig = null;
});
const start = async (options: RigOptions): Promise<Rig> => {
  rig = await startRig({ wholeLimitMs: 5_000, idleLimitMs: 5_000, ...options });
  return rig;
};

/** Writes the parts in reads of their own. */
function sendParts(socket: Socket, [part, ...rest]: readonly string[]): void {
  if (part === undefined) return;
  socket.write(Buffer.from(part, 'latin1'), () => setTimeout(() => sendParts(socket, rest), 5));
}

describe('a status phrase', () => {
  const SHAPES = {
    'a whole answer': ['Content-Length: 2\r\n\r\n{}'],
    'an answer in two reads': ['Content-Length: 2\r\n\r\n{', '}'],
    'an answer without a body': ['Content-Length: 0\r\n\r\n'],
    'a stream': ['Content-Type: text/event-stream\r\nContent-Length: 10\r\n\r\n', 'data: 1\n\n\n'],
  };
  const ODD = {
    control: '\x01',
    delete: '\x7f',
    'latin 1': 'Caf\xe9',
    'UTF-8': '\xe2\x82\xac',
    tail: '\xff',
  };
  for (const [shape, [head = '', ...rest]] of Object.entries(SHAPES)) {
    for (const [name, odd] of Object.entries(ODD)) {
      it(`of other bytes is the status's own: ${shape}, ${name}`, async () => {
        const script = (socket: Socket): void =>
          sendParts(socket, [`HTTP/1.1 200 O${odd}K\r\n${head}`, ...rest]);
        for (const secrets of [[], ['sk-canary-phrase']]) {
          const { ask, ends, close } = await startRig({ script, secrets, wholeLimitMs: 5_000 });
          const reply = await ask();
          await close();
          // undici refuses a control character itself, as llhttp does.
          const [end] = ends;
          if (end?.failure === 'provider_failed') expect(reply.status).toBe(502);
          else {
            expect([reply.status, reply.phrase, reply.whole, end?.failure]).toEqual([200, 'OK', true, null]);
            expect(reply.text).toBe([head.split('\r\n\r\n')[1], ...rest].join(''));
          }
        }
      });
    }
  }

  it('that can be written is written, none among them', async () => {
    for (const phrase of ['Fine, so far\t!', '']) {
      const { ask, close } = await startRig({
        script: (socket) => socket.write(`HTTP/1.1 200 ${phrase}\r\nContent-Length: 2\r\n\r\n{}`),
      });
      expect([(await ask()).phrase, phrase]).toEqual([phrase, phrase]);
      await close();
    }
  });
});

it('a header of any byte passes as it came, or the answer is none', async () => {
  let odd = '';
  const { ask, ends } = await start({
    secrets: ['sk-canary-bytes'],
    script: (socket) => {
      const line = `X-Odd: a${odd}b\r\n`;
      sendParts(socket, [`HTTP/1.1 200 OK\r\n${line}Content-Length: 2\r\n\r\n{`, '}']);
    },
  });
  for (let byte = 0; byte < 256; byte += 1) {
    odd = String.fromCharCode(byte);
    const { status, rawHeaders } = await ask();
    if (status === 502) continue;
    expect([byte, status]).toEqual([byte, 200]);
    if (odd !== '\n') expect([byte, rawHeaders[1]]).toEqual([byte, `a${odd}b`]);
  }
  expect(ends).toHaveLength(256);
});

const CHUNKED = 'Transfer-Encoding: chunked\r\n\r\n';
const EVENTS = `HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n${CHUNKED}`;
const JSON_HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n';
const coded = gzipSync('{"a":"no line end"').toString('latin1');
const GZIP = `${JSON_HEAD}Content-Encoding: gzip\r\n${CHUNKED}`;
const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;
const LAST = '0\r\n\r\n';
const PLAIN = [JSON_HEAD + CHUNKED, chunk('{"a":'), chunk('1}') + LAST];
const STREAM = [EVENTS, chunk('data: 1\n\n'), chunk('data: 2\n\n') + LAST];
const CODED = [GZIP, chunk(coded), chunk(gzipSync('}').toString('latin1')) + LAST];
const broken = (): never => {
  throw new Error('a fault of the test');
};

describe('what throws ends the call', () => {
  const ROWS: readonly (readonly [name: string, parts: readonly string[], sabotage: () => unknown])[] = [
    [
      'the head, of an answer',
      PLAIN,
      () => vi.spyOn(ServerResponse.prototype, 'writeHead').mockImplementationOnce(broken),
    ],
    [
      'the head, of a stream',
      STREAM,
      () => vi.spyOn(ServerResponse.prototype, 'writeHead').mockImplementationOnce(broken),
    ],
    [
      'the head, without a body',
      [`${JSON_HEAD}Content-Length: 0\r\n\r\n`],
      () => vi.spyOn(ServerResponse.prototype, 'writeHead').mockImplementationOnce(broken),
    ],
    ['a write', PLAIN, () => vi.spyOn(ServerResponse.prototype, 'write').mockImplementation(broken)],
    ['the meter', PLAIN, () => vi.spyOn(Meter.prototype, 'see').mockImplementation(broken)],
    ['the meter’s decoder', CODED, () => vi.spyOn(Decoder.prototype, 'write').mockImplementation(broken)],
    ['the mask', PLAIN, () => vi.spyOn(SecretMask.prototype, 'write').mockImplementation(broken)],
    [
      'the mask in a pause',
      PLAIN.slice(0, 2),
      () => vi.spyOn(SecretMask.prototype, 'letGo').mockImplementation(broken),
    ],
    ['the mask at the end', PLAIN, () => vi.spyOn(SecretMask.prototype, 'end').mockImplementation(broken)],
    ['the guard of events', STREAM, () => vi.spyOn(EventGuard.prototype, 'write').mockImplementation(broken)],
    ['the guard at the end', STREAM, () => vi.spyOn(EventGuard.prototype, 'end').mockImplementation(broken)],
    [
      'the filter of usage',
      STREAM,
      () => vi.spyOn(UsageFilter.prototype, 'write').mockImplementation(broken),
    ],
    [
      'the search in what is decoded',
      CODED,
      () => vi.spyOn(SecretSearch.prototype, 'scan').mockImplementation(broken),
    ],
    [
      'a write in a pause of a coded answer',
      CODED.slice(0, 2),
      () => vi.spyOn(ServerResponse.prototype, 'write').mockImplementation(broken),
    ],
  ];
  for (const [name, parts, sabotage] of ROWS) {
    it(name, async () => {
      const { ask, ends } = await start({
        secrets: ['sk-canary-fault'],
        hidesUsage: true,
        script: (socket) => sendParts(socket, parts),
      });
      sabotage();
      const reply = await ask().catch(() => null);
      expect(reply === null || reply.status === 502 || !reply.whole).toBe(true);
      expect(ends).toMatchObject([
        { failure: 'internal', fault: { error: { message: 'a fault of the test' } } },
      ]);
    });
  }

  it('the reading of a compressed copy, told at the end', async () => {
    const decoder = new Decoder('gzip', 'ses_1', broken);
    decoder.write(gzipSync('{}'));
    await expect(decoder.end()).rejects.toThrow('a fault of the test');
  });
});

/** A compressed answer in chunks: its trailers stay however they come, and what nobody looked at goes nowhere. */
import { PassThrough } from 'node:stream';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { expect, it, vi } from 'vitest';
import { Secret } from '../../../core-lite/secret.ts';
import { AnswerBody } from '../../../egress/act/answer-body.ts';
import { makeBodyReader } from '../../../egress/http1/body.ts';
import { ByteReader } from '../../../egress/http1/byte-reader.ts';
import { makeLine } from '../../../egress/http1/write-head.ts';
import { Scrubber } from '../../../egress/scrub/scrubber.ts';

const SECRET = 'the-real-secret-value';
const FRAMING = { kind: 'chunked' } as const;

function open(coding: string) {
  const origin = new PassThrough();
  const scrubber = new Scrubber([new Secret(SECRET)], 'e');
  const head = {
    status: 200,
    headers: [makeLine('Content-Type', 'text/plain'), makeLine('Content-Encoding', coding)],
  };
  let sent = '';
  const scrubbed = scrubber.body(head);
  const body = new AnswerBody({
    reader: new ByteReader(origin),
    framing: FRAMING,
    body: makeBodyReader(FRAMING, (line) => line),
    scrubbed,
    shown: { head: { ...head, line: '', minor: 1 }, form: 'chunks', judged: false },
    send: async (bytes) => {
      sent += bytes.toString('latin1');
      return true;
    },
    onHeard: () => {},
  });
  return { origin, body, scrubbed, sent: () => sent };
}

const chunk = (bytes: Buffer) => [
  Buffer.from(`${bytes.length.toString(16)}\r\n`),
  bytes,
  Buffer.from('\r\n'),
];

it.each([
  ['with the last chunk', ['0\r\nX-Sum: 42\r\n\r\n']],
  ['in a read of their own', ['0\r\n', 'X-Sum: 42\r\n\r\n']],
  ['in pieces', ['0\r\nX-S', 'um: 42\r', '\n\r\n']],
])('trailers stay that come %s', async (_how, ends) => {
  const { origin, body, scrubbed, sent } = open('gzip');
  const received = body.receive();
  for (const bytes of [Buffer.concat(chunk(gzipSync('hello'))), ...ends]) {
    origin.write(bytes);
    await new Promise(setImmediate);
  }
  expect(await received).toBe(true);
  expect(sent().endsWith('\r\n0\r\nX-Sum: 42\r\n\r\n')).toBe(true);
  scrubbed.close();
});

it.each(['break', 'end'])('at a %s of the origin, what was not looked at is dropped', async (how) => {
  const noise = Array.from({ length: 30_000 }, (_, i) => String.fromCharCode(33 + ((i * i) % 83))).join('');
  const coded = zstdCompressSync(`${SECRET}${noise}`).subarray(0, -10);
  const { origin, body, scrubbed, sent } = open('zstd');
  const received = body.receive();
  origin.write(Buffer.concat(chunk(coded)));
  await new Promise(setImmediate);
  if (how === 'end') origin.end();
  else origin.destroy();
  expect(await received).toBe(false);
  expect(body.cut).toBeNull();
  expect(sent().length).toBeLessThan(40);
  expect(sent()).not.toContain('the-real');
  scrubbed.close();
});

it('however small its chunks are, what came at once is looked at at once', async () => {
  const { origin, body, scrubbed, sent } = open('gzip');
  const looked = vi.spyOn(scrubbed, 'push');
  const coded = gzipSync(Array.from({ length: 3000 }, (_, i) => `${i * i}`).join(' '));
  const received = body.receive();
  origin.end(
    Buffer.concat([...[...coded].flatMap((byte) => chunk(Buffer.of(byte))), Buffer.from('0\r\n\r\n')]),
  );
  expect(await received).toBe(true);
  expect(looked.mock.calls.length).toBe(1);
  expect(sent()).toBe(`${Buffer.concat(chunk(coded)).toString('latin1')}0\r\n\r\n`);
  scrubbed.close();
});

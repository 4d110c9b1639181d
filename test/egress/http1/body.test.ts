/** Bodies as scripts: bytes in, what goes on and what is left out; cut at every place. */
import { describe, expect, it, vi } from 'vitest';
import { makeBodyReader } from '../../../egress/http1/body.ts';
import type { Framing } from '../../../egress/http1/framing.ts';
import type { HeaderLine } from '../../../egress/http1/head.ts';

/** Feeds `text` in pieces. `null` where the framing is broken. */
function run(
  framing: Framing,
  text: string,
  pieceBytes: number,
  keep: (line: HeaderLine) => boolean = () => true,
) {
  const reader = makeBodyReader(framing, (line) => (keep(line) ? line : null));
  const input = Buffer.from(text, 'latin1');
  let forwarded = '';
  let at = 0;
  while (at < input.length && !reader.done) {
    const step = reader.read(input.subarray(at, at + pieceBytes));
    if (!step) return null;
    forwarded += Buffer.concat(step.forward).toString('latin1');
    at += step.used;
    if (step.used === 0 && !step.done) throw new Error('stands still');
  }
  return { forwarded, rest: input.subarray(at).toString('latin1'), done: reader.done };
}

const chunked: Framing = { kind: 'chunked' };
const PIECES = [1, 2, 3, 5, 7, 64, 10_000];

describe('lengths', () => {
  it.each(PIECES)('takes exactly its bytes, in pieces of %i', (piece) => {
    expect(run({ kind: 'length', bytes: 5 }, 'helloGET /', piece)).toEqual({
      forwarded: 'hello',
      rest: 'GET /',
      done: true,
    });
  });

  it('none takes nothing', () => {
    expect(run({ kind: 'none' }, 'GET /', 3)).toEqual({ forwarded: '', rest: 'GET /', done: true });
  });
});

describe('chunked', () => {
  const BODIES = [
    '0\r\n\r\n',
    '5\r\nhello\r\n0\r\n\r\n',
    '000005\r\nhello\r\n0\r\n\r\n',
    'A;name=value;x="y z"\r\n0123456789\r\n1;\r\nx\r\n00\r\n\r\n',
    '3\r\n\r\n\r\r\n0\r\n\r\n',
    '1\r\n0\r\n5\r\n\r\n0\r\n\r\n\r\n0\r\nT: v\r\nU: w\r\n\r\n',
  ];
  it.each(BODIES.slice(0, 5))('passes %j as it is, whatever the pieces', (body) => {
    for (const piece of PIECES) {
      expect(run(chunked, `${body}NEXT`, piece), `pieces of ${piece}`).toEqual({
        forwarded: body,
        rest: 'NEXT',
        done: true,
      });
    }
  });

  it.each(PIECES)('leaves out trailers that may not pass, in pieces of %i', (piece) => {
    const keep = (line: HeaderLine) => line.name !== 'authorization';
    const body = '2\r\nhi\r\n0\r\nX-Sum: 1\r\nAUTHORIZATION: evil\r\n\r\n';
    expect(run(chunked, `${body}NEXT`, piece, keep)).toEqual({
      forwarded: '2\r\nhi\r\n0\r\nX-Sum: 1\r\n\r\n',
      rest: 'NEXT',
      done: true,
    });
  });

  it('copies nothing for each byte of trailers that come byte by byte', () => {
    const concat = vi.spyOn(Buffer, 'concat');
    const reader = makeBodyReader(chunked, (line) => line);
    for (const byte of Buffer.from(`0\r\nX: ${'y'.repeat(8_000)}`)) reader.read(Buffer.of(byte));
    expect(concat).not.toHaveBeenCalled();
    concat.mockRestore();
    const end = reader.read(Buffer.from('\r\n\r\nNEXT'));
    expect(end).toMatchObject({ done: true, used: 4 });
    expect(String(end?.forward[0])).toBe(`X: ${'y'.repeat(8_000)}\r\n\r\n`);
  });

  it.each([
    ['no size', '\r\nabc\r\n0\r\n\r\n'],
    ['a negative size', '-3\r\nabc\r\n0\r\n\r\n'],
    ['a plus', '+3\r\nabc\r\n0\r\n\r\n'],
    ['a prefix', '0x3\r\nabc\r\n0\r\n\r\n'],
    ['a size that is no number', 'g\r\nabc\r\n0\r\n\r\n'],
    ['a space before the size', ' 3\r\nabc\r\n0\r\n\r\n'],
    ['a space behind the size', '3 \r\nabc\r\n0\r\n\r\n'],
    ['a size past 52 bits', '10000000000000\r\nabc'],
    ['a size past 64 bits', '10000000000000003\r\nabc'],
    ['a bare LF behind the size', '3\nabc\r\n0\r\n\r\n'],
    ['a bare CR behind the size', '3\rabc\r\n0\r\n\r\n'],
    ['a bare LF in an extension', '3;a\nGET / HTTP/1.1\r\nabc\r\n0\r\n\r\n'],
    ['a control character in an extension', '3;a\0\r\nabc\r\n0\r\n\r\n'],
    ['an endless extension', `3;${'a'.repeat(300)}\r\nabc\r\n0\r\n\r\n`],
    ['data longer than its size', '3\r\nabcd\r\n0\r\n\r\n'],
    ['data without its end', '3\r\nabc0\r\n\r\n'],
    ['a bare LF behind data', '3\r\nabc\n0\r\n\r\n'],
    ['a trailer without a colon', '0\r\nabc\r\n\r\n'],
    ['a folded trailer', '0\r\nX: y\r\n z\r\n\r\n'],
    ['endless trailers', `0\r\n${'X: y\r\n'.repeat(4000)}`],
  ])('refuses %s', (_name, body) => {
    for (const piece of PIECES) expect(run(chunked, body, piece), `pieces of ${piece}`).toBeNull();
  });
});

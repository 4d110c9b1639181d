/** Where a head ends, however its bytes are cut, and how soon what is none is given up. */
import { describe, expect, it } from 'vitest';
import { HeadScanner, type Scan } from '../../../egress/http1/head-scanner.ts';

/** Pushes pieces of `size` bytes until something is known. @returns what, and after how many bytes */
function scan(bytes: Buffer, size: number, scanner = new HeadScanner()): [Scan, number] {
  for (let at = 0; at < bytes.length; at += size) {
    const found = scanner.push(bytes.subarray(at, at + size));
    if (found !== 'more') return [found, Math.min(at + size, bytes.length)];
  }
  return ['more', bytes.length];
}

const HEAD = 'CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\n\r\n';
const SIZES = [1, 2, 3, 7, 100_000] as const;

describe('a whole head', () => {
  it.each(SIZES)('is found in pieces of %i, and what is behind it is kept', (size) => {
    const [found] = scan(Buffer.from(`${HEAD}rest`), size);
    if (typeof found === 'string') throw new TypeError(found);
    expect(found.head.toString()).toBe(HEAD);
    expect('rest'.startsWith(found.rest.toString())).toBe(true);
    if (size > HEAD.length) expect(found.rest.toString()).toBe('rest');
  });

  it.each(SIZES)('is found behind one empty line in pieces of %i', (size) => {
    const [found] = scan(Buffer.from(`\r\n${HEAD}`), size);
    expect(typeof found === 'string' ? found : found.head.toString()).toBe(HEAD);
  });

  it('is found again after the first', () => {
    const scanner = new HeadScanner();
    for (let i = 0; i < 3; i += 1) {
      const [found] = scan(Buffer.from(`\r\n${HEAD}`), 5, scanner);
      expect(typeof found === 'string' ? found : found.head.toString()).toBe(HEAD);
      expect(scanner.begun).toBe(false);
    }
  });

  it.each([
    ['of 200 lines', `GET / HTTP/1.1\r\n${'a: b\r\n'.repeat(200)}\r\n`],
    ['of 64 KiB', `GET / HTTP/1.1\r\na: ${'b'.repeat(64 * 1024 - 23)}\r\n\r\n`],
  ])('may be %s', (_, text) => {
    expect(text.length).toBeLessThanOrEqual(64 * 1024);
    for (const size of [1, 1_000, 100_000]) {
      const [found] = scan(Buffer.from(text), size);
      expect(typeof found === 'string' ? found : found.head.length).toBe(text.length);
    }
  });
});

const NO_HEADS: readonly [name: string, text: string, knownAfter: number][] = [
  ['TLS', '\x16\x03\x01', 1],
  ['a method in lower case', 'connect', 1],
  ['a bare LF', 'GET / HTTP/1.1\nHost: a\n\n', 15],
  ['a bare LF further on', 'GET / HTTP/1.1\r\nHost: a\n\n', 24],
  ['an LF at once', '\n', 1],
  ['two empty lines', '\r\n\r\nGET', 4],
  ['an empty line, then no method', '\r\n get', 3],
  ['201 header lines', `GET / HTTP/1.1\r\n${'a: b\r\n'.repeat(201)}\r\n`, 16 + 201 * 6],
  ['one line without an end', 'A'.repeat(100_000), 64 * 1024 + 1],
  ['one byte more than 64 KiB', `GET / HTTP/1.1\r\na: ${'b'.repeat(64 * 1024 - 22)}\r\n\r\n`, 64 * 1024 + 1],
];

describe('what is no head is given up as soon as it shows', () => {
  it.each(NO_HEADS)('%s', (_, text, knownAfter) => {
    expect(scan(Buffer.from(text, 'latin1'), 1)).toEqual(['malformed', knownAfter]);
    expect(scan(Buffer.from(text, 'latin1'), 1_000_000)[0]).toBe('malformed');
  });
});

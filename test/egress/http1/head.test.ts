/** Heads as tables: what is taken keeps its bytes, what two readers could read differently is no head. */
import { describe, expect, it } from 'vitest';
import { findHeadEnd, parseRequestHead, parseResponseHead } from '../../../egress/http1/head.ts';

const request = (text: string) => parseRequestHead(Buffer.from(`${text}\r\n\r\n`, 'latin1'));
const response = (text: string) => parseResponseHead(Buffer.from(`${text}\r\n\r\n`, 'latin1'));

describe('request heads', () => {
  it('keeps spelling, order and repeats', () => {
    const head = request('GET /a?b=c HTTP/1.1\r\nHOST: x\r\nX-A:  one \r\nx-a:two\r\nEmpty:');
    expect(head?.headers.map((line) => line.raw)).toEqual(['HOST: x', 'X-A:  one ', 'x-a:two', 'Empty:']);
    expect(head?.headers.map((line) => [line.name, line.value])).toEqual([
      ['host', 'x'],
      ['x-a', 'one'],
      ['x-a', 'two'],
      ['empty', ''],
    ]);
  });

  it.each([
    ['GET /\xc3\xa4 HTTP/1.1', '/\xc3\xa4'],
    ['OPTIONS * HTTP/1.0', '*'],
    ['M-SEARCH /x HTTP/1.1', '/x'],
    ['GET //a/../b;c=d?e#f HTTP/1.1', '//a/../b;c=d?e#f'],
  ])('takes %j', (line, target) => {
    expect(request(line)?.target).toBe(target);
  });

  it('obs-text in a value stays, a no-break space is no blank', () => {
    expect(request('GET / HTTP/1.1\r\nX: \xa0\xff\xa0')?.headers[0]?.value).toBe('\xa0\xff\xa0');
  });

  it.each([
    ['no version', 'GET /'],
    ['HTTP/0.9', 'GET / HTTP/0.9'],
    ['HTTP/2.0', 'GET / HTTP/2.0'],
    ['HTTP/1.10', 'GET / HTTP/1.10'],
    ['lower-case version', 'GET / http/1.1'],
    ['two spaces', 'GET  / HTTP/1.1'],
    ['a tab', 'GET\t/ HTTP/1.1'],
    ['space behind', 'GET / HTTP/1.1 '],
    ['space in front', ' GET / HTTP/1.1'],
    ['space in the target', 'GET /a b HTTP/1.1'],
    ['control character in the target', 'GET /\x01 HTTP/1.1'],
    ['DEL in the target', 'GET /\x7f HTTP/1.1'],
    ['method with a colon', 'GE:T / HTTP/1.1'],
    ['method of 65 characters', `${'A'.repeat(65)} / HTTP/1.1`],
    ['a line without a colon', 'GET / HTTP/1.1\r\njusttext'],
    ['space before the colon', 'GET / HTTP/1.1\r\nX : y'],
    ['an empty name', 'GET / HTTP/1.1\r\n: y'],
    ['a folded line', 'GET / HTTP/1.1\r\nX: y\r\n z'],
    ['a first line that is folded', 'GET / HTTP/1.1\r\n X: y'],
    ['bare LF', 'GET / HTTP/1.1\r\nX: y\nZ: z'],
    ['bare CR', 'GET / HTTP/1.1\r\nX: y\rZ: z'],
    ['NUL in a value', 'GET / HTTP/1.1\r\nX: a\0b'],
    ['NUL in a name', 'GET / HTTP/1.1\r\nX\0: a'],
    ['a control character in a value', 'GET / HTTP/1.1\r\nX: a\x0bb'],
    ['obs-text in a name', 'GET / HTTP/1.1\r\nX\xff: a'],
    ['an empty line in the middle', 'GET / HTTP/1.1\r\n\r\nX: y'],
    ['201 headers', `GET / HTTP/1.1${'\r\nX: y'.repeat(201)}`],
  ])('refuses %s', (_name, text) => {
    expect(request(text)).toBeNull();
  });

  it('takes 200 headers', () => {
    expect(request(`GET / HTTP/1.1${'\r\nX: y'.repeat(200)}`)?.headers).toHaveLength(200);
  });
});

describe('response heads', () => {
  it.each([
    ['HTTP/1.1 200 OK', 200],
    ['HTTP/1.0 404 Not  \xff Found', 404],
    ['HTTP/1.1 299 ', 299],
    ['HTTP/1.1 599', 599],
  ])('takes %j', (line, status) => {
    expect(response(line)).toMatchObject({ status, line });
  });

  it.each([
    'HTTP/1.1 099 x',
    'HTTP/1.1 20 x',
    'HTTP/1.1 2000 x',
    'HTTP/1.1  200',
    'HTTP/2 200',
    'ICY 200 OK',
    'HTTP/1.1 200\x01',
    '',
  ])('refuses %j', (line) => {
    expect(response(line)).toBeNull();
  });
});

describe('findHeadEnd', () => {
  it.each([0, 1, 2, 3, 4, 16, 17])('finds an end that came in two pieces, cut at %i', (cut) => {
    const bytes = Buffer.from('GET / HTTP/1.1\r\n\r\nrest');
    expect(findHeadEnd(bytes, cut)).toBe(18);
    expect(findHeadEnd(bytes.subarray(0, 17))).toBe(-1);
  });
});

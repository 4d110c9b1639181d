/** Heads and trailers: values are masked at equal length; names, framing and everything else keep their bytes. */
import { describe, expect, it } from 'vitest';
import { Secret } from '../../../core-lite/secret.ts';
import type { HeaderLine } from '../../../egress/http1/head.ts';
import { UNTOUCHED } from '../../../egress/scrub/body-scrubber.ts';
import { Scrubber } from '../../../egress/scrub/scrubber.ts';

const SECRET = '12345678';
const line = (raw: string): HeaderLine => {
  const [name = '', value = ''] = raw.split(/:(.*)/s);
  return { name: name.toLowerCase(), value: value.trim(), raw };
};

function scrub(raw: readonly string[], first = 'HTTP/1.1 200 OK') {
  const scrubber = new Scrubber([new Secret(SECRET), new Secret('another-one')], 'e');
  const head = scrubber.head({ status: 200, line: first, headers: raw.map(line) });
  return { head, masked: scrubber.masked };
}

describe('a head', () => {
  it('without a form is the very same', () => {
    const scrubber = new Scrubber([new Secret(SECRET)], 'e');
    const head = { status: 200, line: 'HTTP/1.1 200 OK', headers: [line('X-A:  1234567 ')] };
    expect(scrubber.head(head)).toBe(head);
  });

  it('has its values masked, blanks and case kept', () => {
    const { head, masked } = scrub([
      'X-Echo:  key=12345678; x ',
      'location: /?k=%31%32%33%345678',
      'X-B: another-one',
    ]);
    expect(head.headers.map(({ raw }) => raw)).toEqual([
      'X-Echo:  key=********; x ',
      `location: /?k=${'*'.repeat(16)}`,
      'X-B: ***********',
    ]);
    expect(head.headers[0]?.value).toBe('key=********; x');
    expect(masked).toBe(3);
  });

  it('keeps names, and the length and coding of its body', () => {
    const raw = ['X-12345678: y', 'Content-Length: 12345678', 'Transfer-Encoding: 12345678'];
    expect(scrub(raw)).toMatchObject({ head: { headers: raw.map(line) }, masked: 0 });
  });

  it('has its reason phrase masked', () => {
    const { head } = scrub([], 'HTTP/1.1 401 Bad key 12345678');
    expect(head.line).toBe('HTTP/1.1 401 Bad key ********');
  });

  it('of HTTP/2 has no line, and its pseudo-header stays', () => {
    const scrubber = new Scrubber([new Secret(SECRET)], 'e');
    const headers = [{ name: ':status', value: '200', raw: ':status: 200' }, line('x: 12345678')];
    expect(scrubber.head({ status: 200, headers })).toEqual({
      status: 200,
      headers: [headers[0], line('x: ********')],
    });
  });
});

it('a trailer is masked like a header', () => {
  const scrubber = new Scrubber([new Secret(SECRET)], 'e');
  expect(scrubber.line(line('Digest: 12345678'))).toEqual(line('Digest: ********'));
  expect(scrubber.masked).toBe(1);
});

it('without a secret nothing is looked at', () => {
  const scrubber = new Scrubber([], 'e');
  const head = { status: 200, headers: [{ name: 'x', value: 'y', raw: 'X: y' }] };
  expect(scrubber.head(head)).toBe(head);
  expect(scrubber.body(head)).toBe(UNTOUCHED);
});

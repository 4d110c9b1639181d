/** What a plain request may look like, and what of it goes on. */
import { describe, expect, it } from 'vitest';
import { formatTarget } from '../../core-lite/network/target.ts';
import { parseRequestHead } from '../../egress/http1/head.ts';
import { writeRequestHead } from '../../egress/http1/write-head.ts';
import { readPlain } from '../../egress/read-plain.ts';

function read(line: string, headers = 'Host: x\r\n') {
  const head = parseRequestHead(Buffer.from(`${line}\r\n${headers}\r\n`, 'latin1'));
  if (!head) throw new TypeError(line);
  return readPlain(head);
}

const URLS: readonly [url: string, target: string, path: string][] = [
  ['http://a.test/', 'a.test:80', '/'],
  ['http://a.test', 'a.test:80', '/'],
  ['HTTP://A.Test/B', 'a.test:80', '/B'],
  ['http://a.test:8080/x', 'a.test:8080', '/x'],
  ['http://a.test:80/x', 'a.test:80', '/x'],
  ['http://a.test?q=1', 'a.test:80', '/?q=1'],
  ['http://a.test/a//../b;c?d=http://e/', 'a.test:80', '/a//../b;c?d=http://e/'],
  ['http://a.test/\xff%zz', 'a.test:80', '/\xff%zz'],
  ['http://127.0.0.1/', '127.0.0.1:80', '/'],
  ['http://[::1]/', '[::1]:80', '/'],
  ['http://[::1]:8080/', '[::1]:8080', '/'],
];

describe('a URL', () => {
  it.each(URLS)('%s', (url, target, path) => {
    const request = read(`GET ${url} HTTP/1.1`);
    if (typeof request === 'string') throw new TypeError(request);
    expect(formatTarget(request.target)).toBe(target);
    expect(request.originHead.target).toBe(path);
    expect(request.originHead.headers[0]?.raw).toBe(`Host: ${target.replace(/:80$/, '')}`);
  });

  it.each([
    ['/x', 'target_missing'],
    ['*', 'target_missing'],
    ['a.test:80', 'target_missing'],
    ['http:/a.test/', 'target_missing'],
    ['https://a.test/', 'scheme_refused'],
    ['HTTPS://a.test/', 'scheme_refused'],
    ['ftp://a.test/', 'scheme_refused'],
    ['ws://a.test/', 'scheme_refused'],
    ['http+unix://a.test/', 'scheme_refused'],
    ['http://', 'target_malformed'],
    ['http:///x', 'target_malformed'],
    ['http://:80/', 'target_malformed'],
    ['http://a.test:/', 'target_malformed'],
    ['http://a.test:080/', 'target_malformed'],
    ['http://a.test:99999/', 'target_malformed'],
    ['http://user@a.test/', 'target_malformed'],
    ['http://user:pass@a.test/', 'target_malformed'],
    ['http://a.test@127.0.0.1/', 'target_malformed'],
    ['http://a.test\\@b.test/', 'target_malformed'],
    ['http://a.test\\b/', 'target_malformed'],
    ['http://a.test/#b', 'target_malformed'],
    ['http://a.test#@b.test/', 'target_malformed'],
    ['http://a.test./', 'target_malformed'],
    ['http://a%2etest/', 'target_malformed'],
    ['http://\xe4.test/', 'target_malformed'],
  ])('%s is refused: %s', (url, reason) => {
    expect(read(`GET ${url} HTTP/1.1`)).toBe(reason);
  });
});

describe('a head', () => {
  it('goes on with its lines as they came, but for those between client and proxy', () => {
    const request = read(
      'POST http://a.test:8080/x?y HTTP/1.1',
      'X-A:  1 \r\nHost: other.test\r\nx-a: 2\r\nProxy-Authorization: Bearer t\r\nProxy-Connection: keep-alive\r\n' +
        'proxy_authorization: Bearer t\r\nProxy-Foo: 1\r\nConnection: keep-alive, X-Hop\r\nX-Hop: 1\r\nTE: trailers\r\n' +
        'Keep-Alive: 5\r\nUpgrade: websocket\r\nContent-Length: 3\r\nExpect: 100-continue\r\n',
    );
    if (typeof request === 'string') throw new TypeError(request);
    expect(request).toMatchObject({ credential: 'Bearer t', framing: { kind: 'length', bytes: 3 } });
    expect(writeRequestHead(request.originHead).toString('latin1')).toBe(
      'POST /x?y HTTP/1.1\r\nHost: a.test:8080\r\nX-A:  1 \r\nx-a: 2\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n',
    );
  });

  it('of OPTIONS asks for the whole server where it names no path', () => {
    const whole = read('OPTIONS http://a.test HTTP/1.1');
    const path = read('OPTIONS http://a.test/ HTTP/1.1');
    expect(typeof whole === 'string' ? whole : whole.originHead.target).toBe('*');
    expect(typeof path === 'string' ? path : path.originHead.target).toBe('/');
  });

  it.each([
    ['TRACE http://a.test/ HTTP/1.1', 'Host: a.test\r\n', 'method_refused'],
    ['Trace http://a.test/ HTTP/1.1', 'Host: a.test\r\n', 'method_refused'],
    ['GET http://a.test/ HTTP/1.1', '', 'request_malformed'],
    ['GET http://a.test/ HTTP/1.1', 'Host: a\r\nHost: a\r\n', 'request_malformed'],
    ['GET http://a.test/ HTTP/1.0', 'Host: a\r\nHost: a\r\n', 'request_malformed'],
    [
      'GET http://a.test/ HTTP/1.1',
      'Host: a\r\nProxy-Authorization: a\r\nProxy-Authorization: a\r\n',
      'request_malformed',
    ],
    [
      'POST http://a.test/ HTTP/1.1',
      'Host: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n',
      'request_malformed',
    ],
    [
      'POST http://a.test/ HTTP/1.1',
      'Host: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n',
      'request_malformed',
    ],
    ['POST http://a.test/ HTTP/1.1', 'Host: a\r\nContent_Length: 1\r\n', 'request_malformed'],
    ['POST http://a.test/ HTTP/1.0', 'Transfer-Encoding: chunked\r\n', 'request_malformed'],
  ])('%s with %j is refused: %s', (line, headers, reason) => {
    expect(read(line, headers)).toBe(reason);
  });

  it('of HTTP/1.0 needs no Host', () => {
    expect(read('GET http://a.test/ HTTP/1.0', '')).toMatchObject({ credential: undefined });
  });
});

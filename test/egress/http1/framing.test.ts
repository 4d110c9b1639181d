/** Where messages end, as a table; and that nothing ambiguous has an end. */
import { describe, expect, it } from 'vitest';
import { requestFraming, responseFraming } from '../../../egress/http1/framing.ts';
import { parseRequestHead, parseResponseHead } from '../../../egress/http1/head.ts';

const ofRequest = (headers: string, version = '1.1') => {
  const head = parseRequestHead(Buffer.from(`POST / HTTP/${version}\r\n${headers}\r\n\r\n`, 'latin1'));
  return head && requestFraming(head);
};
const ofResponse = (headers: string, status = 200, method = 'GET') => {
  const head = parseResponseHead(Buffer.from(`HTTP/1.1 ${status} x\r\n${headers}\r\n\r\n`, 'latin1'));
  return head && responseFraming(head, method);
};

describe('requests', () => {
  it.each([
    ['X: y', { kind: 'none' }],
    ['Content-Length: 0', { kind: 'length', bytes: 0 }],
    ['content-LENGTH:   12', { kind: 'length', bytes: 12 }],
    ['Content-Length: 999999999999999', { kind: 'length', bytes: 999_999_999_999_999 }],
    ['Transfer-Encoding: chunked', { kind: 'chunked' }],
    ['transfer-encoding: CHUNKED', { kind: 'chunked' }],
  ])('%s', (headers, framing) => {
    expect(ofRequest(headers)).toEqual(framing);
  });

  it.each([
    'Content-Length: 1\r\nTransfer-Encoding: chunked',
    'Transfer-Encoding: chunked\r\nContent-Length: 1',
    'Content-Length: 1\r\nContent-Length: 1',
    'Content-Length: 1\r\nContent-Length: 2',
    'Content-Length: 1, 1',
    'Content-Length: +1',
    'Content-Length: 1\r\ncontent_length: 2',
    'Transfer_Encoding: chunked',
    'Content.Length: 1',
    'Content-Length: 1\r\nContent~Length: 2',
    'Transfer.Encoding: chunked',
    'Host: a\r\nTransfer-Encoding: chunked\r\nTransfer|encoding: x',
    'X-Transfer-Encoding: y\r\nTRANSFER_ENCODING: chunked',
    'HOST_: a\r\nContent_Length: 1',
    'Content-Length: -1',
    'Content-Length: 0x1',
    'Content-Length: 1.0',
    'Content-Length: 1e3',
    'Content-Length:',
    'Content-Length: 9999999999999999',
    'Transfer-Encoding: gzip',
    'Transfer-Encoding: gzip, chunked',
    'Transfer-Encoding: chunked, gzip',
    'Transfer-Encoding: chunked, chunked',
    'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked',
    'Transfer-Encoding: xchunked',
    'Transfer-Encoding: "chunked"',
    'Transfer-Encoding: identity',
    'Transfer-Encoding:',
  ])('refuses %s', (headers) => {
    expect(ofRequest(headers)).toBeNull();
  });

  it('refuses a coding in HTTP/1.0', () => {
    expect(ofRequest('Transfer-Encoding: chunked', '1.0')).toBeNull();
  });
});

describe('an upgrade to a WebSocket', () => {
  const ofUpgrade = (lines: string, upgrade = 'websocket') => {
    const key = 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==';
    const text = `GET / HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: ${upgrade}\r\n${key}\r\n${lines}\r\n\r\n`;
    const head = parseRequestHead(Buffer.from(text, 'latin1'));
    return head && requestFraming(head);
  };

  it.each(['Transfer-Encoding: chunked', 'Content-Length: 10'])('with %s is refused', (line) => {
    expect(ofUpgrade(line)).toBeNull();
    expect(ofUpgrade(line, 'h2c')).not.toBeNull();
  });

  it('may say that it has no body', () => {
    expect(ofUpgrade('Content-Length: 0')).toEqual({ kind: 'length', bytes: 0 });
    expect(ofUpgrade('X: y')).toEqual({ kind: 'none' });
  });
});

describe('responses', () => {
  it.each([
    ['X: y', 200, 'GET', { kind: 'until_close' }],
    ['Content-Length: 5', 200, 'GET', { kind: 'length', bytes: 5 }],
    ['Transfer-Encoding: chunked', 200, 'GET', { kind: 'chunked' }],
    ['Content-Length: 5', 200, 'HEAD', { kind: 'none' }],
    ['Transfer-Encoding: chunked', 200, 'HEAD', { kind: 'none' }],
    ['Content-Length: 5', 304, 'GET', { kind: 'none' }],
    ['X: y', 204, 'GET', { kind: 'none' }],
    ['X: y', 100, 'GET', { kind: 'none' }],
  ])('%s with %i to %s', (headers, status, method, framing) => {
    expect(ofResponse(headers, status, method)).toEqual(framing);
  });

  it.each([
    'Content-Length: 1\r\nTransfer-Encoding: chunked',
    'Content-Length: 1\r\nContent-Length: 2',
    'Content-Length: x',
  ])('refuses %s, even where there is no content', (headers) => {
    expect(ofResponse(headers)).toBeNull();
    expect(ofResponse(headers, 204)).toBeNull();
    expect(ofResponse(headers, 200, 'HEAD')).toBeNull();
  });
});

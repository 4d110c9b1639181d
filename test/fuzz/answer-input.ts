/** What a hostile origin might answer, more or less odd. */
import fc from 'fast-check';
import { type Mutation, mutate, mutations } from './mutate.ts';

export interface AnswerInput {
  readonly method: 'GET' | 'HEAD' | 'POST';
  readonly version: 'HTTP/1.1' | 'HTTP/1.0';
  readonly heads: readonly AnswerHead[];
  readonly content: string;
  readonly changes: readonly Mutation[];
}

interface AnswerHead {
  readonly version: string;
  readonly status: string;
  readonly headers: readonly string[];
}

export function answerInputs(): fc.Arbitrary<AnswerInput> {
  return fc.record({
    method: fc.constantFrom('GET', 'GET', 'GET', 'HEAD', 'POST'),
    version: fc.constantFrom('HTTP/1.1', 'HTTP/1.1', 'HTTP/1.1', 'HTTP/1.0'),
    heads: fc.oneof(
      { weight: 6, arbitrary: fc.array(head(), { minLength: 1, maxLength: 1 }) },
      { weight: 1, arbitrary: fc.array(head(), { maxLength: 4 }) },
    ),
    content: fc.oneof(fc.constantFrom(...CONTENTS), fc.string({ maxLength: 40 })),
    changes: mutations(),
  });
}

/** @param secret what an origin may echo */
export function renderAnswer({ heads, content, changes }: AnswerInput, secret: string): Buffer {
  const text = heads
    .map(({ version, status, headers }) => [`${version} ${status}`, ...headers, '', ''].join('\r\n'))
    .join('');
  return mutate(Buffer.from(text.replaceAll('SECRET', secret) + content, 'latin1'), changes);
}

function head(): fc.Arbitrary<AnswerHead> {
  return fc.record({
    version: mostly('HTTP/1.1', ['HTTP/1.0', 'HTTP/2.0', 'HTTP/1.2', 'http/1.1', 'ICY', '']),
    status: mostly('200 OK', STATUSES),
    headers: fc
      .tuple(mostly('Content-Length: 5', FRAMINGS), fc.array(fc.constantFrom(...HEADERS), { maxLength: 3 }))
      .map(([framing, more]) => [framing, ...more]),
  });
}

function mostly(usual: string, odd: readonly string[]): fc.Arbitrary<string> {
  return fc.oneof(
    { weight: 3, arbitrary: fc.constant(usual) },
    { weight: 1, arbitrary: fc.constantFrom(...odd) },
  );
}

const STATUSES = [
  '100 Continue',
  '101 Switching Protocols',
  '102 Processing',
  '103 Early Hints',
  '199 x',
  '204 No Content',
  '206 Partial Content',
  '304 Not Modified',
  '200',
  '200 ',
  '407 Proxy Authentication Required',
  '0200 OK',
  '99 x',
  '600 x',
  '999 x',
  '2OO OK',
  '-200 OK',
  '',
];
const FRAMINGS = [
  'Content-Length: 0',
  'Content-Length: 4',
  'Content-Length: 500',
  'Content-Length: 05',
  'Content-Length: +5',
  'Content-Length: 5, 5',
  'Content-Length: 5\r\nContent-Length: 5',
  'Content-Length: 5\r\nContent-Length: 4',
  'Content-Length: 99999999999999999999',
  'Content-Length:',
  'Content_Length: 4',
  'Transfer-Encoding: chunked',
  'Transfer-Encoding: chunked\r\nContent-Length: 5',
  'Transfer-Encoding: gzip, chunked',
  'Transfer-Encoding: identity',
  'Transfer-Encoding: xchunked',
  'Transfer-Encoding:\x0bchunked',
  'Transfer-Encoding : chunked',
  'Connection: close',
  'X-None: 1',
];
const HEADERS = [
  'X-Echo: SECRET',
  'X-Echo: Bearer SECRET',
  'Content-Type: text/plain',
  'Content-Type: text/event-stream',
  'Content-Encoding: gzip',
  'Content-Encoding: br',
  'Content-Range: bytes 0-4/9',
  'Connection: close',
  'Connection: keep-alive, X-A',
  'Connection: upgrade',
  'Upgrade: websocket',
  'Keep-Alive: timeout=5',
  'Proxy-Authenticate: Basic realm="x"',
  'Proxy-Connection: close',
  'Trailer: X-Sum',
  'Set-Cookie: a=b',
  'set-cookie: c=d',
  'Sallyport-Reason: host_denied',
  'Alt-Svc: h2="canary.test:443"',
  ' folded',
  'nocolon',
  ': none',
  'X-A : b',
  'X-A: b\0c',
  `X-Long: ${'a'.repeat(70_000)}`,
];
const CONTENTS = [
  'hello',
  'hello',
  'hell',
  'hello!',
  '',
  '5\r\nhello\r\n0\r\n\r\n',
  '5;a=b\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n',
  '5\r\nhello\r\n0\r\nContent-Length: 3\r\nSet-Cookie: a\r\n\r\n',
  '5\r\nhello\n0\n\n',
  'fffffffffffffffff\r\nhello',
  '-5\r\nhello\r\n0\r\n\r\n',
  '5\r\nhelloHTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison',
  'helloHTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison',
  '0\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison',
  '\x1f\x8b\x08\0\0\0\0\0\0\x03',
];

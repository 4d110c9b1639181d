/** What a client inside an interception might send: requests, more or less odd, one behind the other. */
import fc from 'fast-check';
import { cuts, type Mutation, mutate, mutations } from './mutate.ts';

export interface ExchangeInput {
  readonly requests: readonly RequestInput[];
  readonly changes: readonly Mutation[];
  readonly cuts: readonly number[];
  readonly leaving: 'finish' | 'reset';
}

interface RequestInput {
  readonly method: string;
  readonly target: string;
  readonly version: string;
  readonly host: string;
  readonly headers: readonly string[];
  readonly content: string;
}

export function exchangeInputs(): fc.Arbitrary<ExchangeInput> {
  return fc.record({
    requests: fc.array(requests(), { minLength: 1, maxLength: 4 }),
    changes: mutations(),
    cuts: cuts(),
    leaving: fc.oneof(
      { weight: 9, arbitrary: fc.constant<'finish'>('finish') },
      { weight: 1, arbitrary: fc.constant<'reset'>('reset') },
    ),
  });
}

/** @param authority the lane’s `host:port` */
export function renderExchange({ requests: all, changes }: ExchangeInput, authority: string): Buffer {
  const text = all
    .map(({ method, target, version, host, headers, content }) =>
      [`${method} ${target} ${version}`, ...(host === '' ? [] : [host]), ...headers, content].join('\r\n'),
    )
    .join('');
  return mutate(Buffer.from(text.replaceAll('AUTHORITY', authority), 'latin1'), changes);
}

/** Whether nothing in it is odd: then all of it has to pass. */
export function isPlain({ requests: all, changes, leaving }: ExchangeInput): boolean {
  const plain = (request: RequestInput): boolean =>
    ['GET', 'HEAD', 'POST', 'DELETE'].includes(request.method) &&
    PLAIN_TARGETS.has(request.target) &&
    request.version === 'HTTP/1.1' &&
    request.host === 'Host: AUTHORITY' &&
    request.headers.length === 0 &&
    PLAIN_CONTENTS.includes(request.content);
  return leaving === 'finish' && changes.length === 0 && all.every(plain);
}

function requests(): fc.Arbitrary<RequestInput> {
  return fc.record({
    method: fc.oneof(
      { weight: 8, arbitrary: fc.constantFrom('GET', 'POST', 'HEAD', 'DELETE') },
      { weight: 1, arbitrary: fc.constantFrom(...METHODS) },
    ),
    target: mostly('/a', TARGETS),
    version: mostly('HTTP/1.1', ['HTTP/1.0', 'HTTP/2.0', 'HTTP/1.2', 'HTTP/1.1 ', 'http/1.1', '']),
    host: mostly('Host: AUTHORITY', HOSTS),
    headers: fc.oneof(
      { weight: 2, arbitrary: fc.constant([]) },
      { weight: 1, arbitrary: fc.array(fc.constantFrom(...HEADERS), { minLength: 1, maxLength: 4 }) },
    ),
    content: fc.oneof(
      { weight: 3, arbitrary: fc.constantFrom(...PLAIN_CONTENTS) },
      { weight: 1, arbitrary: fc.constantFrom(...CONTENTS) },
    ),
  });
}

function mostly(usual: string, odd: readonly string[]): fc.Arbitrary<string> {
  return fc.oneof(
    { weight: 10, arbitrary: fc.constant(usual) },
    { weight: 1, arbitrary: fc.constantFrom(...odd) },
  );
}

const METHODS = ['OPTIONS', 'PUT', 'PATCH', 'TRACE', 'CONNECT', 'trace', 'PRI', 'X-ODD', 'get', 'GE T', ''];
const TARGETS = [
  '/b?c=d',
  '//a/../b;c',
  '/%2e%2e/',
  '*',
  'https://AUTHORITY/a',
  'https://canary.test/a',
  'http://canary.test/',
  '//canary.test/',
  'canary.test:443',
  '@canary.test',
  '/a b',
  '/a\tb',
  '/\x80\xff',
  '/a#b',
  '/\\',
  '?',
  '',
  '/AUTHORITY',
  `/${'a'.repeat(9_000)}`,
];
const PLAIN_TARGETS: ReadonlySet<string> = new Set(['/a', '/b?c=d', '//a/../b;c', '/%2e%2e/', '/AUTHORITY']);
const HOSTS = [
  '',
  'Host: canary.test',
  'Host: AUTHORITY\r\nHost: AUTHORITY',
  'Host: AUTHORITY\r\nHost: canary.test',
  'Host : AUTHORITY',
  'HOST: AUTHORITY',
  'Host: AUTHORITY, canary.test',
  'Host:\tAUTHORITY ',
  'Host: a@AUTHORITY',
  'Host: AUTHORITY/',
  'Host: AUTHORITY.',
  ' Host: AUTHORITY',
  'Host: AUTHORITY\r\nX-Forwarded-Host: canary.test',
  'Host: AUTHORITY\r\n canary.test',
  'Host:',
  'Host_: AUTHORITY',
];
const HEADERS = [
  'Authorization: Bearer evil',
  'authorization: evil',
  'Authorization : evil',
  'AUTHORIZATION:evil',
  'Authorization_: evil',
  'Connection: close',
  'Connection: keep-alive',
  'Connection: Authorization, Host, X-A',
  'Connection: Content-Length, Transfer-Encoding',
  'Proxy-Authorization: evil',
  'Proxy-Connection: close',
  'Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMA',
  'Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: AAAA\r\nSec-WebSocket-Version: 13',
  'Expect: 100-continue',
  'Expect: nothing',
  'TE: trailers',
  'TE: chunked',
  'Trailer: X-Sum',
  'X-A: b',
  'x-a: \xe9\x80',
  'X-A: b\0c',
  'X-A: b\x0bc',
  'X-A:',
  ': x',
  'nocolon',
  ' folded: x',
  '\tfolded',
  'X A: b',
  'X-A\x80: b',
  'Range: bytes=0-1',
  'Cookie: a=b',
  'Content-Type: text/plain',
  'Keep-Alive: timeout=5',
  `X-Long: ${'a'.repeat(9_000)}`,
  'X-HTTP-Method-Override: TRACE',
  'Content_Length: 3',
  'Transfer_Encoding: chunked',
  'Content-Length : 3',
];
/** What stands behind the headers, with the lines that frame it. */
const PLAIN_CONTENTS = [
  '\r\n',
  '\r\n',
  '\r\n',
  'Content-Length: 0\r\n\r\n',
  'Content-Length: 5\r\n\r\nhello',
  'Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  'Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n1;a=b\r\n!\r\n0\r\nX-Sum: 1\r\n\r\n',
];
const SMUGGLED = 'GET /smuggled HTTP/1.1\r\nHost: AUTHORITY\r\n\r\n';
const CONTENTS = [
  `Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${SMUGGLED}`,
  `Content-Length: 0\r\nContent-Length: 44\r\n\r\n${SMUGGLED}`,
  'Content-Length: 5, 5\r\n\r\nhello',
  'Content-Length: +5\r\n\r\nhello',
  'Content-Length: 0x5\r\n\r\nhello',
  'Content-Length: 5 \r\n\r\nhello',
  'Content-Length: 00005\r\n\r\nhello',
  'Content-Length: 99999999999999999999\r\n\r\nhello',
  'Content-Length:\r\n\r\n',
  'Content-Length: 5\r\n\r\nhel',
  `Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n${SMUGGLED}`,
  'Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n',
  'Transfer-Encoding: CHUNKED\r\n\r\n0\r\n\r\n',
  'Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n',
  'Transfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n',
  'Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n',
  `Transfer-Encoding: chunked\r\n\r\n0x5\r\nhello\r\n0\r\n\r\n`,
  `Transfer-Encoding: chunked\r\n\r\n5\nhello\n0\n\n`,
  `Transfer-Encoding: chunked\r\n\r\n-5\r\nhello\r\n0\r\n\r\n`,
  `Transfer-Encoding: chunked\r\n\r\n5;a\nb\r\nhello\r\n0\r\n\r\n`,
  `Transfer-Encoding: chunked\r\n\r\n5\r\nhello0\r\n\r\n`,
  `Transfer-Encoding: chunked\r\n\r\n 5\r\nhello\r\n0\r\n\r\n`,
  `Transfer-Encoding: chunked\r\n\r\n100000000000000005\r\nhello\r\n0\r\n\r\n`,
  `Transfer-Encoding: chunked\r\n\r\n0\r\nAuthorization: evil\r\nHost: canary.test\r\nContent-Length: 5\r\n\r\n`,
  `Transfer-Encoding: chunked\r\n\r\n0\r\nX: a\nGET / HTTP/1.1\r\n\r\n`,
  `Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n`,
  'X: y\n\n\r\n\r\n',
  'X: y\r\rX: z\r\n\r\n',
  '',
  SMUGGLED,
];

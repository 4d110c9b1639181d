/** What a client of the listener might send: heads of CONNECT, more or less odd, and bytes behind them. */
import fc from 'fast-check';
import { basic } from '../support/client.ts';
import { cuts, type Mutation, mutate, mutations } from './mutate.ts';

export interface ConnectInput {
  readonly heads: readonly HeadInput[];
  readonly tail: string;
  readonly changes: readonly Mutation[];
  readonly cuts: readonly number[];
  /** How the client leaves. */
  readonly leaving: 'finish' | 'reset';
}

interface HeadInput {
  readonly method: string;
  readonly target: string;
  readonly version: string;
  readonly headers: readonly string[];
  readonly lineEnd: string;
}

/** `HOST`, `TARGET` and `TOKEN` stand for what only a run knows. */
export function connectInputs(): fc.Arbitrary<ConnectInput> {
  return fc.record({
    heads: fc.array(heads(), { minLength: 1, maxLength: 3 }),
    tail: fc.oneof(fc.constantFrom(...TAILS), fc.string({ maxLength: 40 })),
    changes: mutations(),
    cuts: cuts(),
    leaving: fc.oneof(
      { weight: 7, arbitrary: fc.constant<'finish'>('finish') },
      { weight: 1, arbitrary: fc.constant<'reset'>('reset') },
    ),
  });
}

/** @param target `host:port` of the lane */
export function renderConnect({ heads, tail, changes }: ConnectInput, target: string, token: string): Buffer {
  const text = heads.map(renderHead).join('') + tail;
  const filled = text
    .replaceAll('BASIC', basic(token))
    .replaceAll('TOKEN', token)
    .replaceAll('TARGET', target)
    .replaceAll('HOST', target.replace(/:\d+$/, ''));
  return mutate(Buffer.from(filled, 'latin1'), changes);
}

function renderHead({ method, target, version, headers, lineEnd }: HeadInput): string {
  return [`${method} ${target} ${version}`, ...headers, '', ''].join(lineEnd);
}

function heads(): fc.Arbitrary<HeadInput> {
  const connects = { method: mostly('CONNECT', METHODS), target: mostly('TARGET', TARGETS) };
  const plain = {
    method: mostly('GET', ['POST', 'OPTIONS', 'HEAD', 'TRACE', 'CONNECT', 'get', 'PRI']),
    target: mostly('http://TARGET/a?b', URLS),
  };
  return fc.oneof({ weight: 3, arbitrary: headsOf(connects) }, { weight: 1, arbitrary: headsOf(plain) });
}

function headsOf(first: {
  readonly method: fc.Arbitrary<string>;
  readonly target: fc.Arbitrary<string>;
}): fc.Arbitrary<HeadInput> {
  return fc.record({
    ...first,
    version: mostly('HTTP/1.1', VERSIONS),
    headers: fc
      .tuple(
        mostly('Host: TARGET', HEADERS),
        credentials(),
        fc.array(fc.constantFrom(...HEADERS), { maxLength: 3 }),
      )
      .map(([host, credential, more]) => [host, ...credential, ...more]),
    lineEnd: mostly('\r\n', ['\n', '\r', '\r\r\n', '\n\r']),
  });
}

function credentials(): fc.Arbitrary<readonly string[]> {
  return fc.oneof(
    { weight: 6, arbitrary: fc.constant(['Proxy-Authorization: BASIC']) },
    { weight: 2, arbitrary: fc.constant([]) },
    { weight: 3, arbitrary: fc.constantFrom(...CREDENTIALS).map((line) => [line]) },
  );
}

function mostly(usual: string, odd: readonly string[]): fc.Arbitrary<string> {
  return fc.oneof(
    { weight: 12, arbitrary: fc.constant(usual) },
    { weight: 2, arbitrary: fc.constantFrom(...odd) },
  );
}

const METHODS = [
  'connect',
  'Connect',
  'GET',
  'POST',
  'OPTIONS',
  'TRACE',
  'PRI',
  'CONNECT ',
  ' CONNECT',
  'CONNECTX',
  '',
];
const TARGETS = [
  'HOST',
  'HOST:443',
  'HOST:080',
  'HOST:',
  'HOST.:443',
  '.TARGET',
  'TARGET/',
  'TARGET#',
  '@TARGET',
  'a@TARGET',
  'canary.test:443',
  'canary.test@TARGET',
  'TARGET@canary.test:443',
  'TARGET canary.test:443',
  '127.2.0.1:443',
  '[::1]:443',
  '2130837505:443',
  '0x7f.2.1:443',
  'http://TARGET/',
  'https://TARGET/',
  'http://canary.test/',
  '/',
  '*',
  '//canary.test:443',
  'TARGET,canary.test:443',
  'HOST%2ecanary.test:443',
  'canary.test:443%00.HOST:443',
  'xn--HOST:443',
  'localhost:443',
  '',
];
const URLS = [
  'http://TARGET',
  'http://TARGET/',
  'HTTP://TARGET/a',
  'http://TARGET?a',
  'http://TARGET//canary.test/',
  'http://TARGET/../%2e',
  'http://TARGET/#a',
  'http://TARGET\\@canary.test/',
  'http://canary.test\\@TARGET/',
  'http://a:b@TARGET/',
  'http://TARGET@canary.test/',
  'http://canary.test@TARGET/',
  'http://canary.test/',
  'http://HOST/',
  'http://HOST.:80/',
  'http:TARGET/',
  'http:///TARGET/',
  'http://TARGET:80/',
  'https://TARGET/',
  'ftp://TARGET/',
  'ws://TARGET/',
  'http://127.2.0.1:443/',
  'http://[::1]/',
  'http://TARGET/a b',
  'http://TARGET/\x80',
  '//TARGET/',
  '*',
  '/',
];
const VERSIONS = [
  'HTTP/1.0',
  'HTTP/1.2',
  'HTTP/2.0',
  'HTTP/0.9',
  'HTTP/1.1 ',
  'http/1.1',
  'HTTP/1.1.1',
  'HTTP/01.1',
  '',
];
const CREDENTIALS = [
  'Proxy-Authorization: Bearer TOKEN',
  'proxy-authorization: bearer TOKEN',
  'Proxy-Authorization:BASIC',
  'Proxy-Authorization : BASIC',
  'Proxy_Authorization: BASIC',
  'Authorization: BASIC',
  'Proxy-Authorization: Bearer TOKENx',
  'Proxy-Authorization: Bearer TOKEN TOKEN',
  'Proxy-Authorization: Basic TOKEN',
  'Proxy-Authorization: Digest BASIC',
  'Proxy-Authorization: Basic Og==',
  'Proxy-Authorization:',
  ' Proxy-Authorization: BASIC',
  'Proxy-Authorization: Bearer\r\n TOKEN',
  'Proxy-Authorization: Bearer eyJhbGciOiJub25lIn0.e30.',
  'Proxy-Authorization: BASIC\r\nProxy-Authorization: BASIC',
];
const HEADERS = [
  'Host: canary.test:443',
  'Host: HOST',
  'Host:',
  'host: TARGET',
  'Host: TARGET, canary.test',
  'Content-Length: 0',
  'Content-Length: 5',
  'Content-Length: -1',
  'Transfer-Encoding: chunked',
  'Connection: close',
  'Connection: keep-alive',
  'Connection: upgrade',
  'Proxy-Connection: keep-alive',
  'Upgrade: h2c',
  'Expect: 100-continue',
  'User-Agent: a',
  'X: \t ',
  'X-Empty:',
  ': none',
  'nocolon',
  ' folded',
  'X-Forwarded-Host: canary.test',
  'X-HTTP-Method-Override: GET',
  'TE: trailers',
  `X-Long: ${'a'.repeat(9_000)}`,
];
const TAILS = [
  '',
  'hello',
  '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
  'GET / HTTP/1.1\r\nHost: canary.test\r\n\r\n',
  '\r\n\r\n',
  'CONNECT canary.test:443 HTTP/1.1\r\nHost: canary.test:443\r\nProxy-Authorization: BASIC\r\n\r\n',
  '\0\0\0\0',
  '5\r\nhello\r\n0\r\n\r\n',
  'GET http://TARGET/next HTTP/1.1\r\nHost: TARGET\r\nProxy-Authorization: BASIC\r\n\r\n',
];

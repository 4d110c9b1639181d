/** What providers do to connections, framings, codings and heads, and how they say no. */
import { brotliCompressSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { answers, type Behaviour, type ExpectedRow, KEY, openStream } from './behaviour.ts';
import { BROKEN, DONE, HELLO, PAID, says } from './openai.ts';

const BODY = '{"id":"c","choices":[],"usage":{"prompt_tokens":100,"completion_tokens":20}}';
const EVENTS = `${HELLO}data: {"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":20}}\n\n${DONE}`;
const STREAM = { more: { stream: true, stream_options: { include_usage: true } } };
const FAILED = { outcome: 'provider_failed', tokens: 'presumed' } as const;
const DIED = { outcome: 'provider_died', tokens: 'presumed' } as const;
/** Nothing is charged for an error that was answered instead. */
const NO: ExpectedRow = { outcome: 'provider_error' };
const OK = { status: 200 };

function row(
  name: string,
  script: Behaviour['script'],
  expected: ExpectedRow = PAID,
  client: Behaviour['client'] = OK,
  ask: Behaviour['ask'] = {},
): Behaviour {
  return { name, dialect: 'openai', ask, script, client, row: expected };
}

const refused = (status: number, reason: string) => ({
  status,
  body: new RegExp(reason),
  headers: { 'sallyport-reason': reason },
});

const JSON_TYPE = 'Content-Type: application/json';
const FRAMINGS: readonly Behaviour[] = [
  row('FIN before an answer', (wire) => wire.fin(), FAILED, refused(502, 'provider_failed')),
  row('RST before an answer', (wire) => wire.reset(), FAILED, refused(502, 'provider_failed')),
  row(
    'RST in the head',
    (wire) => wire.raw('HTTP/1.1 200 OK\r\nX-A: ').reset(),
    FAILED,
    refused(502, 'provider_failed'),
  ),
  row(
    'what is no HTTP',
    (wire) => wire.raw('SSH-2.0-OpenSSH_9.6\r\n').fin(),
    FAILED,
    refused(502, 'provider_failed'),
  ),
  row(
    'a head of 100 KiB',
    (wire) => wire.head('200 OK', `X-Large: ${'x'.repeat(100 * 1024)}`),
    FAILED,
    refused(502, 'provider_failed'),
  ),
  row(
    'two lengths',
    (wire) => wire.head('200 OK', 'Content-Length: 2', 'Content-Length: 9').raw('{}'),
    FAILED,
    refused(502, 'provider_failed'),
  ),
  row(
    'a length that is too long',
    async (wire) => {
      await wire
        .head('200 OK', JSON_TYPE, `Content-Length: ${BODY.length + 9}`)
        .plain(BODY)
        .delivered();
      wire.fin();
    },
    { outcome: 'provider_died', tokens: [100, 20], cost: 0.000325 },
    { status: 200, whole: false },
  ),
  row('a length that is too short', (wire) =>
    wire.head('200 OK', JSON_TYPE, `Content-Length: ${BODY.length}`).plain(BODY).raw('{"more":1}'),
  ),
  row(
    'FIN in a chunked answer',
    async (wire) => {
      await wire.head('200 OK', JSON_TYPE, 'Transfer-Encoding: chunked').chunk(BODY.slice(0, 30)).delivered();
      wire.fin();
    },
    DIED,
    { status: 200, whole: false },
  ),
  row('a chunked answer in odd chunks', async (wire) => {
    wire.head('200 OK', JSON_TYPE, 'Transfer-Encoding: chunked');
    (await wire.chunks(BODY.match(/.{1,7}/g) ?? [])).last();
  }),
  row(
    'trailers',
    (wire) =>
      wire
        .head('200 OK', JSON_TYPE, 'Trailer: X-T', 'Transfer-Encoding: chunked')
        .chunk(BODY)
        .last('X-T: 1\r\n'),
    PAID,
    {
      status: 200,
      headers: { 'x-t': undefined, trailer: undefined },
    },
  ),
  row('an answer that its connection ends', (wire) => wire.head('200 OK', JSON_TYPE).plain(BODY).fin()),
  row('HTTP/1.0', (wire) => wire.raw(`HTTP/1.0 200 OK\r\n${JSON_TYPE}\r\n\r\n`).plain(BODY).fin()),
  row(
    'a stream that its connection ends',
    (wire) => wire.head('200 OK', 'Content-Type: text/event-stream').plain(EVENTS).fin(),
    PAID,
    OK,
    STREAM,
  ),
  row(
    'a stream that its connection cuts',
    (wire) => wire.head('200 OK', 'Content-Type: text/event-stream').plain(HELLO).fin(),
    DIED,
    BROKEN,
    STREAM,
  ),
  row('103 before the answer', (wire) =>
    answers('200 OK', BODY)(wire.head('103 Early Hints', 'Link: </x>; rel=preload')),
  ),
  row('102 before the answer', (wire) => answers('200 OK', BODY)(wire.head('102 Processing'))),
  row(
    // undici takes it for a broken answer where no `Expect` went out; none does.
    '100 that nobody waits for',
    (wire) => answers('200 OK', BODY)(wire.head('100 Continue')),
    FAILED,
    refused(502, 'provider_failed'),
  ),
  row(
    'a switch of protocols',
    (wire) => wire.head('101 Switching Protocols', 'Connection: upgrade', 'Upgrade: x'),
    FAILED,
    refused(502, 'provider_failed'),
  ),
];

const CODERS = [
  ['gzip', gzipSync],
  ['br', brotliCompressSync],
  ['zstd', zstdCompressSync],
] as const;
const CODINGS: readonly Behaviour[] = CODERS.flatMap(([coding, compress]) => {
  const line = `Content-Encoding: ${coding}`;
  const headers = { 'content-encoding': coding };
  const problem = compress('{"error":{"message":"no","code":"model_not_found"}}');
  return [
    row(`an answer in ${coding}`, answers('200 OK', compress(BODY), line), PAID, { status: 200, headers }),
    row(`an error in ${coding}`, answers('404 Not Found', problem, line), NO, { status: 404, headers }),
    row(
      `a stream in ${coding}`,
      async (wire) => {
        const pieces = Array.from(compress(EVENTS), (byte) => Buffer.of(byte));
        (await openStream(wire, line).chunks(pieces)).last();
      },
      PAID,
      { status: 200, headers },
      STREAM,
    ),
  ];
});

const LIMITED = '{"error":{"message":"Rate limit reached","type":"requests","code":"rate_limit_exceeded"}}';
const STATUSES: readonly Behaviour[] = [
  row('429 with seconds', answers('429 Too Many Requests', LIMITED, 'Retry-After: 17'), NO, {
    status: 429,
    headers: { 'retry-after': '17' },
  }),
  row(
    '429 with a date',
    answers('429 Too Many Requests', LIMITED, 'Retry-After: Fri, 31 Dec 2027 23:59:59 GMT'),
    NO,
    { status: 429, headers: { 'retry-after': 'Fri, 31 Dec 2027 23:59:59 GMT' } },
  ),
  row(
    '429 with milliseconds',
    answers('429 Slow Down', LIMITED, 'retry-after-ms: 1500', 'x-ratelimit-reset-tokens: 6m0s'),
    NO,
    { status: 429, headers: { 'retry-after-ms': '1500', 'x-ratelimit-reset-tokens': '6m0s' } },
  ),
  row('429 with x-should-retry', answers('429 Too Many Requests', LIMITED, 'x-should-retry: true'), NO, {
    status: 429,
    headers: { 'x-should-retry': 'true', 'sallyport-reason': undefined },
  }),
  row('500', answers('500 Internal Server Error', '{"error":null}'), NO, { status: 500 }),
  row(
    '503 that is a page',
    (wire) =>
      wire
        .head('503 Service Unavailable', 'Content-Type: text/html', 'Retry-After: 3', 'Content-Length: 7')
        .plain('<b>!</b'),
    NO,
    { status: 503, headers: { 'retry-after': '3' } },
  ),
  row('502 without a body', answers('502 Bad Gateway', ''), NO, { status: 502 }),
  row(
    '400 in odd spacing',
    answers('400 Bad Request', '{ "error" : {"message":"maximum context length is 9 \\u0074okens" } }\n'),
    NO,
    { status: 400 },
  ),
  row(
    '401',
    answers('401 Unauthorized', '{"error":{"code":"invalid_api_key"}}', 'WWW-Authenticate: Bearer realm="x"'),
    NO,
    { status: 401, headers: { 'www-authenticate': 'Bearer realm="x"' } },
  ),
  row(
    'a redirect',
    (wire) => wire.head('307 Temporary Redirect', 'Location: https://evil.test/', 'Content-Length: 0'),
    { outcome: 'redirect_refused' },
    refused(502, 'redirect_refused'),
  ),
  row(
    'a redirect to itself',
    (wire) => wire.head('301 Moved Permanently', 'Location: /v1/x', 'Content-Length: 0'),
    { outcome: 'redirect_refused' },
    refused(502, 'redirect_refused'),
  ),
];

const MASKED = '*'.repeat(KEY.length);
const ECHOES: readonly Behaviour[] = [
  row(
    'the key in a header and the phrase',
    answers(`200 OK ${KEY}`, BODY, `X-Echo: Bearer ${KEY}`, `Set-Cookie: k=${KEY}`),
    PAID,
    {
      status: 200,
      headers: { 'x-echo': `Bearer ${MASKED}`, 'set-cookie': undefined },
    },
  ),
  row(
    'the key in an error',
    answers('401 Unauthorized', `{"error":{"message":"Incorrect API key: ${KEY}."}}`),
    NO,
    {
      status: 401,
      body: `{"error":{"message":"Incorrect API key: ${MASKED}."}}`,
    },
  ),
  row(
    'the key in two pieces of a stream',
    async (wire) => {
      const text = says(KEY) + EVENTS;
      const middle = text.indexOf(KEY) + 9;
      (await openStream(wire).chunks([text.slice(0, middle), text.slice(middle)])).last();
    },
    PAID,
    { status: 200, body: says(MASKED) + EVENTS },
    STREAM,
  ),
  row(
    'the key in gzip',
    answers('200 OK', gzipSync(`{"x":"${KEY}",${BODY.slice(1)}`), 'Content-Encoding: gzip'),
    FAILED,
    refused(502, 'provider_failed'),
  ),
];

export const CONNECTION_BEHAVIOURS: readonly Behaviour[] = [...FRAMINGS, ...CODINGS, ...STATUSES, ...ECHOES];

/** Odd calls made from a seed, in every dialect. What is made here passes as it is: nothing in it is a listed change. */
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { Random } from '../random.ts';
import { oddBody, oddStream } from './odd-bodies.ts';
import { cut, type OddAnswer, type OddCall, pick, some } from './odd-call.ts';

export function makeOddCalls(seed: number, count: number): readonly OddCall[] {
  const random = new Random(seed);
  return Array.from({ length: count }, (_, i) => makeOne(random, i));
}

function makeOne(random: Random, nth: number): OddCall {
  const way = pick(random, WAYS);
  const streamed = way.stream !== null && random.below(2) === 0;
  const fields = way.named ? [pick(random, MODELS)] : [];
  if (streamed && way.stream) fields.push(way.stream);
  const text = Buffer.from(oddBody(random, fields));
  const [coding, compress] = pick(random, CODINGS);
  const chunked = random.below(4) === 0 ? { chunked: 1 + random.below(50) } : {};
  return {
    name: `made ${nth}: ${way.path}`,
    path: (streamed && way.streamPath ? way.streamPath : way.path) + pick(random, way.queries ?? QUERIES),
    lines: [...some(random, REQUEST_LINES, 12), ...(coding === '' ? [] : [`Content-Encoding: ${coding}`])],
    body: compress(text),
    ...chunked,
    answer: makeAnswer(random, streamed ? (way.last ?? 'data: [DONE]') : null),
  };
}

/** @param last line of a stream; `null` for what is none */
function makeAnswer(random: Random, last: string | null): OddAnswer {
  const fails = random.below(3) === 0;
  const events = last !== null && !fails;
  const text = Buffer.from(events ? oddStream(random, last) : oddBody(random, []));
  const [coding, compress] = pick(random, CODINGS);
  const type = events
    ? pick(random, [
        'text/event-stream',
        'text/event-stream; charset=utf-8',
        'text/event-stream;charset=UTF-8',
      ])
    : pick(random, [
        'application/json',
        'application/json; charset=utf-8',
        'Text/HTML',
        'application/octet-stream',
      ]);
  return {
    status: pick(random, fails ? FAILURES : ['200 OK', '200 Okay then', '201 Created', '200 ']),
    lines: [
      ...some(random, ANSWER_LINES, 10),
      `${pick(random, ['Content-Type', 'content-type', 'CONTENT-TYPE'])}: ${type}`,
      ...(coding === '' ? [] : [`Content-Encoding: ${coding}`]),
    ],
    pieces: cut(random, compress(text)),
    framing: pick(random, ['length', 'chunked', 'close']),
  };
}

interface Way {
  readonly path: string;
  readonly streamPath?: string;
  /** Whether the body names the model. */
  readonly named: boolean;
  /** What makes a stream of it; `null` where nothing does. */
  readonly stream: string | null;
  readonly queries?: readonly string[];
  /** The line that ends a stream of the dialect. */
  readonly last?: string;
}

const QUERIES = [
  '',
  '',
  '?beta=true',
  '?a=1&a=2&b=%20+&c',
  '?x=%2F%zz',
  '?=&&',
  "?q='!*()",
  '?api-version=2099-01-01',
];
const WAYS: readonly Way[] = [
  {
    path: '/v1/chat/completions',
    named: true,
    stream: '"stream":true,"stream_options" : { "include_usage" :true}',
  },
  { path: '/v1/responses', named: true, stream: '"stream" :true' },
  { path: '/v1/embeddings', named: true, stream: null },
  { path: '/v1/messages', named: true, stream: '"stream": true', last: 'data: {"type":"message_stop"}' },
  { path: '/v1/messages/count_tokens', named: true, stream: null },
  {
    path: '/v1beta/models/m:generateContent',
    streamPath: '/v1beta/models/m:streamGenerateContent',
    named: false,
    stream: '"generationConfig":{"maxOutputTokens" : 100}',
    last: 'data: {"candidates":[{"finishReason":"STOP"}]}',
    queries: ['', '?alt=sse', '?$alt=json%3Benum-encoding%3Dint&x', '?alt=sse&x=%6dedia'],
  },
];
const MODELS = ['"model":"m"', '"model" :\t"m"', '"\\u006dodel":"m"', '"model":"\\u006d"'];
const same = (bytes: Buffer): Buffer => bytes;
const CODINGS: readonly (readonly [string, (bytes: Buffer) => Buffer])[] = [
  ['', same],
  ['', same],
  ['', same],
  ['', same],
  ['identity', same],
  ['gzip', gzipSync],
  ['br', brotliCompressSync],
  ['zstd', zstdCompressSync],
  ['deflate', deflateSync],
];
const REQUEST_LINES = [
  'Accept: */*',
  'accept: application/json',
  'Accept-Encoding: gzip, br;q=0.1',
  'Accept-Language: *',
  'User-Agent: made up/1.0 (x)',
  'anthropic-version: 2099-12-31',
  'Anthropic-Beta: a-beta-of-tomorrow-2031-01-01,other',
  'anthropic-beta: one-more',
  'OpenAI-Beta: responses=v9',
  'OpenAI-Organization: org',
  'openai-project: p',
  'Idempotency-Key: k',
  'x-stainless-retry-count: 0',
  'X-Odd_Name.1: \t spaced  out ',
  'X-Empty:',
  'X-High: \xe9\xff',
  'x-goog-api-client: google-genai-sdk/3',
  'x-goog-user-project: p',
  'x-claude-code-session-id: s',
  'x-codex-turn-metadata: {"session_id":"s"}',
  'traceparent: 00-0-0-00',
  'Content-Type: application/json',
  'content-language: en',
  "!#$%&'*+-.^_`|~: token",
  'X-Forwarded-For: 10.0.0.1',
  'Range: bytes=0-',
  'If-None-Match: "x"',
  'Priority: u=1',
  `x-long: ${'x'.repeat(4000)}`,
];
const ANSWER_LINES = [
  'X-Request-Id: a',
  'x-request-id: b',
  'request-id: r',
  'Server: cloudflare',
  'CF-RAY: 1',
  'Vary: A',
  'vary: b',
  'Date: Thu, 01 Jan 1970 00:00:00 GMT',
  'X-High: \xe9',
  'Alt-Svc: h3=":443"; ma=1',
  'openai-processing-ms: 12',
  'anthropic-ratelimit-requests-remaining: 0',
  'Retry-After: 0',
  'retry-after-ms: 1',
  'x-should-retry: true',
  'ETag: W/"x"',
  'X-Odd_Name.1:  v ',
  'X-Empty:',
  'Cache-Control: no-store',
  'X-Accel-Buffering: no',
  'Strict-Transport-Security: max-age=1',
  'Warning: 199 - "x"',
  'WWW-Authenticate: Bearer',
  'Link: </x>; rel=next',
  'Deprecation: @0',
  `x-long: ${'y'.repeat(4000)}`,
];
const FAILURES = [
  '400 Bad Request',
  '401 Unauthorized',
  '402 Pay',
  '403 No',
  '404 Not Found',
  '409 Conflict',
  '413 Large',
  '422 Unprocessable',
  '429 Too Many Requests',
  '499 Odd',
  '500 Internal',
  '503 Busy',
  '529 ',
  '599 Last',
];

/** Every change that the gates make, one call for each: this is the whole list. */
import { gzipSync } from 'node:zlib';
import type { OddAnswer, OddCall } from './odd-call.ts';

const json = (text: string, ...lines: readonly string[]): OddAnswer => ({
  status: '200 OK',
  lines: ['Content-Type: application/json', ...lines],
  pieces: [Buffer.from(text)],
  framing: 'length',
});
const events = (...pieces: readonly string[]): OddAnswer => ({
  status: '200 OK',
  lines: ['Content-Type: text/event-stream', 'X-A: 1'],
  pieces: pieces.map((piece) => Buffer.from(piece)),
  framing: 'chunked',
});
const OK = json('{ "ok":1 }');
const SAID = 'data: {"choices":[{"delta":{"content":"hi"}}]}\n\n';
const USAGE = 'data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2}}\n\n';
const DONE = 'data: [DONE]\n\n';
const CHAT = '/v1/chat/completions';
const call = (name: string, path: string, body: string, more: Partial<OddCall>): OddCall => ({
  name,
  path,
  lines: [],
  body: Buffer.from(body),
  answer: OK,
  ...more,
});

/** @param key that the gates call with @param token of the caller */
export function listChanges(key: string, token: string): readonly OddCall[] {
  const masked = '*'.repeat(key.length);
  return [
    call('an alias, in the body', CHAT, '{ "x":1.0, "model" : "alias","y":"\\u0061" }', {
      changes: { body: '{ "x":1.0, "model" : "real/one","y":"\\u0061" }' },
    }),
    call('an alias, in the path', '/v1beta/models/alias:generateContent?x=%20', '{ "model":"alias" }', {
      changes: { path: '/v1beta/models/real/one:generateContent?x=%20' },
    }),
    call('an alias, in gzip', CHAT, '', {
      lines: ['X-A: 1', 'Content-Encoding: gzip'],
      body: gzipSync('{"model":"alias" }'),
      changes: { body: '{"model":"real/one" }', requestDrops: ['content-encoding'] },
    }),
    call('a stream that does not ask for its usage', CHAT, '{"model":"m", "stream" : true , "z":1}', {
      lines: ['Accept-Encoding: gzip'],
      answer: events(SAID, USAGE, DONE),
      changes: {
        body: '{"model":"m", "stream" : true,"stream_options":{"include_usage":true} , "z":1}',
        requestDrops: ['accept-encoding'],
        answerBody: SAID + DONE,
      },
    }),
    call(
      'a stream that asks for other options',
      CHAT,
      '{"model":"m","stream":true,"stream_options":{"x":1}}',
      {
        answer: events(SAID, USAGE.slice(0, 9), USAGE.slice(9), DONE),
        changes: {
          body: '{"model":"m","stream":true,"stream_options":{"include_usage":true,"x":1}}',
          answerBody: SAID + DONE,
        },
      },
    ),
    call('ids and retries of a stream', '/v1/messages', '{"model":"m","stream":true}', {
      answer: events('id: 1\nretry: 5\nevent: x\n', 'data: {"id": 1}\n\nid', ': 2\ndata: y\n\n'),
      changes: { answerBody: 'event: x\ndata: {"id": 1}\n\ndata: y\n\n' },
    }),
    call('the key in an answer', CHAT, '{"model":"m"}', {
      answer: json(`{"said":"${key}"}`, `X-Echo: Bearer ${key}`),
      changes: {
        answerBody: `{"said":"${masked}"}`,
        answerLines: { [`X-Echo: Bearer ${key}`]: `X-Echo: Bearer ${masked}` },
      },
    }),
    call('cookies, both ways', CHAT, '{"model":"m"}', {
      lines: ['Cookie: a=1', 'X-A: 1'],
      answer: json('{}', 'Set-Cookie: a=1', 'set-cookie: b=2', 'X-B: 1'),
      changes: { requestDrops: ['cookie'], answerDrops: ['set-cookie'] },
    }),
    call('what belongs to a connection, both ways', CHAT, '{"model":"m"}', {
      lines: ['Connection: x-hop', 'X-Hop: 1', 'TE: trailers', 'Proxy-Connection: x', 'X-A: 1'],
      answer: json('{}', 'Connection: x-hop', 'X-Hop: 1', 'Keep-Alive: timeout=9', 'X-B: 1'),
      changes: {
        requestDrops: ['x-hop', 'te', 'proxy-connection'],
        answerDrops: ['x-hop'],
      },
    }),
    call('other credentials, in any spelling', CHAT, '{"model":"m"}', {
      lines: ['API-Key: x', 'X_Api_Key: y', 'x.goog.api.key: z', 'X-A: 1'],
      changes: { requestDrops: ['api-key', 'x_api_key', 'x.goog.api.key'] },
    }),
    call('the token in other places', `${CHAT}?a=1&b=${token}&c=2`, '{"model":"m"}', {
      lines: [`X-Copy: <${token}>`, 'X-A: 1'],
      changes: { path: `${CHAT}?a=1&c=2`, requestDrops: ['x-copy'] },
    }),
    call('a base version that is left out', '/messages?beta=true', '{"model":"m"}', {
      changes: { path: '/v1/messages?beta=true' },
    }),
    call('Google’s other version', '/v1alpha/models/m:generateContent', '{}', {
      changes: { path: '/v1beta/models/m:generateContent' },
    }),
  ];
}

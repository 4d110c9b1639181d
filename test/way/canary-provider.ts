/**
 * A provider, and a tool, that say the key which they got in every way that is plain, and end their answers in every way
 * there is. The caller's text names the way.
 */
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import type { Asked } from '../support/provider.ts';

/** The key that a provider or tool got. */
export function keyOf(headers: Asked['headers']): string {
  const given = ['x-api-key', 'api-key', 'x-goog-api-key', 'x-tool-key'].map((name) => headers[name]);
  const bare = given.find((value) => value !== undefined);
  return String(bare ?? headers.authorization?.replace(/^Bearer /, ''));
}

/** Does what the caller's text says. */
export function answerCall(asked: Asked, response: ServerResponse, socket: Socket): void {
  const [, say = 'fine'] = /"(?:content|say|text|input)":"(\w+)"/.exec(asked.body.toString()) ?? [];
  ANSWERS[say]?.(response, keyOf(asked.headers), socket);
}

const json = (response: ServerResponse, status: number, body: object, phrase?: string): void => {
  response.writeHead(status, phrase ?? '', { 'content-type': 'application/json' }).end(JSON.stringify(body));
};
const named = (status: number) => (response: ServerResponse, key: string) =>
  json(response, status, {
    error: { message: `Incorrect API key provided: ${key}.`, code: 'invalid_api_key' },
  });
const event = (text: string): string =>
  `data: ${JSON.stringify({ choices: [{ delta: { content: text } }] })}\n\n`;

export const ANSWERS: Readonly<
  Record<string, (response: ServerResponse, key: string, socket: Socket) => void>
> = {
  fine: (response) => json(response, 200, { choices: [] }),
  body: (response, key) => json(response, 200, { choices: [], said: `${key}${key} and ${key}` }),
  401: named(401),
  403: named(403),
  429: named(429),
  500: named(500),
  529: named(529),
  header: (response, key) => {
    response.setHeader('x-echo', `Bearer ${key}`).setHeader('set-cookie', `key=${key}`);
    json(response, 200, { choices: [] });
  },
  phrase: (response, key) => json(response, 400, {}, `No ${key}`),
  split: (response, key) => {
    const text = `${event(`is it ${key}?`)}data: [DONE]\n\n`;
    const middle = text.indexOf(key) + 9;
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(text.slice(0, middle), () => setImmediate(() => response.end(text.slice(middle))));
  },
  die: (response, key, socket) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(event(key) + event(key).slice(0, -9), () => setImmediate(() => socket.destroy()));
  },
  junk: (_response, key, socket) => void socket.end(`${key} is no HTTP\r\n\r\n`),
  redirect: (response, key) =>
    void response.writeHead(307, { location: `https://evil.test/?${key}` }).end(key),
  gzip: (response, key) =>
    void response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(`{"said":"${key}"}`)),
  trailer: (response, key) => {
    response.writeHead(200, { trailer: 'x-key' }).addTrailers({ 'x-key': key });
    response.end('{"choices":[]}');
  },
  early: (response, key) => {
    response.writeEarlyHints({ link: `<https://evil.test/${key}>; rel=preload` });
    json(response, 200, { choices: [] });
  },
  hang: (response, key) => void response.writeHead(200, { 'x-key': key }).write(key),
};

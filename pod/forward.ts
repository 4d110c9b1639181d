/**
 * Hands one HTTP request on and its answer back: the same bytes, head by head and as they come, with backpressure both
 * ways. Only what belongs to a connection is replaced. Nothing is read, kept or tried again here.
 */
import { request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { pipeline } from 'node:stream';
import { type RawHeaders, valuesOf, withoutHeaders } from './headers.ts';

/** Where something listens. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

export interface Onward {
  readonly to: Address;
  /** The request target as it is written. */
  readonly path: string;
  /** Set after the client's own are taken away, which have the same names in lower case or are in `drop`. */
  readonly set: Readonly<Record<string, string>>;
  readonly drop: readonly string[];
  /** Answers the client when nothing came back. */
  readonly unreachable: (response: ServerResponse) => void;
}

export function forward(request: IncomingMessage, response: ServerResponse, onward: Onward): void {
  const upstream = httpRequest({
    ...onward.to,
    method: request.method ?? 'GET',
    path: onward.path,
    headers: onwardHeaders(request.rawHeaders, onward),
    setHost: false,
    // A kept connection may close just when it is used; a new one costs nothing beside a model's answer.
    agent: false,
  });
  upstream.setNoDelay(true);
  // Node would keep the head back until the first byte of a body; `flushHeaders` would write it in UTF-8.
  upstream.write('', 'latin1');
  let answered = false;
  upstream.once('response', (answer) => {
    answered = true;
    answerWith(answer, response);
  });
  upstream.on('error', () => {
    if (!answered) onward.unreachable(response);
  });
  // It may have answered before it had everything: the rest is read, so that the client gets to the answer.
  upstream.once('close', () => request.resume());
  // The caller has gone: whoever answers is told, so that nothing is made for nobody.
  response.once('close', () => {
    if (!response.writableFinished) upstream.destroy();
  });
  request.pipe(upstream);
}

function answerWith(answer: IncomingMessage, response: ServerResponse): void {
  response.sendDate = false;
  response.writeHead(
    answer.statusCode ?? 502,
    answer.statusMessage ?? '',
    withoutHeaders(answer.rawHeaders, HOP_BY_HOP),
  );
  response.write('', 'latin1');
  // One that broke off breaks off here too: a clean end would look like the whole answer.
  pipeline(answer, response, () => {});
}

function onwardHeaders(raw: RawHeaders, { set, drop }: Onward): string[] {
  const gone = new Set([...HOP_BY_HOP, ...drop, ...Object.keys(set).map((name) => name.toLowerCase())]);
  // Kept, so that whoever refuses an upgrade says so in its own words.
  const upgrade = valuesOf(raw, 'upgrade').length > 0 ? ['Connection', 'Upgrade'] : [];
  return [...withoutHeaders(raw, gone), ...Object.entries(set).flat(), ...upgrade];
}

/** Of one connection only (RFC 9110 7.6.1). `Expect` was answered by our own server. */
const HOP_BY_HOP: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'proxy-authorization',
  'expect',
]);

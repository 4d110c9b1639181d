/**
 * One HTTP request to a tool and its whole answer, within limits. It is known whether a byte of the request may have
 * left: where a keyed call has to win its `send` first, nothing is written before that on a connection that stands.
 */
import type { Readable } from 'node:stream';
import { type Dispatcher, errors, type Pool } from 'undici';
import { type Coding, codingOf } from '../codings.ts';
import type { HttpOutcome } from '../http-outcomes.ts';
import { contentCoding, headerValue } from './headers.ts';
import { readFailure } from './provider-failure.ts';

/** What a keyed call asks right before its first byte; `false`: nothing may be written. */
export interface Sender {
  send(): Promise<boolean>;
}

export interface OutgoingRequest {
  readonly method: Dispatcher.HttpMethod;
  /** With its query. */
  readonly path: string;
  /** Name, value, name, value. */
  readonly headers: readonly string[];
  readonly body: Buffer | null;
}

export interface Collected {
  readonly status: number;
  readonly contentType: string;
  /** `null` for a plain body. */
  readonly coding: Coding | null;
  readonly body: Buffer;
}

export interface Broken {
  readonly failure: HttpOutcome;
  /** What may be added to the outcome's text; nothing of the answer's. */
  readonly detail?: string;
}

/** Rejects with the reason of `signal` when that is aborted first, or with what `send` rejects with. */
export function exchange(
  pool: Pool,
  request: OutgoingRequest,
  sender: Sender | null,
  signal: AbortSignal,
): Promise<Collected | Broken> {
  const { promise, resolve, reject } = Promise.withResolvers<Collected | Broken>();
  const collector = new Collector(resolve);
  const fail = (error: unknown): void => {
    // First: what the abort itself tells the collector is no outcome.
    reject(error);
    collector.abort();
  };
  const onAbort = (): void => fail(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  else dispatch(pool, request, collector, () => mayWrite(sender, collector, fail));
  return promise.finally(() => signal.removeEventListener('abort', onAbort));
}

function dispatch(
  pool: Pool,
  { method, path, headers, body }: OutgoingRequest,
  collector: Collector,
  ask: () => Promise<boolean>,
): void {
  const length = body ? ['content-length', String(body.length)] : [];
  // A body that is iterated is first asked for when the connection stands, and the head leaves with its first piece.
  const iterated = writeBody(body, collector, ask);
  const options = {
    method,
    path,
    headers: [...headers, ...length],
    // undici takes one, as its documentation says and its types do not.
    body: iterated as unknown as Readable,
  };
  try {
    pool.dispatch(options, collector);
  } catch {
    collector.end({ failure: 'http.refused' });
  }
}

async function* writeBody(
  body: Buffer | null,
  collector: Collector,
  ask: () => Promise<boolean>,
): AsyncGenerator<Buffer> {
  if (!(await ask())) throw ENDED;
  collector.sent = true;
  if (body && body.length > 0) yield body;
}

async function mayWrite(
  sender: Sender | null,
  collector: Collector,
  fail: (error: unknown) => void,
): Promise<boolean> {
  if (!sender) return !collector.ended;
  try {
    const won = await sender.send();
    if (!won) collector.end({ failure: 'http.stopped' });
    // The connection may have gone, or the call been stopped, while it was asked.
    return won && !collector.ended;
  } catch (error) {
    fail(error);
    return false;
  }
}

class Collector implements Dispatcher.DispatchHandler {
  /** A byte of the request may have left. */
  sent = false;
  /** It is known what came of it. */
  ended = false;
  readonly #settle: (end: Collected | Broken) => void;
  readonly #chunks: Buffer[] = [];
  #controller: Dispatcher.DispatchController | null = null;
  #bytes = 0;
  #status = 0;
  #contentType = '';
  #coding: Coding | null = null;

  constructor(settle: (end: Collected | Broken) => void) {
    this.#settle = settle;
  }

  end(end: Collected | Broken): void {
    this.ended = true;
    this.#settle(end);
  }

  abort(): void {
    this.ended = true;
    this.#controller?.abort(ENDED);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.ended) controller.abort(ENDED);
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number): void {
    if (status < 200 || this.ended) return;
    const raw = (Array.isArray(controller.rawHeaders) ? controller.rawHeaders : []).map(String);
    this.#status = status;
    this.#contentType = headerValue(raw, 'content-type');
    const encoding = contentCoding(raw);
    this.#coding = codingOf(encoding);
    if (status >= 300 && status < 400)
      this.#fail('http.refused', 'it answered with a redirect, which is not followed');
    else if (encoding !== '' && !this.#coding)
      this.#fail('http.invalid-response', 'it is in a coding that is not read here');
    else if (Number(headerValue(raw, 'content-length')) > MAX_ANSWER_BYTES) this.#fail('http.too-large');
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.ended) return;
    this.#bytes += chunk.length;
    if (this.#bytes > MAX_ANSWER_BYTES) this.#fail('http.too-large');
    else this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    const body = Buffer.concat(this.#chunks);
    this.end({ status: this.#status, contentType: this.#contentType, coding: this.#coding, body });
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.end(explain(error, this.sent));
  }

  #fail(failure: HttpOutcome, detail?: string): void {
    this.end({ failure, ...(detail ? { detail } : {}) });
    this.abort();
  }
}

/** Whatever breaks after the first byte may have been executed, but for an answer that came and is no HTTP. */
function explain(error: Error, sent: boolean): Broken {
  if (!sent) {
    const untrusted = readFailure(error) === 'provider_certificate';
    return {
      failure: 'http.unreachable',
      ...(untrusted ? { detail: 'its certificate is not trusted' } : {}),
    };
  }
  if (error instanceof errors.HeadersOverflowError)
    return { failure: 'http.too-large', detail: 'its head is' };
  return GARBLED.some((garbled) => error instanceof garbled)
    ? { failure: 'http.invalid-response', detail: 'it is not HTTP' }
    : { failure: 'http.lost' };
}

const GARBLED = [errors.HTTPParserError, errors.ResponseContentLengthMismatchError];
const ENDED = new Error('the call has ended');
/** As it comes, and decoded. */
export const MAX_ANSWER_BYTES = 1024 * 1024;

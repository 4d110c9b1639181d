/**
 * One message over Streamable HTTP, and all that comes because of it: a transport of the SDK for each, so that whatever
 * breaks is known to be this request's. A stream that breaks off behind an event with an id is taken up again; the
 * request itself is never sent twice.
 */
import { SdkHttpError, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import {
  type Answer,
  isJsonObject,
  isTooDeep,
  type RpcError,
  type RpcMessage,
  type RpcNotification,
  type RpcRequest,
  type RpcResponse,
} from '../messages.ts';
import { type Failed, fail } from './failures.ts';
import { type Fetch, type FetchOptions, pinFetch } from './pinned-fetch.ts';
import { FetchFailure, Trace } from './trace.ts';
import type { WireWay } from './wire.ts';

/** What the message is sent under. */
export interface Link {
  readonly sessionId: string | null;
  readonly protocolVersion: string | null;
}

/** The end of an exchange, and the session that the server began with it. */
export interface Exchanged {
  readonly end: Answer | Failed;
  readonly sessionId: string | null;
}

export async function exchange(
  options: FetchOptions,
  link: Link,
  request: RpcRequest,
  way: WireWay,
): Promise<Exchanged> {
  const trace = new Trace();
  const asking = new Asking(request, trace, way);
  const fetch = pinFetch(options, trace, way.beforeSend);
  const transport = openTransport(options.base, link, fetch, asking.onBreak);
  const onAbort = (): void => asking.settle(fail('stopped', trace.started));
  transport.onmessage = asking.onMessage;
  transport.onerror = asking.onError;
  way.signal.addEventListener('abort', onAbort, { once: true });
  if (way.signal.aborted) onAbort();
  else void send(transport, asking);
  const end = await asking.end;
  way.signal.removeEventListener('abort', onAbort);
  const sessionId = transport.sessionId ?? null;
  // A stream mostly ends right behind its answer, and its connection can be used again then.
  if ('failure' in end || !trace.streams) await transport.close();
  else void linger(asking.streamEnd).then(() => transport.close());
  return { end, sessionId };
}

/** A message that has no answer. @returns why it was not taken, or `null` */
export async function deliver(
  options: FetchOptions,
  link: Link,
  message: RpcNotification | RpcResponse,
  signal: AbortSignal,
): Promise<Failed | null> {
  const trace = new Trace();
  const transport = openTransport(options.base, link, pinFetch(options, trace), () => undefined);
  try {
    await transport.start();
    const leave = (): void => void transport.close();
    signal.addEventListener('abort', leave, { once: true });
    if (signal.aborted) leave();
    await transport.send(toSdk(message)).finally(() => signal.removeEventListener('abort', leave));
    return null;
  } catch {
    return trace.failed ?? statusOf(trace) ?? fail('lost', trace.started);
  } finally {
    // Behind a handshake's last message the transport would open a stream: whoever wants one asks for it.
    await transport.close();
  }
}

async function send(transport: StreamableHTTPClientTransport, asking: Asking): Promise<void> {
  const { request, trace, way } = asking;
  try {
    await transport.start();
    await transport.send(toSdk(request), {
      requestSignal: way.signal,
      onRequestStreamEnd: asking.onStreamEnd,
      ...(way.headers ? { headers: way.headers } : {}),
    });
    if (!trace.streams) asking.onStreamEnd();
  } catch (error) {
    asking.onRejected(error);
  }
}

class Asking {
  readonly request: RpcRequest;
  readonly trace: Trace;
  readonly way: WireWay;
  readonly end: Promise<Answer | Failed>;
  readonly streamEnd: Promise<void>;
  readonly #settle: (end: Answer | Failed) => void;
  readonly #endStream: () => void;
  #open = true;
  /** Something came that nobody could read. */
  #garbled = false;

  constructor(request: RpcRequest, trace: Trace, way: WireWay) {
    const ending = Promise.withResolvers<Answer | Failed>();
    const stream = Promise.withResolvers<void>();
    this.request = request;
    this.trace = trace;
    this.way = way;
    [this.end, this.#settle] = [ending.promise, ending.resolve];
    [this.streamEnd, this.#endStream] = [stream.promise, stream.resolve];
  }

  settle(end: Answer | Failed): void {
    this.#open = false;
    this.#settle(end);
  }

  readonly onMessage = (message: object): void => {
    if (!this.#open) return;
    const said = message as RpcMessage;
    if (isTooDeep(said)) this.settle(fail('malformed', true, 'it is nested too deep'));
    else if ('method' in said) this.way.onMessage(said);
    else if (said.id === this.request.id) this.settle(answerOf(said));
    // On its own stream there is no other request's answer.
    else this.settle(fail('malformed', true, 'it answered another request'));
  };

  readonly onError = (error: Error): void => {
    if (error.name === 'ZodError' || error.name === '$ZodError' || error instanceof SyntaxError)
      this.#garbled = true;
  };

  /** No more comes. */
  readonly onStreamEnd = (): void => {
    this.#endStream();
    this.settle(this.trace.failed ?? fail(this.#garbled || !this.trace.streams ? 'malformed' : 'lost', true));
  };

  /** A stream broke off that can be taken up again. */
  readonly onBreak: OnBreak = (resume, delayMs) => {
    if (!this.#open || this.trace.failed) {
      this.onStreamEnd();
      return undefined;
    }
    const timer = setTimeout(resume, Math.max(MIN_PAUSE_MS, Math.min(delayMs, MAX_PAUSE_MS)));
    return () => clearTimeout(timer);
  };

  onRejected(error: unknown): void {
    const { trace } = this;
    const said = error instanceof SdkHttpError ? readError(error) : null;
    const lost = error instanceof FetchFailure || trace.status === 0;
    if (said && said.id === this.request.id) this.settle({ error: said.error });
    this.settle(
      trace.failed ?? statusOf(trace, said?.error) ?? fail(lost ? 'lost' : 'malformed', trace.started),
    );
  }
}

/** The error in the body of an HTTP error. */
function readError({ data }: SdkHttpError): { readonly id: unknown; readonly error: RpcError } | null {
  const text = data['text'];
  const said = typeof text === 'string' ? parseJson(text) : null;
  if (!isJsonObject(said) || said['jsonrpc'] !== '2.0' || !isJsonObject(said['error'])) return null;
  const { code, message, data: more } = said['error'];
  if (typeof code !== 'number' || typeof message !== 'string') return null;
  return { id: said['id'], error: { code, message, ...(more === undefined ? {} : { data: more }) } };
}

type OnBreak = (resume: () => void, delayMs: number) => (() => void) | undefined;

function openTransport(
  base: URL,
  { sessionId, protocolVersion }: Link,
  fetch: Fetch,
  onBreak: OnBreak,
): StreamableHTTPClientTransport {
  return new StreamableHTTPClientTransport(base, {
    fetch,
    ...(sessionId === null ? {} : { sessionId }),
    ...(protocolVersion === null ? {} : { protocolVersion }),
    reconnectionOptions: RECONNECTION,
    reconnectionScheduler: onBreak,
  });
}

async function linger(ended: Promise<void>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, LINGER_MS).unref();
  await Promise.race([ended, promise]);
  clearTimeout(timer);
}

/** Its types want mutable messages, and changes none that it sends. */
function toSdk(message: RpcMessage): Parameters<StreamableHTTPClientTransport['send']>[0] {
  return message as Parameters<StreamableHTTPClientTransport['send']>[0];
}

function answerOf(said: RpcResponse): Answer {
  return 'result' in said ? { result: said.result } : { error: said.error };
}

/** What a server that answered with an error's status did with the request, nobody knows; below 500 it refused it. */
export function statusOf({ status }: Trace, error: RpcError | null = null): Failed | null {
  if (status < 300) return null;
  return { ...fail('status', status >= 500, `status ${status}`), http: { status, error } };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** A server that closes a stream to be polled says when; else a moment, and a few tries. */
const RECONNECTION = {
  initialReconnectionDelay: 500,
  maxReconnectionDelay: 30_000,
  reconnectionDelayGrowFactor: 2,
  maxRetries: 5,
};
/** Whatever a server says. */
const MIN_PAUSE_MS = 50;
const MAX_PAUSE_MS = 30_000;
const LINGER_MS = 1_000;

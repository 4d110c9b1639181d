/**
 * A server over the transport of 2024-11-05: one stream of events for all that it says, and a POST for each message. Its
 * session lives as long as that stream: when it breaks off, what was asked is lost, and nobody else can take it up.
 */
import { SSEClientTransport, SseError } from '@modelcontextprotocol/client';
import type { Answer, RequestId, RpcMessage, RpcNotification, RpcRequest, RpcResponse } from '../messages.ts';
import { isTooDeep } from '../messages.ts';
import { statusOf } from './exchange.ts';
import { type Failed, fail } from './failures.ts';
import { type Fetch, type FetchOptions, pinFetch } from './pinned-fetch.ts';
import { Trace } from './trace.ts';
import type { Listening, OnMessage, Wire, WireWay } from './wire.ts';

export class SseWire implements Wire {
  readonly #options: FetchOptions;
  readonly #transport: SSEClientTransport;
  /** Of the stream. */
  readonly #trace = new Trace();
  /** What POSTs are made with, by body: the transport does not say which message it sends. */
  readonly #posts = new Map<string, Fetch>();
  readonly #waiting = new Map<RequestId, (answer: Answer | Failed) => void>();
  readonly #listeners = new Set<OnMessage>();
  #protocolVersion: string | null = null;
  #asked = false;
  #over = false;
  readonly sessionId = null;

  constructor(options: FetchOptions) {
    this.#options = options;
    const stream = pinFetch(options, this.#trace);
    this.#transport = new SSEClientTransport(options.base, {
      fetch: (url, init) => {
        const post = this.#posts.get(String(init?.body));
        if (post) return post(url, init);
        // The event source would begin a new session by itself, behind the back of all that was asked in this one.
        if (this.#asked) return Promise.resolve(new Response(null, { status: 204 }));
        this.#asked = true;
        return stream(url, init);
      },
    });
    this.#transport.onmessage = (message) => this.#take(message as RpcMessage);
    // One message that nobody can read is no end.
    this.#transport.onerror = (error) => {
      if (error instanceof SseError) this.#fall();
    };
  }

  get over(): boolean {
    return this.#over;
  }

  get protocolVersion(): string | null {
    return this.#protocolVersion;
  }

  set protocolVersion(version: string | null) {
    this.#protocolVersion = version;
    if (version !== null) this.#transport.setProtocolVersion(version);
  }

  /** @returns why there is no stream, or `null` when there is one */
  async open(signal: AbortSignal): Promise<Failed | null> {
    const { promise: left, reject } = Promise.withResolvers<never>();
    const leave = (): void => reject(signal.reason);
    signal.addEventListener('abort', leave, { once: true });
    try {
      if (signal.aborted) leave();
      await Promise.race([left, this.#transport.start()]);
      return null;
    } catch {
      this.close();
      const { failed } = this.#trace;
      if (signal.aborted) return fail('timeout', false);
      return failed ?? statusOf(this.#trace) ?? fail('malformed', false);
    } finally {
      signal.removeEventListener('abort', leave);
    }
  }

  async ask(request: RpcRequest, way: WireWay): Promise<Answer | Failed> {
    const { promise: answer, resolve } = Promise.withResolvers<Answer | Failed>();
    const trace = new Trace();
    const onAbort = (): void => resolve(fail('stopped', trace.started));
    this.#waiting.set(request.id, resolve);
    way.signal.addEventListener('abort', onAbort, { once: true });
    try {
      // Some servers hold the POST until they have answered on the stream.
      const posted = this.#post(request, trace, way);
      return await Promise.race([answer, posted.then((untold) => untold ?? answer)]);
    } finally {
      this.#waiting.delete(request.id);
      way.signal.removeEventListener('abort', onAbort);
    }
  }

  tell(message: RpcNotification | RpcResponse, signal: AbortSignal): Promise<Failed | null> {
    return this.#post(message, new Trace(), { signal });
  }

  listen(onMessage: OnMessage): Listening {
    this.#listeners.add(onMessage);
    return { close: () => this.#listeners.delete(onMessage) };
  }

  async end(): Promise<void> {
    this.close();
  }

  close(): void {
    this.#fall();
    void this.#transport.close();
  }

  async #post(
    message: RpcMessage,
    trace: Trace,
    { signal, beforeSend }: Pick<WireWay, 'signal' | 'beforeSend'>,
  ): Promise<Failed | null> {
    if (this.#over) return fail('lost', false);
    if (signal.aborted) return fail('stopped', false);
    const fetch = pinFetch(this.#options, trace, beforeSend);
    const body = JSON.stringify(message);
    this.#posts.set(body, (url, init) => fetch(url, { ...init, signal }));
    try {
      await this.#transport.send(message as Parameters<SSEClientTransport['send']>[0]);
      return null;
    } catch {
      return trace.failed ?? statusOf(trace) ?? fail('lost', trace.started);
    } finally {
      this.#posts.delete(body);
    }
  }

  #take(said: RpcMessage): void {
    if (isTooDeep(said)) {
      this.#fall();
      return;
    }
    if ('method' in said) {
      for (const on of this.#listeners) on(said);
      return;
    }
    this.#waiting.get(said.id)?.('result' in said ? { result: said.result } : { error: said.error });
  }

  #fall(): void {
    if (this.#over) return;
    this.#over = true;
    for (const settle of this.#waiting.values()) settle(this.#trace.failed ?? fail('lost', true));
  }
}

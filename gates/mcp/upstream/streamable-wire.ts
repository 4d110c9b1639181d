/** A server over Streamable HTTP, in either era: an exchange for each message, and a stream for what comes unasked. */
import type { Answer, RpcMessage, RpcNotification, RpcRequest, RpcResponse } from '../messages.ts';
import { deliver, exchange } from './exchange.ts';
import type { Failed } from './failures.ts';
import { ListenStream } from './listen-stream.ts';
import { type FetchOptions, pinFetch } from './pinned-fetch.ts';
import { Trace } from './trace.ts';
import type { Listening, OnMessage, Wire, WireWay } from './wire.ts';

export class StreamableWire implements Wire {
  readonly #options: FetchOptions;
  readonly #streams = new Set<ListenStream>();
  readonly over = false;
  sessionId: string | null;
  protocolVersion: string | null;

  constructor(options: FetchOptions, sessionId: string | null = null, protocolVersion: string | null = null) {
    this.#options = options;
    this.sessionId = sessionId;
    this.protocolVersion = protocolVersion;
  }

  async ask(request: RpcRequest, way: WireWay): Promise<Answer | Failed> {
    const { end, sessionId } = await exchange(this.#options, this, request, way);
    if (request.method === 'initialize') this.sessionId = sessionId;
    return end;
  }

  tell(message: RpcNotification | RpcResponse, signal: AbortSignal): Promise<Failed | null> {
    return deliver(this.#options, this, message, signal);
  }

  listen(onMessage: OnMessage): Listening {
    const stream = new ListenStream(this.#options, this, (message: RpcMessage) => onMessage(message));
    this.#streams.add(stream);
    return {
      close: () => {
        this.#streams.delete(stream);
        stream.close();
      },
    };
  }

  async end(signal: AbortSignal): Promise<void> {
    const { sessionId, protocolVersion } = this;
    this.close();
    if (sessionId === null) return;
    const fetch = pinFetch(this.#options, new Trace());
    const headers = {
      'mcp-session-id': sessionId,
      ...(protocolVersion === null ? {} : { 'mcp-protocol-version': protocolVersion }),
    };
    // A server may not let clients end sessions (405), or have forgotten this one.
    const answer = await fetch(this.#options.base, { method: 'DELETE', headers, signal }).catch(() => null);
    await answer?.body?.cancel().catch(() => {});
  }

  close(): void {
    for (const stream of this.#streams) stream.close();
    this.#streams.clear();
  }
}

/**
 * The stream on which a legacy server says what nobody asked for. Servers that have none answer 405, those that allow one
 * answer 409 to the second: both are left alone. One that breaks off is taken up again, more and more slowly.
 */
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { isTooDeep, type RpcMessage } from '../messages.ts';
import type { Link } from './exchange.ts';
import { type FetchOptions, pinFetch } from './pinned-fetch.ts';
import { Trace } from './trace.ts';

export class ListenStream {
  readonly #trace = new Trace();
  readonly #transport: StreamableHTTPClientTransport;
  #closed = false;

  constructor(
    options: FetchOptions,
    { sessionId, protocolVersion }: Link,
    onMessage: (said: RpcMessage) => void,
  ) {
    this.#transport = new StreamableHTTPClientTransport(options.base, {
      fetch: pinFetch(options, this.#trace),
      ...(sessionId === null ? {} : { sessionId }),
      ...(protocolVersion === null ? {} : { protocolVersion }),
      reconnectionOptions: RECONNECTION,
      reconnectionScheduler: (resume, delayMs) => {
        if (this.#closed || this.#refused) return;
        const timer = setTimeout(resume, Math.max(MIN_PAUSE_MS, Math.min(delayMs, MAX_PAUSE_MS))).unref();
        return () => clearTimeout(timer);
      },
    });
    this.#transport.onmessage = (message) => {
      if (!isTooDeep(message)) onMessage(message as RpcMessage);
    };
    void this.#open();
  }

  close(): void {
    this.#closed = true;
    void this.#transport.close();
  }

  /** For good, as far as this session goes. */
  get #refused(): boolean {
    const { status, failed } = this.#trace;
    return (status >= 400 && status < 500) || (failed !== null && failed.failure !== 'unreachable');
  }

  async #open(): Promise<void> {
    try {
      await this.#transport.start();
      // No id: from now on.
      await this.#transport.resumeStream('');
    } catch {
      // A server that could not give one when it was asked is asked again with the next connection.
    }
  }
}

const RECONNECTION = {
  initialReconnectionDelay: 500,
  maxReconnectionDelay: 30_000,
  reconnectionDelayGrowFactor: 2,
  maxRetries: 100,
};
const MIN_PAUSE_MS = 100;
const MAX_PAUSE_MS = 30_000;

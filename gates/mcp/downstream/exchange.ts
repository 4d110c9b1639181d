/**
 * The answer to one posted message: JSON where the answer is the first that there is to say, else a stream of events
 * that ends with it. It begins as a stream by itself when the answer takes long, so that the client sees that somebody
 * is there. What is said after the client left goes nowhere, unless somebody keeps it.
 */
import type { ServerResponse } from 'node:http';
import type { RpcMessage, RpcResponse } from '../messages.ts';
import { EventStream } from './event-stream.ts';
import type { KeptStream } from './kept-streams.ts';

/** Where the answer of one request goes. */
export type Sink = Pick<Exchange, 'begin' | 'send' | 'finish' | 'abandon'>;

export interface ExchangeOptions {
  /** Beside those of its kind. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Its answer has headers of its own: it never begins by itself, however long it takes. */
  readonly whole?: boolean;
  /** What keeps its events, where a client can take the stream up again. */
  readonly keep?: (() => KeptStream) | null;
}

export class Exchange {
  readonly #response: ServerResponse;
  readonly #options: ExchangeOptions;
  readonly #patience: NodeJS.Timeout | undefined;
  #stream: EventStream | null = null;
  #kept: KeptStream | null = null;
  #ended = false;

  constructor(response: ServerResponse, options: ExchangeOptions = {}) {
    this.#response = response;
    this.#options = options;
    if (!options.whole) this.#patience = setTimeout(() => this.begin(), PATIENCE_MS).unref();
    response.once('close', () => clearTimeout(this.#patience));
  }

  /** Whether it is a stream already: then no status can be given any more. */
  get begun(): boolean {
    return this.#stream !== null;
  }

  send(message: RpcMessage): void {
    if (this.#ended) return;
    this.begin();
    this.#say(message);
  }

  /** The last that is said. @param status of an answer that has not begun */
  finish(message: RpcResponse, status = 200, headers: Readonly<Record<string, string>> = {}): void {
    if (this.#ended) return;
    this.#stop();
    if (this.#stream) {
      this.#say(message);
      this.#close();
      return;
    }
    if (this.#response.destroyed || this.#response.headersSent) return;
    const body = JSON.stringify(message);
    const length = { 'content-length': Buffer.byteLength(body) };
    this.#response.writeHead(status, { ...JSON_HEAD, ...this.#options.headers, ...headers, ...length });
    this.#response.end(body);
  }

  /** Its stream, for someone else to go on with; `null` where the client is gone. */
  handOver(): EventStream | null {
    if (this.#ended) return null;
    this.begin();
    this.#stop();
    return this.#stream;
  }

  /** Ends it without an answer: of a request that its client took back. */
  abandon(): void {
    if (this.#ended) return;
    this.begin();
    this.#stop();
    this.#close();
  }

  #say(message: RpcMessage): void {
    if (this.#kept) this.#kept.add(message);
    else this.#stream?.send(message);
  }

  #close(): void {
    this.#kept?.end();
    this.#stream?.end();
  }

  /** As a stream, before there is anything to say. */
  begin(): void {
    if (this.#stream || this.#ended || this.#response.destroyed || this.#response.headersSent) return;
    clearTimeout(this.#patience);
    this.#stream = new EventStream(this.#response, this.#options.headers);
    this.#kept = this.#options.keep?.() ?? null;
    this.#kept?.attach(this.#stream, this.#response);
  }

  #stop(): void {
    this.#ended = true;
    clearTimeout(this.#patience);
  }
}

const JSON_HEAD = { 'content-type': 'application/json' } as const;
const PATIENCE_MS = 1_000;

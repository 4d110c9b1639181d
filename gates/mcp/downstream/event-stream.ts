/**
 * An answer that is a stream of events: its head, its events, and comments while nothing is said, so that nobody on the
 * way takes it for dead. A reader that is too slow loses the stream: what it has not taken must not grow without bound.
 */
import type { ServerResponse } from 'node:http';
import type { RpcMessage } from '../messages.ts';

export class EventStream {
  readonly #response: ServerResponse;
  readonly #pulse: NodeJS.Timeout;

  /** Sends the head at once. */
  constructor(response: ServerResponse, headers: Readonly<Record<string, string>> = {}) {
    this.#response = response;
    response.writeHead(200, { ...HEAD, ...headers });
    response.flushHeaders();
    this.#pulse = setInterval(() => this.#write(': still here\n\n'), PULSE_MS).unref();
    response.once('close', () => clearInterval(this.#pulse));
  }

  /** @param id by which the stream can be taken up behind this event */
  send(message: RpcMessage, id?: string): void {
    this.#write(`event: message\n${idLine(id)}data: ${JSON.stringify(message)}\n\n`);
  }

  /** An event that says nothing but where the stream stands. */
  prime(id: string, retryMs: number): void {
    this.#write(`${idLine(id)}retry: ${retryMs}\ndata: \n\n`);
  }

  end(): void {
    clearInterval(this.#pulse);
    if (!this.#response.destroyed) this.#response.end();
  }

  #write(text: string): void {
    const response = this.#response;
    if (response.destroyed || response.writableEnded) return;
    if (response.writableLength > MAX_UNREAD_BYTES) response.destroy();
    else response.write(text);
  }
}

function idLine(id: string | undefined): string {
  return id === undefined ? '' : `id: ${id}\n`;
}

const HEAD = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  // Some proxies hold events back otherwise.
  'x-accel-buffering': 'no',
} as const;
/** Idle limits of proxies begin at 60 s. */
const PULSE_MS = 15_000;
/** A result may have 16 MiB. */
const MAX_UNREAD_BYTES = 32 * 1024 * 1024;

/**
 * Reads the answers of a parent proxy and not a byte more: what comes right behind them is the origin's, stays in the
 * socket, and is read by whoever gets it next. Bounded by the caller's counts; ended by the caller's signal.
 */
import type { Socket } from 'node:net';
import { GrowingBuffer } from '../http1/growing-buffer.ts';
import { findHeadEnd } from '../http1/head.ts';

/** `closed`: the parent broke off or ended, or the signal was aborted. */
type NoAnswer = 'closed' | 'too_large';

export class AnswerReader {
  readonly #socket: Socket;
  readonly #signal: AbortSignal;
  readonly #onEvent = () => this.#wake?.();
  #wake: (() => void) | null = null;

  constructor(socket: Socket, signal: AbortSignal) {
    this.#socket = socket;
    this.#signal = signal;
    // One listener for all reads: each new one would be told again of bytes that are not enough.
    for (const event of EVENTS) socket.on(event, this.#onEvent);
    signal.addEventListener('abort', this.#onEvent);
  }

  /** Exactly `count` bytes. */
  async take(count: number): Promise<Buffer | 'closed'> {
    for (;;) {
      const bytes: Buffer | null = this.#socket.read(count);
      // At its end a stream gives what is left, though it is less.
      if (bytes) return bytes.length === count ? bytes : 'closed';
      if (this.#over) return 'closed';
      await this.#more();
    }
  }

  /** A head with its empty line; what is behind it goes back into the socket. */
  async head(maxBytes: number): Promise<Buffer | NoAnswer> {
    const came = new GrowingBuffer();
    for (;;) {
      const chunk: Buffer | null = this.#socket.read();
      if (chunk) {
        const searched = came.length;
        came.push(chunk);
        const { bytes } = came;
        const end = findHeadEnd(bytes, searched);
        if (end > maxBytes || (end < 0 && bytes.length > maxBytes)) return 'too_large';
        if (end >= 0) return this.#cut(bytes, end);
      } else if (this.#over) return 'closed';
      else await this.#more();
    }
  }

  /** Lets go of the socket. */
  close(): void {
    for (const event of EVENTS) this.#socket.removeListener(event, this.#onEvent);
    this.#signal.removeEventListener('abort', this.#onEvent);
  }

  get #over(): boolean {
    return this.#socket.destroyed || this.#socket.readableEnded || this.#signal.aborted;
  }

  #cut(bytes: Buffer, end: number): Buffer {
    if (end < bytes.length) this.#socket.unshift(bytes.subarray(end));
    return bytes.subarray(0, end);
  }

  #more(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = () => {
        this.#wake = null;
        resolve();
      };
    });
  }
}

const EVENTS = ['readable', 'end', 'close'] as const;

/**
 * Pulls bytes out of a socket: as they come, or up to the end of a head. It reads ahead no more than one buffer, so a
 * side that does not read stops the other side's sender.
 */
import type { Duplex } from 'node:stream';
import { HeadGatherer } from './head-gatherer.ts';

/** The figures for a head. */
export const MAX_HEAD_BYTES = 64 * 1024;
export const HEAD_LIMIT_MS = 10_000;

/** `end`: the peer has finished cleanly. `broken`: the connection is gone. */
export type NoBytes = 'end' | 'broken';

export class ByteReader {
  readonly #socket: Duplex;
  readonly #held: Buffer[] = [];
  #heldBytes = 0;
  #ended: NoBytes | null = null;
  #wake: (() => void) | null = null;
  #discarding = false;
  #late = false;

  readonly #onData = (chunk: Buffer): void => this.#take(chunk);
  readonly #onEnd = (): void => this.#finish('end');
  readonly #onBroken = (): void => this.#finish('broken');

  constructor(socket: Duplex) {
    this.#socket = socket;
    socket.on('data', this.#onData);
    socket.on('end', this.#onEnd);
    socket.on('error', this.#onBroken);
    socket.on('close', this.#onBroken);
    // It may have gone before anybody looked.
    if (socket.destroyed) this.#finish('broken');
  }

  /** Whether bytes are there that nobody asked for yet. */
  get hasBytes(): boolean {
    return this.#heldBytes > 0;
  }

  /** How the other side stopped sending; `null` while it may go on. */
  get ended(): NoBytes | null {
    return this.#ended;
  }

  /** The next bytes, whatever number there are. */
  async next(): Promise<Buffer | NoBytes> {
    for (;;) {
      const chunk = this.#held.shift();
      if (chunk) {
        this.#heldBytes -= chunk.length;
        return chunk;
      }
      if (this.#ended) return this.#ended;
      await this.#wait();
    }
  }

  /** Gives bytes back: they come first again. */
  unread(bytes: Buffer): void {
    if (bytes.length === 0) return;
    this.#held.unshift(bytes);
    this.#heldBytes += bytes.length;
  }

  /** Lets go of the socket, and pauses it for whoever reads on. @returns what nobody took */
  release(): Buffer {
    this.#socket.pause();
    this.#socket.off('data', this.#onData).off('end', this.#onEnd);
    this.#socket.off('error', this.#onBroken).off('close', this.#onBroken);
    this.#heldBytes = 0;
    return Buffer.concat(this.#held.splice(0));
  }

  /** Nobody will ask any more: what comes is read and dropped. */
  discard(): void {
    this.#discarding = true;
    this.#held.length = 0;
    this.#heldBytes = 0;
    this.#socket.resume();
  }

  /**
   * A whole head with its empty line; `no_head` where it can be none, or comes too late.
   * @param limitMs from its first byte; `null` for a side that is bounded otherwise
   */
  async head(maxBytes: number, limitMs: number | null): Promise<Buffer | NoBytes | 'no_head'> {
    const gatherer = new HeadGatherer(maxBytes);
    let limit: NodeJS.Timeout | undefined;
    try {
      for (;;) {
        const chunk = await this.next();
        if (typeof chunk === 'string') return this.#late ? 'no_head' : gatherer.begun ? 'broken' : chunk;
        const gathered = gatherer.push(chunk);
        if (gathered === 'no_head') return gathered;
        if (gathered !== 'more') {
          this.unread(gathered.rest);
          return gathered.head;
        }
        // Most heads come in one piece, and need no timer.
        if (limitMs !== null && gatherer.begun) limit ??= setTimeout(() => this.#giveUp(), limitMs);
      }
    } finally {
      clearTimeout(limit);
    }
  }

  #take(chunk: Buffer): void {
    if (this.#discarding) return;
    this.#held.push(chunk);
    this.#heldBytes += chunk.length;
    if (!this.#wake) this.#socket.pause();
    this.#wake?.();
  }

  /** Nobody reads on behind half a head. */
  #giveUp(): void {
    this.#late = true;
    this.#finish('broken');
  }

  #finish(how: NoBytes): void {
    // A close behind a clean end is still a clean end.
    this.#ended ??= how;
    this.#wake?.();
  }

  #wait(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = () => {
        this.#wake = null;
        resolve();
      };
      this.#socket.resume();
    });
  }
}

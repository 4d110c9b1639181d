/**
 * A body as it comes: within its limit, with room taken for every piece before it is kept, never for what its head
 * announces. It may take long, but it holds that room only as long as more of it comes, and more than a trickle.
 */
import type { IncomingMessage } from 'node:http';
import type { NoRoom } from '../body-room.ts';
import { Pieces } from './pieces.ts';

export interface Arriving {
  readonly maxBytes: number;
  /** @param bytes that there are now. @returns why there is no room for them */
  readonly grow: (bytes: number) => NoRoom | null;
  /** Aborted when nobody wants it any more. */
  readonly signal: AbortSignal;
}

/** `broken`: its caller left, or its signal was aborted. */
export type Unreceived = NoRoom | 'body_too_large' | 'body_timeout' | 'broken';

/** Resolves to the whole body, or why it is not read to its end. Never rejects. */
export function receiveBody(request: IncomingMessage, arriving: Arriving): Promise<Buffer | Unreceived> {
  if (request.destroyed || arriving.signal.aborted) return Promise.resolve('broken');
  if (Number(request.headers['content-length'] ?? 0) > arriving.maxBytes) {
    return Promise.resolve('body_too_large');
  }
  return new Receiver(request, arriving).received;
}

class Receiver {
  readonly received: Promise<Buffer | Unreceived>;
  readonly #request: IncomingMessage;
  readonly #arriving: Arriving;
  readonly #settle: (received: Buffer | Unreceived) => void;
  readonly #pieces = new Pieces();
  readonly #timer: NodeJS.Timeout;
  /** How much there was at each of the last looks, the oldest first. */
  readonly #marks = [0];

  constructor(request: IncomingMessage, arriving: Arriving) {
    const { promise, resolve } = Promise.withResolvers<Buffer | Unreceived>();
    this.received = promise;
    this.#settle = resolve;
    this.#request = request;
    this.#arriving = arriving;
    this.#timer = setTimeout(this.#onLook, LOOK_MS);
    arriving.signal.addEventListener('abort', this.#onBreak, { once: true });
    request.on('error', ignore).once('close', this.#onBreak);
    request.once('end', this.#onEnd).on('data', this.#onData);
  }

  readonly #onData = (piece: Buffer): void => {
    const { maxBytes, grow } = this.#arriving;
    const bytes = this.#pieces.bytes + piece.length;
    const refusal = bytes > maxBytes ? 'body_too_large' : grow(bytes);
    if (refusal) {
      this.#finish(refusal);
      return;
    }
    this.#pieces.add(piece);
  };

  /** Nothing is done for the clock when a piece comes: there may be millions. */
  readonly #onLook = (): void => {
    const { bytes } = this.#pieces;
    const late = this.#marks.length === LOOKS && bytes - (this.#marks.shift() ?? 0) < LEAST_BYTES;
    this.#marks.push(bytes);
    if (bytes === 0 || late) this.#finish('body_timeout');
    else this.#timer.refresh();
  };

  readonly #onEnd = (): void => this.#finish(this.#pieces.take());

  readonly #onBreak = (): void => this.#finish('broken');

  /** What still comes of it is dropped as it comes. */
  #finish(received: Buffer | Unreceived): void {
    clearTimeout(this.#timer);
    this.#arriving.signal.removeEventListener('abort', this.#onBreak);
    this.#request.off('close', this.#onBreak).off('end', this.#onEnd).off('data', this.#onData);
    this.#settle(received);
  }
}

const ignore = (): void => {};
/** For its first byte; later ones are counted over so many looks. */
const LOOK_MS = 10_000;
const LOOKS = 3;
/** What must come within them, unless the body ends. */
const LEAST_BYTES = 64 * 1024;

/**
 * A tunnel: opaque bytes both ways, with backpressure, half-close kept. A side that breaks off is broken off at the
 * other: a reset is never shown as a clean end.
 */
import type { Socket } from 'node:net';
import type { EndReason } from '../../core-lite/reasons.ts';
import { reset } from './reset.ts';

export interface TunnelEnd {
  readonly reason: EndReason;
  readonly bytesUp: number;
  readonly bytesDown: number;
}

export interface TunnelOptions {
  readonly client: Socket;
  /** What the client sent right behind its CONNECT. */
  readonly head: Buffer;
  readonly origin: Socket;
  /** Silence in both directions that ends it, milliseconds. */
  readonly idleMs: number;
  /** Aborted when the connection must end; then `stopReason` says why. */
  readonly signal: AbortSignal;
  readonly stopReason: () => EndReason;
}

/** Resolves when both sides are closed; never rejects. */
export function tunnel(options: TunnelOptions): Promise<TunnelEnd> {
  return new Promise((resolve) => new Tunnel(options, resolve).start());
}

class Tunnel {
  readonly #options: TunnelOptions;
  readonly #settle: (end: TunnelEnd) => void;
  readonly #onAbort = () => this.#cut(this.#options.stopReason());
  #reason: EndReason | null = null;
  #open = 2;
  /** What was said to a parent proxy before the tunnel is none of its bytes. */
  readonly #writtenBefore: number;
  readonly #readBefore: number;

  constructor(options: TunnelOptions, settle: (end: TunnelEnd) => void) {
    this.#options = options;
    this.#settle = settle;
    const { origin } = options;
    this.#writtenBefore = origin.bytesWritten;
    this.#readBefore = origin.bytesRead - origin.readableLength;
  }

  start(): void {
    const { client, head, origin, signal } = this.#options;
    this.#watch(client, origin, 'client_closed', 'client_reset');
    this.#watch(origin, client, 'origin_closed', 'origin_reset');
    signal.addEventListener('abort', this.#onAbort, { once: true });
    if (signal.aborted) this.#onAbort();
    if (head.length > 0) origin.write(head);
    client.pipe(origin);
    origin.pipe(client);
  }

  #watch(side: Socket, other: Socket, closed: EndReason, reset: EndReason): void {
    let broken = false;
    side.setTimeout(this.#options.idleMs, () => this.#cut('idle'));
    side.once('end', () => {
      this.#reason ??= closed;
    });
    const onBroken = () => {
      this.#reason ??= reset;
      broken = true;
      // What it sent had ended cleanly, and must not be lost because it does not read to the end.
      if (side.readableEnded) other.destroySoon();
      else breakOff(other);
    };
    side.on('error', onBroken);
    side.once('close', () => {
      // Nothing more will be read from the other side; what was written to it goes out.
      if (!broken && !other.destroyed) other.destroySoon();
      this.#open -= 1;
      if (this.#open === 0) this.#end();
    });
    // It may have gone between the dial and now, when nobody listened.
    if (side.errored) onBroken();
    if (side.destroyed) side.emit('close');
  }

  /** Ends both sides where they stand: neither may take what it got for the whole. */
  #cut(why: EndReason): void {
    this.#reason ??= why;
    reset(this.#options.client);
    reset(this.#options.origin);
  }

  #end(): void {
    const { origin, signal } = this.#options;
    signal.removeEventListener('abort', this.#onAbort);
    this.#settle({
      reason: this.#reason ?? 'client_closed',
      bytesUp: origin.bytesWritten - this.#writtenBefore,
      bytesDown: origin.bytesRead - this.#readBefore,
    });
  }
}

/** What is on its way is written first; then the peer sees a reset. */
function breakOff(socket: Socket): void {
  if (socket.destroyed) return;
  if (socket.writableLength === 0 || socket.writableEnded) reset(socket);
  else socket.write(Buffer.alloc(0), () => reset(socket));
}

/**
 * Stage 7: dials the allowed addresses, and only those: never a name. Happy Eyeballs (RFC 8305): families take turns,
 * the next address is tried when one fails or after 250 ms, the first that answers is taken and the others are dropped.
 */
import { connect, type Socket } from 'node:net';
import type { Allow } from '../../core-lite/decision.ts';
import type { Address } from '../../core-lite/network/address.ts';

export interface Dialled {
  readonly socket: Socket;
  readonly address: Address;
}

/**
 * @param _proof that the target was allowed; without it nothing is dialled
 * @param addresses those that the address decision allowed
 * @returns the first connection, `null` when none could be made in time or `signal` was aborted; never rejects
 */
export function dial(
  _proof: Allow,
  addresses: readonly Address[],
  port: number,
  signal: AbortSignal,
): Promise<Dialled | null> {
  return connectFirst(addresses, port, signal);
}

/** The dial itself. Without a proof only the operator's own parent proxy is dialled, which no target has a say in. */
export function connectFirst(
  addresses: readonly Address[],
  port: number,
  signal: AbortSignal,
): Promise<Dialled | null> {
  return new Promise((resolve) => new Race(interleave(addresses), port, signal, resolve).start());
}

class Race {
  readonly #addresses: Address[];
  readonly #port: number;
  readonly #signal: AbortSignal;
  readonly #settle: (dialled: Dialled | null) => void;
  readonly #running = new Set<Socket>();
  readonly #onAbort = () => this.#finish(null);
  #next: NodeJS.Timeout | undefined;
  #limit: NodeJS.Timeout | undefined;
  #done = false;

  constructor(
    addresses: Address[],
    port: number,
    signal: AbortSignal,
    settle: (dialled: Dialled | null) => void,
  ) {
    this.#addresses = addresses;
    this.#port = port;
    this.#signal = signal;
    this.#settle = settle;
  }

  start(): void {
    if (this.#signal.aborted) {
      this.#finish(null);
      return;
    }
    this.#signal.addEventListener('abort', this.#onAbort, { once: true });
    this.#limit = setTimeout(() => this.#finish(null), DIAL_LIMIT_MS);
    this.#tryNext();
  }

  #tryNext(): void {
    clearTimeout(this.#next);
    const address = this.#addresses.shift();
    if (!address) {
      if (this.#running.size === 0) this.#finish(null);
      return;
    }
    const socket = connect({
      host: address.text,
      port: this.#port,
      allowHalfOpen: true,
      noDelay: true,
      keepAlive: true,
    });
    this.#running.add(socket);
    socket.once('connect', () => this.#finish({ socket, address }));
    socket.on('error', () => this.#lose(socket));
    if (this.#addresses.length > 0) this.#next = setTimeout(() => this.#tryNext(), ATTEMPT_DELAY_MS);
  }

  #lose(socket: Socket): void {
    this.#running.delete(socket);
    if (!this.#done) this.#tryNext();
  }

  #finish(dialled: Dialled | null): void {
    if (this.#done) return;
    this.#done = true;
    clearTimeout(this.#next);
    clearTimeout(this.#limit);
    this.#signal.removeEventListener('abort', this.#onAbort);
    for (const socket of this.#running) if (socket !== dialled?.socket) socket.destroy();
    this.#settle(dialled);
  }
}

/** IPv6 first, then in turns; a small list, so that a name with many dead addresses ends in time. */
function interleave(addresses: readonly Address[]): Address[] {
  const six = addresses.filter((address) => address.family === 6);
  const four = addresses.filter((address) => address.family === 4);
  const mixed = Array.from({ length: Math.max(six.length, four.length) }, (_, i) => [six[i], four[i]]).flat();
  return mixed.filter((address) => address !== undefined).slice(0, MAX_ATTEMPTS);
}

/** The design's figure for the whole dial. */
export const DIAL_LIMIT_MS = 10_000;
/** RFC 8305 section 8: the recommended connection attempt delay. */
const ATTEMPT_DELAY_MS = 250;
const MAX_ATTEMPTS = 16;

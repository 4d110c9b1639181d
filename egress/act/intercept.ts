/**
 * Ends TLS for bound hosts: one server for all of them, fed with the raw sockets of CONNECTs. A leaf is made for the host
 * of the CONNECT and no other; a client that names another in its TLS is refused, so the CA never signs what is asked.
 */
import type { Socket } from 'node:net';
import { createServer, type Server, type TLSSocket } from 'node:tls';
import type { LeafCache } from '../../certs/leaf-cache.ts';

interface Waiting {
  readonly host: string;
  readonly settle: (secured: TLSSocket | null) => void;
}

export class Interceptor {
  readonly #server: Server;
  readonly #leaves: LeafCache;
  /** By the client's address and port, which no two open sockets of a listener share. */
  readonly #waiting = new Map<string, Waiting>();
  readonly #now: () => Date;

  constructor(leaves: LeafCache, now: () => Date) {
    this.#leaves = leaves;
    this.#now = now;
    const interceptor = this;
    this.#server = createServer({
      ...leaves.serverOptions,
      ALPNProtocols: ['http/1.1'],
      handshakeTimeout: HANDSHAKE_LIMIT_MS,
      // A plain function: `this` is the TLS socket, whose peer finds the CONNECT.
      SNICallback(this: TLSSocket, name, done) {
        interceptor.#choose(this, name, done);
      },
    });
    this.#server.on('secureConnection', (secured) => this.#settle(secured, secured));
    this.#server.on('tlsClientError', (_error, secured) => this.#settle(secured, null));
  }

  /**
   * @param head bytes that came right behind the CONNECT
   * @returns the client's side in plain, or `null` where no TLS came to be; never rejects
   */
  accept(socket: Socket, head: Buffer, host: string): Promise<TLSSocket | null> {
    return new Promise((resolve) => {
      const key = peerOf(socket);
      const onClose = () => settle(null);
      const settle = (secured: TLSSocket | null): void => {
        if (!this.#waiting.delete(key)) return;
        socket.removeListener('close', onClose);
        resolve(secured);
      };
      this.#waiting.set(key, { host, settle });
      socket.once('close', onClose);
      if (socket.destroyed) onClose();
      if (head.length > 0) socket.unshift(head);
      this.#server.emit('connection', socket);
    });
  }

  #choose(secured: TLSSocket, name: string, done: Parameters<SniCallback>[1]): void {
    const host = this.#waiting.get(peerOf(secured))?.host;
    if (host === undefined || name.toLowerCase() !== host) {
      done(new Error('the TLS name is not the host of the CONNECT'));
      return;
    }
    try {
      done(null, this.#leaves.contextFor(host, this.#now()));
    } catch (error) {
      done(error as Error);
    }
  }

  #settle(secured: TLSSocket, outcome: TLSSocket | null): void {
    // TLS 1.2 clients could otherwise ask for endless handshakes.
    if (outcome) outcome.disableRenegotiation();
    const waiting = this.#waiting.get(peerOf(secured));
    if (waiting) waiting.settle(outcome);
    else secured.destroy();
  }
}

type SniCallback = NonNullable<import('node:tls').TlsOptions['SNICallback']>;

function peerOf(socket: Socket): string {
  return `${socket.remoteAddress} ${socket.remotePort}`;
}

/** The figure for the first bytes of an interception. */
const HANDSHAKE_LIMIT_MS = 60_000;

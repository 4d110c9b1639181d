/**
 * Ends TLS for bound hosts, with a leaf for the host of the CONNECT and no other: a client that names another in its TLS
 * is refused, and one that names none gets that leaf, so the CA never signs what is asked. Each socket is wrapped by
 * hand: a TLS server would know no leaf for a client without SNI.
 */
import type { Socket } from 'node:net';
import { TLSSocket, type TlsOptions } from 'node:tls';
import type { LeafCache } from '../../certs/leaf-cache.ts';

/** What a client may get. */
export interface ClientTls {
  /** Of the CONNECT. */
  readonly host: string;
  /** Whether the origin speaks HTTP/2; then a client that offers it gets it. */
  readonly http2: boolean;
}

export class Interceptor {
  readonly #leaves: LeafCache;
  readonly #now: () => Date;

  constructor(leaves: LeafCache, now: () => Date) {
    this.#leaves = leaves;
    this.#now = now;
  }

  /**
   * @param head bytes that came right behind the CONNECT
   * @returns the client's side in plain, or `null` where no TLS came to be; rejects where no leaf can be made
   */
  async accept(socket: Socket, head: Buffer, { host, http2 }: ClientTls): Promise<TLSSocket | null> {
    const options: TlsOptions & { isServer: true } = {
      isServer: true,
      // Its versions, suites, ticket keys and the ban on renegotiation are those of `LeafCache`, the same for every host.
      secureContext: this.#leaves.contextFor(host, this.#now()),
      ALPNCallback: ({ protocols }) => chooseProtocol(protocols, http2),
      SNICallback: (name, done) =>
        done(name.toLowerCase() === host ? null : new Error('the TLS name is not the host of the CONNECT')),
    };
    if (head.length > 0) socket.unshift(head);
    return settle(new TLSSocket(socket, options));
  }
}

/** What both have in common, the client's offer only: nothing is translated. `undefined` is an alert. */
function chooseProtocol(offered: readonly string[], http2: boolean): string | undefined {
  if (http2 && offered.includes('h2')) return 'h2';
  return offered.includes('http/1.1') ? 'http/1.1' : undefined;
}

function settle(secured: TLSSocket): Promise<TLSSocket | null> {
  return new Promise((resolve) => {
    const giveUp = () => secured.destroy();
    const limit = setTimeout(giveUp, HANDSHAKE_LIMIT_MS);
    const onClose = () => {
      clearTimeout(limit);
      resolve(null);
    };
    // Stays for the socket's life: an error without a listener would end the process.
    secured.on('error', giveUp);
    secured.once('close', onClose);
    // The sockets are half-open ones: a client that ends here would be waited for.
    secured.once('end', giveUp);
    secured.once('secure', () => {
      clearTimeout(limit);
      secured.removeListener('close', onClose).removeListener('end', giveUp);
      resolve(secured);
    });
  });
}

/** The figure for the first bytes of an interception. */
const HANDSHAKE_LIMIT_MS = 60_000;

/**
 * TLS to an origin, over a connection that was dialled to an allowed address. The certificate is verified against the
 * public roots and the operator's own, for the host of the CONNECT; a failure is never ignored.
 */
import type { Socket } from 'node:net';
import { connect, createSecureContext, rootCertificates, type SecureContext, type TLSSocket } from 'node:tls';

/** Why there is no TLS: the certificate, with the verifier's code, or the handshake. */
export interface InsecureOrigin {
  readonly refusal: 'origin_certificate' | 'connect_failed';
  /** A code such as `CERT_HAS_EXPIRED`; never a text of the origin's. */
  readonly code: string;
}

/** In the order of preference. */
export type Offer = readonly ('h2' | 'http/1.1')[];

export class OriginTls {
  readonly #trust: SecureContext;
  readonly #sessions = new Map<string, Buffer>();

  /** @param extraRoots PEM certificates that origins' certificates may lead to besides the public roots */
  constructor(extraRoots: readonly string[]) {
    // One context for all: parsing the public roots costs some 40 ms.
    this.#trust = createSecureContext({ ca: [...rootCertificates, ...extraRoots], minVersion: 'TLSv1.2' });
  }

  /**
   * @param offer the protocols that the origin may choose from
   * @param scope whose sessions may be resumed: never another environment's
   * @returns the secured socket, or why there is none; never rejects
   */
  secure(
    socket: Socket,
    host: string,
    offer: Offer,
    scope: string,
    signal: AbortSignal,
  ): Promise<TLSSocket | InsecureOrigin> {
    const session = this.#sessions.get(scope);
    const secured = connect({
      socket,
      servername: host,
      secureContext: this.#trust,
      ALPNProtocols: [...offer],
      ...(session ? { session } : {}),
    });
    secured.on('session', (ticket) => this.#remember(scope, ticket));
    return settle(secured, signal);
  }

  #remember(scope: string, ticket: Buffer): void {
    const [oldest] = this.#sessions.keys();
    if (this.#sessions.size >= MAX_SESSIONS && oldest !== undefined) this.#sessions.delete(oldest);
    this.#sessions.delete(scope);
    this.#sessions.set(scope, ticket);
  }
}

function settle(secured: TLSSocket, signal: AbortSignal): Promise<TLSSocket | InsecureOrigin> {
  return new Promise((resolve) => {
    const fail = (code: string): void => {
      done();
      secured.destroy();
      const refusal = CERTIFICATE_CODES.test(code) ? 'origin_certificate' : 'connect_failed';
      resolve({ refusal, code: /^[A-Z0-9_]{1,64}$/.test(code) ? code : 'TLS_FAILED' });
    };
    const onAbort = () => fail('ABORTED');
    const onClose = () => fail('CLOSED');
    const timer = setTimeout(() => fail('TIMEOUT'), HANDSHAKE_LIMIT_MS);
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
      secured.removeListener('close', onClose);
    };
    signal.addEventListener('abort', onAbort, { once: true });
    // Stays for the socket's life: an error without a listener would end the process.
    secured.on('error', (error: NodeJS.ErrnoException) => fail(error.code ?? 'TLS_FAILED'));
    secured.once('close', onClose);
    secured.once('secureConnect', () => {
      done();
      resolve(secured);
    });
    if (signal.aborted) onAbort();
  });
}

/** OpenSSL's verification codes as Node names them, and Node's own for a name that does not match. */
const CERTIFICATE_CODES =
  /^(CERT_|CRL_|DEPTH_ZERO_|ERROR_IN_CERT|ERR_TLS_CERT_|HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH_|SELF_SIGNED_|UNABLE_TO_)/;
const HANDSHAKE_LIMIT_MS = 10_000;
const MAX_SESSIONS = 5_000;

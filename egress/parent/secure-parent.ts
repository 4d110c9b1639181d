/**
 * TLS to an https parent proxy: verified against the public roots and the operator's own, for its name or address. A
 * failure is never ignored, or the login would go to whoever stands there.
 */
import { isIP, type Socket } from 'node:net';
import { connect, createSecureContext, rootCertificates, type SecureContext, type TLSSocket } from 'node:tls';
import { type ParentFailure, parentFailed } from './failure.ts';

/** @param extraRoots PEM certificates that are trusted besides the public roots */
export function trustOf(extraRoots: readonly string[]): SecureContext {
  return createSecureContext({ ca: [...rootCertificates, ...extraRoots], minVersion: 'TLSv1.2' });
}

/** The secured socket, or why there is none; then the caller destroys `socket`. Never rejects. */
export function secureParent(
  socket: Socket,
  host: string,
  trust: SecureContext,
  signal: AbortSignal,
): Promise<TLSSocket | ParentFailure> {
  // `host` is what the certificate is compared with where there is no server name: an address has none (RFC 6066 3).
  const name = isIP(host) === 0 ? { servername: host } : { host };
  const secured = connect({ socket, secureContext: trust, ALPNProtocols: ['http/1.1'], ...name });
  return new Promise((resolve) => {
    const settle = (result: TLSSocket | ParentFailure): void => {
      signal.removeEventListener('abort', onAbort);
      secured.removeListener('close', onAbort);
      resolve(result);
    };
    const onAbort = () => settle(parentFailed('TLS_CLOSED'));
    signal.addEventListener('abort', onAbort);
    secured.once('close', onAbort);
    // Stays for the socket's life: an error without a listener would end the process.
    secured.on('error', (error: NodeJS.ErrnoException) => settle(parentFailed(`TLS_${codeOf(error)}`)));
    secured.once('secureConnect', () => settle(secured));
    if (signal.aborted) onAbort();
  });
}

/** The verifier's or OpenSSL's code; never a text of the parent's. */
function codeOf({ code = '' }: NodeJS.ErrnoException): string {
  return /^[A-Z0-9_]{1,64}$/.test(code) ? code : 'FAILED';
}

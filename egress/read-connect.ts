/**
 * Reads a CONNECT out of its head: where to, and with which credential. Everything that two readers could read in two
 * ways is refused, and nothing is decided.
 */
import { parseTarget, type Target } from '../core-lite/network/target.ts';
import type { RefusalReason } from '../core-lite/reasons.ts';
import { headerValues, type RequestHead } from './http1/head.ts';

export interface ConnectRequest {
  readonly target: Target;
  /** The one `Proxy-Authorization`, if there is one. */
  readonly credential: string | undefined;
}

/** The target and the credential of a CONNECT, or why it is malformed. */
export function readConnect({ target: text, minor, headers }: RequestHead): ConnectRequest | RefusalReason {
  const hosts = headerValues(headers, 'host').length;
  const credentials = headerValues(headers, 'proxy-authorization');
  // RFC 9112 3.2: HTTP/1.1 has one Host; some small clients send CONNECT as HTTP/1.0 without one.
  const isFramed = hosts === 1 || (minor === 0 && hosts === 0);
  // RFC 9110 9.3.6: a CONNECT has no content. A length would make two readers see two different streams.
  const hasBody = headers.some(({ name }) => name === 'content-length' || name === 'transfer-encoding');
  if (!isFramed || hasBody || credentials.length > 1) return 'request_malformed';
  const target = parseTarget(text);
  return target ? { target, credential: credentials[0] } : 'target_malformed';
}

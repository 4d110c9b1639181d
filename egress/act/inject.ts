/**
 * Puts the secret on a request, or nothing goes out. The head is rebuilt from the client's own lines: what belongs to
 * the connection is left out, and so is every client value of an injected header in all its spellings; then the secret
 * is set, once. This is where a secret's bytes leave.
 */
import type { Allow } from '../../core-lite/decision.ts';
import type { OpenedSecret } from '../../core-lite/vault/secret-reader.ts';
import {
  foldName,
  type HeaderLine,
  headerValues,
  type RequestHead,
  type ResponseHead,
} from '../http1/head.ts';

/**
 * The request's head as the origin gets it.
 * @param _proof that the exchange was allowed
 * @param authority what `Host` says where an HTTP/1.0 client sent none
 * @returns `null` where the secrets cannot be put on (two want the same header)
 */
export function buildOriginHead(
  _proof: Allow,
  head: RequestHead,
  authority: string,
  secrets: readonly OpenedSecret[],
): Buffer | null {
  const injected = new Set(secrets.map((secret) => foldName(secret.placement.header)));
  if (secrets.length === 0 || injected.size !== secrets.length) return null;
  const dropped = droppedNames(head.headers, injected);
  const kept = head.headers.filter(
    ({ name }) => !dropped.has(foldName(name)) && !injected.has(foldName(name)),
  );
  const host = kept.some((line) => line.name === 'host') ? [] : [`Host: ${authority}`];
  const lines = [
    `${head.method} ${head.target} HTTP/1.${head.minor}`,
    ...host,
    ...kept.map((line) => line.raw),
    ...secrets.map(formatSecret),
  ];
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
}

/** The response's head as the client gets it. @param close whether the client's connection ends with it */
export function buildClientHead(head: ResponseHead, close: boolean): Buffer {
  const dropped = droppedNames(head.headers, new Set());
  const kept = head.headers.filter((line) => !dropped.has(foldName(line.name))).map((line) => line.raw);
  const lines = [head.line, ...kept, ...(close ? ['Connection: close'] : [])];
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
}

/** Whether a trailer of the request may pass: nothing that frames, routes, authenticates or is injected. */
export function mayTrail(line: HeaderLine, secrets: readonly OpenedSecret[]): boolean {
  const name = foldName(line.name);
  if (CONNECTION_HEADERS.has(name) || PROTECTED.has(name) || AUTHENTICATES.test(name)) return false;
  return !secrets.some((secret) => foldName(secret.placement.header) === name);
}

function formatSecret({ placement, value }: OpenedSecret): string {
  return `${placement.header}: ${placement.format.replace('{}', () => value.reveal())}`;
}

/** Hop-by-hop headers, and what `Connection` nominates: but never what frames the message or names its host. */
function droppedNames(headers: readonly HeaderLine[], injected: ReadonlySet<string>): Set<string> {
  const nominated = headerValues(headers, 'connection')
    .flatMap((value) => value.split(','))
    .map((name) => foldName(name.trim()))
    .filter((name) => !PROTECTED.has(name) && !injected.has(name));
  return new Set([...CONNECTION_HEADERS, ...nominated]);
}

/** RFC 9110 7.6.1, and what proxies were sent by mistake. */
const CONNECTION_HEADERS = new Set([
  'connection',
  'http2-settings',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authentication-info',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'upgrade',
]);
/** An origin that merges trailers into its headers would take one for a credential. */
const AUTHENTICATES = /auth|cookie|key|token/;
const PROTECTED = new Set(['content-length', 'host', 'transfer-encoding', 'trailer', 'expect']);

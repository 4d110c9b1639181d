/** Headers that belong to one connection and are never passed on: RFC 9110 7.6.1, and what `Connection` nominates. */
import { foldName, type HeaderLine, headerValues } from './head.ts';

/** The lines that go on to the next hop. What frames the message or names its host stays, whoever nominates it. */
export function dropConnectionHeaders(headers: readonly HeaderLine[]): readonly HeaderLine[] {
  const nominated = nominatedBy(headerValues(headers, 'connection'));
  return headers.filter(({ name }) => {
    const folded = foldName(name);
    return !CONNECTION_HEADERS.has(folded) && !nominated.has(folded);
  });
}

/**
 * Whether a trailer of this name would frame or route a message, or speak to a proxy, for a reader that merges trailers
 * into headers.
 * @param name folded
 */
export function framesOrRoutes(name: string): boolean {
  return CONNECTION_HEADERS.has(name) || MESSAGE_HEADERS.has(name) || name.startsWith('proxy-');
}

function nominatedBy(values: readonly string[]): ReadonlySet<string> {
  const names = values.flatMap((value) => value.split(',')).map((name) => foldName(name.trim()));
  return new Set(names.filter((name) => !MESSAGE_HEADERS.has(name)));
}

/** RFC 9110 7.6.1, and what proxies were sent by mistake. */
const CONNECTION_HEADERS: ReadonlySet<string> = new Set([
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
/** Of the message, not of the connection. */
const MESSAGE_HEADERS: ReadonlySet<string> = new Set([
  'content-length',
  'host',
  'transfer-encoding',
  'trailer',
  'expect',
]);

/**
 * Where a model provider or an HTTP tool is: one anchored pattern over the text an operator wrote, no URL parser. A
 * host is a name in its one spelling, so that the address policy judges what it resolves to and nothing else.
 */
import { HOST_NAME } from './host-name.ts';
import { parseTarget, type Target } from './target.ts';

/** Made by `parseUpstreamUrl` only. */
export class UpstreamUrl {
  declare private readonly brand: 'upstream-url';
  readonly scheme: 'http' | 'https';
  readonly target: Target;
  /** Begins with a slash and does not end in one; empty for the root. */
  readonly path: string;
  /** Begins with its `?`; empty where there is none. */
  readonly query: string;

  constructor(scheme: 'http' | 'https', target: Target, path: string, query: string) {
    this.scheme = scheme;
    this.target = target;
    this.path = path;
    this.query = query;
  }
}

/** The URL, or one line without a full stop on why it is none that is ever called. */
export function parseUpstreamUrl(text: string): UpstreamUrl | string {
  const parts = URL_TEXT.exec(text)?.groups;
  const scheme = parts?.['scheme'];
  if (!parts || (scheme !== 'http' && scheme !== 'https')) {
    return 'it is not https://host[:port]/path with a host name, without user, fragment or spaces';
  }
  const port = parts['port'] ?? (scheme === 'https' ? '443' : '80');
  const target = parseTarget(`${parts['host']}:${port}`);
  if (!target) return 'its host or port is malformed';
  if (target.literal) return 'its host is an IP address; hosts are reached by name';
  const path = parts['path'] ?? '';
  if (UNSTEADY_PATH.test(path)) return 'its path has dot segments, doubled or encoded slashes';
  return new UpstreamUrl(scheme, target, path.replace(/\/$/, ''), parts['query'] ?? '');
}

// RFC 3986 pchar, and percent escapes that are whole.
const PCHAR = `(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})`;
const URL_TEXT = new RegExp(
  `^(?<scheme>https?)://(?<host>${HOST_NAME})(?::(?<port>[1-9][0-9]{0,4}))?` +
    String.raw`(?<path>(?:/${PCHAR}*)*)(?<query>\?(?:${PCHAR}|[/?])*)?$`,
);
/** Servers and proxies read these in different ways. */
const UNSTEADY_PATH = /\/\/|\/\.{1,2}(?:\/|$)|%2e|%2f|%5c/i;

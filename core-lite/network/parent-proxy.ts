/**
 * The proxy that egress itself goes out through (SALLYPORT_PARENT_PROXY): one anchored pattern over the operator's text.
 * It may hold a password, so nothing here repeats the text, and what is wrong is said without it.
 */
import { Secret } from '../secret.ts';
import { parseAddress } from './address.ts';
import { HOST_NAME, isHostName } from './host-name.ts';

export interface ParentProxy {
  readonly scheme: 'http' | 'https' | 'socks5';
  /** A name in lower case, or an address without brackets. */
  readonly host: string;
  /** 1 to 65535. */
  readonly port: number;
  readonly login: ParentLogin | null;
}

/** Percent-decoded. Both are secrets: some proxies take a token as the user. */
export interface ParentLogin {
  readonly user: Secret;
  readonly password: Secret;
}

/** The proxy, or one line without a full stop on why the text names none. */
export function parseParentProxy(text: string): ParentProxy | string {
  const parts = PARENT.exec(text)?.groups;
  const scheme = SCHEMES.get(parts?.['scheme']?.toLowerCase() ?? '');
  if (!parts || !scheme) return WRONG_FORM;
  const host = parseHost(parts['host'] ?? '');
  const port = Number(parts['port']);
  if (host === null || port > 65_535) return 'has no well-formed host and port';
  const login = parseLogin(scheme, parts['user'], parts['password'] ?? '');
  return typeof login === 'string' ? login : { scheme, host, port, login };
}

/** What may be shown of it: without the login. */
export function formatParentProxy({ scheme, host, port }: ParentProxy): string {
  return `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

function parseHost(text: string): string | null {
  const name = text.toLowerCase();
  return isHostName(name) ? name : (parseAddress(name.replace(/^\[|\]$/g, ''))?.text ?? null);
}

function parseLogin(
  scheme: ParentProxy['scheme'],
  user: string | undefined,
  password: string,
): ParentLogin | null | string {
  if (user === undefined) return null;
  const decoded = [decode(user), decode(password)];
  const [name, word] = decoded;
  if (name === null || word === null || name === undefined || word === undefined)
    return 'has a user or password that is not percent-encoded UTF-8, or holds control characters';
  // RFC 7617: the first colon ends the user.
  if (scheme !== 'socks5' && name.includes(':'))
    return 'has a user with a colon in it, which Basic cannot send';
  const tooLong = decoded.some((each) => Buffer.byteLength(each ?? '') > MAX_SOCKS_BYTES);
  // RFC 1929: both have from 1 to 255 bytes.
  if (scheme === 'socks5' && (tooLong || name === '' || word === ''))
    return 'has a user or password that SOCKS5 cannot send: each has 1 to 255 bytes';
  return { user: new Secret(name), password: new Secret(word) };
}

function decode(text: string): string | null {
  try {
    const decoded = decodeURIComponent(text);
    return CONTROL.test(decoded) ? null : decoded;
  } catch {
    return null;
  }
}

/** `socks5h` says that the proxy looks the name up; here it always does. */
const SCHEMES: ReadonlyMap<string, ParentProxy['scheme']> = new Map([
  ['http', 'http'],
  ['https', 'https'],
  ['socks5', 'socks5'],
  ['socks5h', 'socks5'],
]);
const PARENT = new RegExp(
  String.raw`^(?<scheme>[A-Za-z0-9]+)://(?:(?<user>[^\s:@/?#]*)(?::(?<password>[^\s@/?#]*))?@)?` +
    String.raw`(?<host>${HOST_NAME}|\[[0-9A-Fa-f:.]{2,45}\]):(?<port>[1-9][0-9]{0,4})/?$`,
);
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not pass
const CONTROL = /[\x00-\x1f\x7f]/;
const MAX_SOCKS_BYTES = 255;
const WRONG_FORM =
  'is not http://, https:// or socks5:// with [user:password@]host:port (are all signs in its password percent-encoded?)';

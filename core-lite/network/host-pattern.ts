/**
 * A pattern over hosts, as allowlists, bindings and open networks are written: `a.example` is that host and no other,
 * `*.a.example` any depth below and never itself, and either may end in `:port`. A host has one spelling here, and a
 * pattern in another one is a fault that offers it: a pattern that silently matches nothing, or more, is never made.
 */
import { domainToASCII } from 'node:url';
import { HOST_NAME, isAddressSpelling, isHostName } from './host-name.ts';

/** Made by `parseHostPattern` only. */
export class HostPattern {
  declare private readonly brand: 'host-pattern';
  /** The host, or for `*.a.example` what every match ends in: `.a.example`, with its dot. */
  readonly host: string;
  readonly wildcard: boolean;
  /** The port as written, or null: what that covers depends on where the pattern stands. */
  readonly port: number | null;

  constructor(host: string, wildcard: boolean, port: number | null) {
    this.host = host;
    this.wildcard = wildcard;
    this.port = port;
  }
}

/** Why a text is no pattern: a value, to be shown to whoever wrote it. */
export class HostPatternFault {
  declare private readonly brand: 'host-pattern-fault';
  /** One line without a full stop. It does not repeat the text. */
  readonly message: string;
  /** The right spelling of what was probably meant, itself a pattern, or null. */
  readonly suggestion: string | null;

  constructor(message: string, suggestion: string | null) {
    this.message = message;
    this.suggestion = suggestion;
  }
}

export function parseHostPattern(text: string): HostPattern | HostPatternFault {
  return readPattern(text) ?? new HostPatternFault(nameDefect(text), suggestPattern(text));
}

/** The one spelling of a pattern: `parseHostPattern` of it gives the same pattern. */
export function formatHostPattern(pattern: HostPattern): string {
  return (pattern.wildcard ? '*' : '') + pattern.host + (pattern.port === null ? '' : `:${pattern.port}`);
}

/** @param host in its one spelling, as a `Target` has it */
export function matchesHost(pattern: HostPattern, host: string): boolean {
  if (!pattern.wildcard) return host === pattern.host;
  return host.length > pattern.host.length && host.endsWith(pattern.host);
}

/** An entry of an allowlist: without a port it covers 443 and 80, with one only that port. */
export function matchesTarget(pattern: HostPattern, host: string, port: number): boolean {
  return matchesHost(pattern, host) && (pattern.port === null ? isWebPort(port) : pattern.port === port);
}

/** The host of a binding: without a port it covers 443 only, because a secret never goes over plaintext. */
export function matchesBinding(pattern: HostPattern, host: string, port: number): boolean {
  return matchesHost(pattern, host) && (pattern.port ?? 443) === port;
}

/** The ports that a host is reached at when nobody names one. */
export function isWebPort(port: number): boolean {
  return port === 443 || port === 80;
}

function readPattern(text: string): HostPattern | null {
  const parts = PATTERN.exec(text)?.groups;
  const host = parts?.['host'];
  const port = parts?.['port'] === undefined ? null : Number(parts['port']);
  if (host === undefined || !isHostName(host) || (port !== null && port > 65_535)) return null;
  const wildcard = parts?.['star'] !== undefined;
  return new HostPattern(wildcard ? `.${host}` : host, wildcard, port);
}

function nameDefect(text: string): string {
  return (
    DEFECTS.find(([shows]) => shows(text))?.[1] ?? 'it is not a host name of letters, digits and hyphens'
  );
}

/** Undoes what people paste: a URL, a trailing dot, a suffix with a leading dot, capitals, a name that is not ASCII. */
function suggestPattern(text: string): string | null {
  const parts = PASTED.exec(text.trim())?.groups;
  if (parts?.['host'] === undefined) return null;
  const ascii = domainToASCII(parts['host']);
  // Whoever wrote an address, or what IDNA folds to one, did not mean a name.
  if (isAddressSpelling(parts['host']) || isAddressSpelling(ascii)) return null;
  const candidate = (parts['star'] ? '*.' : '') + ascii + (parts['port'] ?? '');
  return readPattern(candidate) === null ? null : candidate;
}

const PATTERN = new RegExp(String.raw`^(?<star>\*\.)?(?<host>${HOST_NAME})(?::(?<port>[1-9][0-9]{0,4}))?$`);
const PASTED =
  /^(?:https?:\/\/)?(?<star>\*?\.)?(?<host>[^\s/?#@:*[\]\\]{1,253}?)\.?(?<port>:[0-9]{1,5})?(?:[/?#].*)?$/i;

/** What may be wrong, the most telling first. */
const DEFECTS: readonly (readonly [shows: (text: string) => boolean, message: string])[] = [
  [(text) => text === '', 'it is empty'],
  [(text) => /^\*\.?(?::\d+)?$/.test(text), 'a bare * would cover every host; name what it stands under'],
  [(text) => /^[a-z][a-z0-9+.-]*:\/\//i.test(text), 'it has a scheme; write the host only'],
  [(text) => /\s/.test(text), 'it has white space'],
  [(text) => text.includes('@'), 'it has a user; write the host only'],
  [(text) => /[/?#\\]/.test(text), 'it has a path; write the host only'],
  [(text) => /[[\]]|:.*:/.test(text), 'it is an IP address; hosts are reached by name'],
  [
    (text) => isAddressSpelling(withoutPort(text)),
    'it is an IP address, or ends like one; hosts are reached by name',
  ],
  [(text) => /.\*|^\*[^.]/.test(text), 'a * may only be the whole first label, as in *.a.example'],
  [(text) => /[^\0-\x7f]/.test(text), 'it is not ASCII; write the A-label (xn--…)'],
  [(text) => /[A-Z]/.test(text), 'it has capitals; write it in lower case'],
  [(text) => withoutPort(text).endsWith('.'), 'it ends in a dot; write the name without it'],
  [(text) => text.startsWith('.'), 'it begins with a dot; write *. for every name below'],
  [(text) => text.includes(':') && isHostName(withoutPort(text)), 'its port is not a number from 1 to 65535'],
  [(text) => withoutPort(text).length > 253, 'it is longer than 253 characters'],
];

function withoutPort(text: string): string {
  return text.replace(/:[^:]*$/, '');
}

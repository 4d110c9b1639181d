/**
 * Heads of HTTP/2 as lines, the form that decisions and secrets are made for, and back. Order and repeats stay. The
 * library has refused what RFC 9113 8.2 forbids: upper case, control characters, headers of a connection.
 */
import { sensitiveHeaders } from 'node:http2';
import type { RequestParts } from '../act/inject.ts';
import { dropConnectionHeaders } from '../http1/connection-headers.ts';
import { framesInDisguise } from '../http1/framing.ts';
import { type HeaderLine, headerValues, type RequestHead } from '../http1/head.ts';
import { makeLine } from '../http1/write-head.ts';

/** A request as HTTP/1.1 would have it: its authority is its `Host`, its WebSocket is a GET. */
export interface StreamHead extends RequestHead {
  /** As it came. */
  readonly stated: { readonly method: string; readonly protocol: string | null };
  /** Names whose values are never put into a compression table (RFC 7541 7.1.3). */
  readonly sensitive: readonly string[];
}

export interface AnswerHead {
  readonly status: number;
  readonly headers: readonly HeaderLine[];
}

/** @param raw names and values in turns @returns `null` where it lacks a part, or speaks of another scheme */
export function readRequestHead(raw: readonly string[], sensitive: readonly string[]): StreamHead | null {
  const { pseudo, lines } = split(raw);
  const method = pseudo.get(':method');
  const target = pseudo.get(':path');
  const protocol = pseudo.get(':protocol') ?? null;
  const plain = method === 'CONNECT' && protocol === null;
  // An origin may translate it to HTTP/1.1 for whoever stands behind it.
  if (lines.some(framesInDisguise)) return null;
  if (!method || (!plain && (!target || pseudo.get(':scheme') !== 'https'))) return null;
  const asWebSocket = method === 'CONNECT' && protocol === 'websocket';
  return {
    method: asWebSocket ? 'GET' : method,
    target: target ?? '',
    minor: 1,
    headers: withHost(pseudo.get(':authority'), lines),
    stated: { method, protocol },
    sensitive,
  };
}

/** Names that the client keeps out of compression tables. */
export function sensitiveNames(headers: object): readonly string[] {
  const names: unknown = Reflect.get(headers, sensitiveHeaders);
  return Array.isArray(names) ? names : [];
}

/**
 * What the origin is sent.
 * @param injected names of the headers, or `:path`, that bear a secret
 */
export function writeRequestHead(
  parts: RequestParts,
  { stated, sensitive }: StreamHead,
  injected: readonly string[],
): string[] {
  const [authority = ''] = headerValues(parts.headers, 'host');
  const pseudo = [
    ':method',
    stated.method,
    ':scheme',
    'https',
    ':authority',
    authority,
    ':path',
    parts.target,
  ];
  if (stated.protocol !== null) pseudo.push(':protocol', stated.protocol);
  const rest = parts.headers.filter(({ name }) => name !== 'host');
  return mark([...pseudo, ...flatten(rest)], [...sensitive, ...injected]);
}

/** @returns `null` where it has no status */
export function readAnswerHead(raw: readonly string[]): AnswerHead | null {
  const { pseudo, lines } = split(raw);
  const status = Number(pseudo.get(':status'));
  return Number.isInteger(status) ? { status, headers: lines } : null;
}

export function writeAnswerHead(
  { status, headers }: AnswerHead,
  sensitive: readonly string[] = [],
): string[] {
  return mark([':status', String(status), ...flatten(headers)], sensitive);
}

export function readTrailers(raw: readonly string[]): readonly HeaderLine[] {
  return split(raw).lines;
}

/** For what the library takes as an object only. Repeats keep their order among themselves. */
export function asObject(lines: readonly HeaderLine[]): Record<string, string[]> {
  const object: Record<string, string[]> = Object.create(null);
  for (const { name, value } of lines) object[name] = [...(object[name] ?? []), value];
  return object;
}

/** What may go on to the next hop. `TE` may say one thing, and gRPC asks for it (RFC 9113 8.2.2). */
export function dropHopHeaders(headers: readonly HeaderLine[]): readonly HeaderLine[] {
  const kept = new Set(dropConnectionHeaders(headers));
  return headers.filter(
    (line) => kept.has(line) || (line.name === 'te' && line.value.toLowerCase() === 'trailers'),
  );
}

/** How much of the wire a head stands for, before compression. */
export function measureHead(raw: readonly string[]): number {
  return raw.reduce((sum, text) => sum + text.length, 0);
}

/** One `host` line where both say the same; otherwise both stay, and the decision refuses two. */
function withHost(authority: string | undefined, lines: readonly HeaderLine[]): readonly HeaderLine[] {
  if (authority === undefined) return lines;
  const rest = lines.filter(
    ({ name, value }) => name !== 'host' || value.toLowerCase() !== authority.toLowerCase(),
  );
  return [makeLine('host', authority), ...rest];
}

function split(raw: readonly string[]) {
  const pseudo = new Map<string, string>();
  const lines: HeaderLine[] = [];
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = raw[i] as string;
    const value = raw[i + 1] as string;
    if (name.startsWith(':')) pseudo.set(name, value);
    else lines.push(makeLine(name, value));
  }
  return { pseudo, lines };
}

function flatten(lines: readonly HeaderLine[]): string[] {
  return lines.flatMap(({ name, value }) => [name, value]);
}

function mark(raw: string[], names: readonly string[]): string[] {
  return Object.assign(raw, { [sensitiveHeaders]: [...names] });
}

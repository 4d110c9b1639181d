/**
 * Heads of HTTP/1.1 messages, read strictly and kept as they came. What two readers could read differently is refused:
 * a bare CR or LF, a folded line, a space before a colon, a control character, a name that is no token. Whatever is
 * taken keeps its spelling, its order and its repeats, since its very lines are sent on.
 */

export interface HeaderLine {
  /** In lower case. */
  readonly name: string;
  /** Without the white space around it; bytes as latin1. */
  readonly value: string;
  /** The line as it came, without its end; bytes as latin1. */
  readonly raw: string;
}

export interface RequestHead {
  readonly method: string;
  /** As it came. */
  readonly target: string;
  /** 0 or 1: HTTP/1.0 or HTTP/1.1. */
  readonly minor: number;
  readonly headers: readonly HeaderLine[];
}

export interface ResponseHead {
  readonly status: number;
  readonly minor: number;
  /** The status line as it came, without its end. */
  readonly line: string;
  readonly headers: readonly HeaderLine[];
}

/** Some origins take `X_Api_Key` or `X.Api.Key` for `X-Api-Key`: to a CGI variable (RFC 3875 4.1.18) all marks are one. */
export function foldName(name: string): string {
  return FOLDED.test(name) ? name : name.toLowerCase().replace(/[^a-z0-9]/g, '-');
}

/** The index behind the end of the head, or -1 while it is not complete. @param from where to look from */
export function findHeadEnd(bytes: Buffer, from = 0): number {
  const at = bytes.indexOf('\r\n\r\n', Math.max(0, from - 3), 'latin1');
  return at < 0 ? -1 : at + 4;
}

/** @param bytes a whole head with its empty line @returns `null` where it is not well-formed */
export function parseRequestHead(bytes: Buffer): RequestHead | null {
  const lines = splitHead(bytes);
  const match = REQUEST_LINE.exec(lines[0] ?? '');
  const headers = parseHeaderLines(lines, 1);
  if (!match?.[1] || !match[2] || !headers) return null;
  return { method: match[1], target: match[2], minor: Number(match[3]), headers };
}

/** @param bytes a whole head with its empty line @returns `null` where it is not well-formed */
export function parseResponseHead(bytes: Buffer): ResponseHead | null {
  const lines = splitHead(bytes);
  const line = lines[0] ?? '';
  const match = STATUS_LINE.exec(line);
  const headers = parseHeaderLines(lines, 1);
  if (!match || !headers) return null;
  return { status: Number(match[2]), minor: Number(match[1]), line, headers };
}

/** Header lines from `lines[first]` on; `null` where one is malformed, or there are too many. */
export function parseHeaderLines(lines: readonly string[], first: number): HeaderLine[] | null {
  if (lines.length - first > MAX_HEADERS) return null;
  const headers: HeaderLine[] = [];
  for (let i = first; i < lines.length; i++) {
    const header = parseHeaderLine(lines[i] as string);
    if (!header) return null;
    headers.push(header);
  }
  return headers;
}

/** Every value of a header, in order. @param name in lower case */
export function headerValues(headers: readonly HeaderLine[], name: string): string[] {
  const values: string[] = [];
  for (const header of headers) if (header.name === name) values.push(header.value);
  return values;
}

function parseHeaderLine(raw: string): HeaderLine | null {
  const colon = raw.indexOf(':');
  const name = raw.slice(0, colon);
  const value = raw.slice(colon + 1);
  if (colon < 1 || !TOKEN.test(name) || !FIELD_VALUE.test(value)) return null;
  return { name: name.toLowerCase(), value: trimBlanks(value), raw };
}

/** Only space and tab are blanks: `trim()` would also take a no-break space. */
function trimBlanks(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isBlank(text.charCodeAt(start))) start += 1;
  while (end > start && isBlank(text.charCodeAt(end - 1))) end -= 1;
  return text.slice(start, end);
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09;
}

function splitHead(bytes: Buffer): string[] {
  return bytes.toString('latin1', 0, bytes.length - 4).split('\r\n');
}

/** What folding leaves as it is, as almost all names are. */
const FOLDED = /^[a-z0-9-]*$/;
/** RFC 9110 5.6.2. */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** RFC 9110 5.5: visible characters, blanks and obs-text; no control character, so no CR, LF or NUL. */
const FIELD_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
/** RFC 9112 3: one space each; the target has no blank and no control character, its bytes stay. */
const REQUEST_LINE = /^([!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}) ([\x21-\x7e\x80-\xff]+) HTTP\/1\.([01])$/;
const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9][0-9]{2})(?: [\t\x20-\x7e\x80-\xff]*)?$/;
const MAX_HEADERS = 200;

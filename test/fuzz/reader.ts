/**
 * A reader of HTTP/1 that is none of the product's: by RFC 9112 to the letter, or in one of the loose ways in which
 * servers in the wild have read it. What passes the gate has to be read alike by all of them.
 */

export interface Style {
  readonly name: string;
  /** What ends a line. */
  readonly lineEnd: 'crlf' | 'lf' | 'any';
  /** `X_Y` is `X-Y`, and blanks around a name do not count. */
  readonly looseNames: boolean;
  /** A line that begins with a blank belongs to the one before. */
  readonly folds: boolean;
  /** Which of several lengths counts; `refuse` takes one only, in decimal digits. */
  readonly lengths: 'refuse' | 'first' | 'last';
  /** What counts where a length and a coding stand side by side. */
  readonly both: 'refuse' | 'length' | 'chunked';
}

export interface Message {
  readonly start: number;
  readonly headEnd: number;
  readonly end: number;
  /** The request line or status line. */
  readonly first: string;
  /** Names in lower case. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** Without its chunks' borders. */
  readonly body: Buffer;
  readonly trailers: readonly (readonly [name: string, value: string])[];
}

export interface Reading {
  readonly messages: readonly Message[];
  /** What stands behind the last whole one. */
  readonly rest: 'nothing' | 'partial' | 'malformed';
  readonly restAt: number;
}

/** Reads what a client sent. */
export function readRequests(bytes: Buffer, style: Style): Reading {
  return readAll(bytes, style, () => 'none');
}

/** Reads what a server sent. @param methods of the requests that it answers, in order */
export function readResponses(bytes: Buffer, style: Style, methods: readonly string[]): Reading {
  let answered = 0;
  return readAll(bytes, style, (first) => {
    const status = Number(first.split(' ')[1]);
    if (status < 200) return 'never';
    const method = methods[answered];
    answered += 1;
    return method === 'HEAD' || status === 204 || status === 304 ? 'never' : 'close';
  });
}

/** Header lines of a head; `null` where this style refuses them. */
export function readHead(text: string, at: number, style: Style): Head | 'partial' | 'malformed' {
  const end =
    style.lineEnd === 'crlf'
      ? /\r\n\r\n/g
      : style.lineEnd === 'lf'
        ? /\r?\n\r?\n/g
        : /(?:\r\n|\r(?!\n)|\n){2}/g;
  end.lastIndex = at;
  const match = end.exec(text);
  if (!match) return /[^\r\n]/.test(text.slice(at)) || at < text.length ? 'partial' : 'malformed';
  const headEnd = match.index + match[0].length;
  const [first = '', ...lines] = unfold(text.slice(at, match.index).split(LINE_ENDS[style.lineEnd]), style);
  const headers = lines.map((line) => readLine(line, style));
  if (!isFirst(first, style) || headers.some((header) => header === null)) return 'malformed';
  return { headEnd, first, headers: headers.filter((header) => header !== null) };
}

export interface Head {
  readonly headEnd: number;
  readonly first: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
}

/** What a message without a length or a coding has for a body: nothing, all until the end, or nothing whatever it says. */
type Default = 'none' | 'close' | 'never';

function readAll(bytes: Buffer, style: Style, defaultOf: (first: string) => Default): Reading {
  const text = bytes.toString('latin1');
  const messages: Message[] = [];
  for (let at = 0; ; ) {
    while (text.startsWith('\r\n', at) || (style.lineEnd !== 'crlf' && /[\r\n]/.test(text[at] ?? ''))) {
      at += text.startsWith('\r\n', at) ? 2 : 1;
    }
    if (at === text.length) return { messages, rest: 'nothing', restAt: at };
    const head = readHead(text, at, style);
    if (typeof head === 'string') return { messages, rest: head, restAt: at };
    const body = readBody(bytes, text, head, style, defaultOf(head.first));
    if (typeof body === 'string') return { messages, rest: body, restAt: at };
    messages.push({ start: at, ...head, ...body });
    at = body.end;
  }
}

function unfold(lines: readonly string[], style: Style): string[] {
  if (!style.folds) return [...lines];
  return lines.reduce<string[]>((all, line) => {
    if (/^[ \t]/.test(line) && all.length > 0) all.push(`${all.pop()} ${line.trim()}`);
    else all.push(line);
    return all;
  }, []);
}

function readLine(line: string, style: Style): readonly [string, string] | null {
  const strict = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t\x20-\x7e\x80-\xff]*?)[ \t]*$/.exec(line);
  if (!style.looseNames) return strict ? [(strict[1] ?? '').toLowerCase(), strict[2] ?? ''] : null;
  const colon = line.indexOf(':');
  const name = (colon < 0 ? line : line.slice(0, colon)).trim().toLowerCase().replaceAll('_', '-');
  return [name, colon < 0 ? '' : line.slice(colon + 1).trim()];
}

function isFirst(first: string, style: Style): boolean {
  if (style.lineEnd !== 'crlf' || style.looseNames) return true;
  return REQUEST_LINE.test(first) || STATUS_LINE.test(first);
}

type Body = Pick<Message, 'body' | 'trailers' | 'end'>;

function readBody(
  bytes: Buffer,
  text: string,
  head: Head,
  style: Style,
  otherwise: Default,
): Body | 'partial' | 'malformed' {
  const at = head.headEnd;
  const valuesOf = (wanted: string) =>
    head.headers.filter(([name]) => name === wanted).map(([, value]) => value);
  const [lengths, codings] = [valuesOf('content-length'), valuesOf('transfer-encoding')];
  if (style.both === 'refuse' && lengths.length + codings.length > 1) return 'malformed';
  if (otherwise === 'never') return { ...NOTHING, end: at };
  const chunked = codings.some((coding) => /chunked/i.test(coding));
  if (codings.length > 0 && style.both === 'refuse') {
    // RFC 9112 6.1: HTTP/1.0 knows no codings.
    if (codings[0]?.toLowerCase() !== 'chunked' || head.first.includes('HTTP/1.0')) return 'malformed';
  }
  if (chunked && (lengths.length === 0 || style.both !== 'length')) return readChunks(bytes, text, at, style);
  if (lengths.length > 0) return readLength(bytes, at, lengths, style);
  return otherwise === 'close'
    ? { ...NOTHING, body: bytes.subarray(at), end: bytes.length }
    : { ...NOTHING, end: at };
}

function readLength(
  bytes: Buffer,
  at: number,
  lengths: readonly string[],
  style: Style,
): Body | 'partial' | 'malformed' {
  const all = lengths.flatMap((length) => length.split(','));
  const length = style.lengths === 'last' ? all.at(-1) : all[0];
  if (style.lengths === 'refuse' && !/^\d+$/.test(length ?? '')) return 'malformed';
  const count = Number.parseInt(length ?? '', 10);
  if (!(count >= 0)) return style.lengths === 'refuse' ? 'malformed' : { ...NOTHING, end: at };
  if (at + count > bytes.length) return 'partial';
  return { ...NOTHING, body: bytes.subarray(at, at + count), end: at + count };
}

function readChunks(bytes: Buffer, text: string, from: number, style: Style): Body | 'partial' | 'malformed' {
  const parts: Buffer[] = [];
  for (let at = from; ; ) {
    const line = readChunkLine(text, at, style);
    if (typeof line === 'string') return line;
    if (line.size === 0) return readTrailers(text, line.end, style, parts);
    const end = line.end + line.size;
    if (end > bytes.length) return 'partial';
    parts.push(bytes.subarray(line.end, end));
    at = end + lineEndAt(text, end, style);
    if (at === end) return end + 2 > bytes.length ? 'partial' : 'malformed';
  }
}

function readChunkLine(
  text: string,
  at: number,
  style: Style,
): { readonly size: number; readonly end: number } | 'partial' | 'malformed' {
  const line = style.lineEnd === 'crlf' ? /([^\r\n]*)\r\n/y : /([^\n]*)\n/y;
  line.lastIndex = at;
  const match = line.exec(text);
  if (!match) return /\r./s.test(text.slice(at, at + 300)) ? 'malformed' : 'partial';
  const size = readSize(match[1] ?? '', style);
  return size === null ? 'malformed' : { size, end: line.lastIndex };
}

/** How long the line end is that stands there; 0 where none does. */
function lineEndAt(text: string, at: number, style: Style): number {
  if (text.startsWith('\r\n', at)) return 2;
  return style.lineEnd !== 'crlf' && text[at] === '\n' ? 1 : 0;
}

function readSize(line: string, style: Style): number | null {
  if (style.lineEnd !== 'crlf') {
    const size = Number.parseInt(line.trim(), 16);
    return size >= 0 ? size : null;
  }
  const match = /^([0-9A-Fa-f]{1,13})(;[\t\x20-\x7e\x80-\xff]*)?$/.exec(line);
  return match?.[1] === undefined ? null : Number.parseInt(match[1], 16);
}

function readTrailers(
  text: string,
  at: number,
  style: Style,
  parts: Buffer[],
): Body | 'partial' | 'malformed' {
  const body = Buffer.concat(parts);
  const lineEnd = lineEndAt(text, at, style);
  if (lineEnd > 0) return { body, trailers: [], end: at + lineEnd };
  const first = 'GET / HTTP/1.1\r\n';
  const head = readHead(first + text.slice(at), 0, style);
  if (typeof head === 'string') return head;
  return { body, trailers: head.headers, end: at + head.headEnd - first.length };
}

const NOTHING = { body: Buffer.alloc(0), trailers: [] } as const;
const LINE_ENDS = { crlf: '\r\n', lf: /\r?\n/, any: /\r\n|\r|\n/ } as const;
const REQUEST_LINE = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+ [\x21-\x7e\x80-\xff]+ HTTP\/1\.[01]$/;
const STATUS_LINE = /^HTTP\/1\.[01] [1-9]\d\d(?: [\t\x20-\x7e\x80-\xff]*)?$/;

/** RFC 9112 to the letter; what it lets a recipient refuse is refused. */
export const STRICT: Style = {
  name: 'strict',
  lineEnd: 'crlf',
  looseNames: false,
  folds: false,
  lengths: 'refuse',
  both: 'refuse',
};
/** How others have read. */
export const LOOSE: readonly Style[] = [
  {
    name: 'LF ends a line',
    lineEnd: 'lf',
    looseNames: true,
    folds: false,
    lengths: 'first',
    both: 'chunked',
  },
  {
    name: 'CR ends a line',
    lineEnd: 'any',
    looseNames: true,
    folds: false,
    lengths: 'first',
    both: 'chunked',
  },
  { name: 'lines fold', lineEnd: 'lf', looseNames: true, folds: true, lengths: 'last', both: 'chunked' },
  {
    name: 'the length wins',
    lineEnd: 'crlf',
    looseNames: true,
    folds: false,
    lengths: 'last',
    both: 'length',
  },
  {
    name: 'no underscores',
    lineEnd: 'crlf',
    looseNames: false,
    folds: false,
    lengths: 'last',
    both: 'length',
  },
];

/**
 * Visits the fields of a JSON object in its bytes, without parsing what nobody asks for and without recursion. What is
 * inside a value is the provider's to judge: here it only must come to its end. Long texts are jumped over. Whatever the
 * bytes are, this costs one pass over them: everybody's calls wait for it.
 */

/** Bytes of a body: from, up to. */
export type Span = readonly [number, number];

export interface ObjectVisitor {
  /** Told of each field of the object, with the bytes of its value. @returns whether to go on */
  readonly field: (name: string, value: Span) => boolean;
  /** How the object in the value of this field is visited, or the objects of its list; none of them where it says none. */
  readonly inside?: (name: string) => InnerVisitor | undefined;
}

/** Visits objects of which there may be very many: most of their names are passed by. */
export interface InnerVisitor extends ObjectVisitor {
  /** By the last byte of a name, in lower case, whether it may be one to tell of. */
  readonly lastBytes: Uint8Array;
  /** Whether a text of this name is told of where it is long. */
  readonly wantsText: (name: string) => boolean;
  /** Told of the first such text of an object that is longer than a KiB, with its quotes, when the object is over. */
  readonly longText: (name: string, text: Span, object: Span) => void;
}

/** @returns whether the span is one object and nothing else, within measure, and `field` never said no */
export function visitObject(body: Buffer, span: Span, visitor: ObjectVisitor): boolean {
  return new Scanner(body, span).scan(visitor);
}

/** The text that a span holds, or `null` where it is no JSON text. */
export function parseText(body: Buffer, [from, to]: Span): string | null {
  if (body[from] !== QUOTE) return null;
  try {
    const text: unknown = JSON.parse(body.toString('utf8', from, to));
    return typeof text === 'string' ? text : null;
  } catch {
    return null;
  }
}

class Scanner {
  readonly #body: Buffer;
  readonly #end: number;
  #at: number;
  /** The names of inner objects that were read. */
  #innerNames = 0;
  /** Of the innermost visited object. */
  #long: { readonly name: string; readonly text: Span } | null = null;

  constructor(body: Buffer, [from, to]: Span) {
    this.#body = to === body.length ? body : body.subarray(0, to);
    this.#at = from;
    this.#end = to;
  }

  scan(visitor: ObjectVisitor): boolean {
    this.#skipSpace();
    if (!this.#fields(visitor, null)) return false;
    this.#skipSpace();
    return this.#at === this.#end;
  }

  #fields(visitor: ObjectVisitor, inner: InnerVisitor | null): boolean {
    if (!this.#take(OPEN_BRACE)) return false;
    this.#skipSpace();
    if (this.#take(CLOSE_BRACE)) return true;
    let fields = 0;
    do {
      fields += 1;
      if (fields > MAX_FIELDS || !this.#field(visitor, inner)) return false;
    } while (this.#take(COMMA));
    return this.#take(CLOSE_BRACE);
  }

  #field(visitor: ObjectVisitor, inner: InnerVisitor | null): boolean {
    this.#skipSpace();
    const name = this.#key(inner);
    this.#skipSpace();
    if (name === null || !this.#take(COLON)) return false;
    this.#skipSpace();
    const from = this.#at;
    const within = name === PASSED_BY ? undefined : visitor.inside?.(name);
    if (!(within ? this.#visitInner(within) : this.#value())) return false;
    const to = this.#at;
    this.#skipSpace();
    if (name === PASSED_BY) return true;
    const isLong = to - from > LONG_TEXT_BYTES && this.#body[from] === QUOTE;
    if (isLong && inner?.wantsText(name)) this.#long ??= { name, text: [from, to] };
    return visitor.field(name, [from, to]);
  }

  /** An object, or the objects in a list. What else there is is passed by. */
  #visitInner(visitor: InnerVisitor): boolean {
    if (this.#body[this.#at] === OPEN_BRACE) return this.#inner(visitor);
    if (!this.#take(OPEN_BRACKET)) return this.#value();
    this.#skipSpace();
    if (this.#take(CLOSE_BRACKET)) return true;
    do {
      this.#skipSpace();
      const isObject = this.#body[this.#at] === OPEN_BRACE;
      if (!(isObject ? this.#inner(visitor) : this.#value())) return false;
      this.#skipSpace();
    } while (this.#take(COMMA));
    return this.#take(CLOSE_BRACKET);
  }

  #inner(visitor: InnerVisitor): boolean {
    const from = this.#at;
    const outer = this.#long;
    this.#long = null;
    const whole = this.#fields(visitor, visitor);
    const { name, text } = this.#long ?? NO_TEXT;
    if (whole && text) visitor.longText(name, text, [from, this.#at]);
    this.#long = outer;
    return whole;
  }

  /** `null` where it is none. */
  #key(inner: InnerVisitor | null): string | typeof PASSED_BY | null {
    const from = this.#at;
    if (!this.#string()) return null;
    if (inner) {
      if (!this.#mayCount(inner, from + 1, this.#at - 1)) return PASSED_BY;
      this.#innerNames += 1;
      if (this.#innerNames > MAX_INNER_NAMES) return null;
    }
    return this.#at - from > MAX_KEY_BYTES ? null : parseText(this.#body, [from, this.#at]);
  }

  /** Says no to nearly every name, and makes no text of it. What is escaped may be any. */
  #mayCount({ lastBytes }: InnerVisitor, from: number, to: number): boolean {
    const body = this.#body;
    if (to - from > MAX_KEY_BYTES) return false;
    for (let at = from; at < to; at += 1) {
      const byte = body[at] as number;
      if (byte === BACKSLASH || byte > MAX_ASCII) return true;
    }
    return to > from && lastBytes[(body[to - 1] as number) | LOWER_CASE] === 1;
  }

  /** One value, however deep, without recursion. What is inside is the provider's to judge. */
  #value(): boolean {
    const kind = KINDS[this.#body[this.#at] ?? 0];
    if (kind === TEXT) return this.#string();
    return kind === OPENING ? this.#container() : this.#word();
  }

  /** From an opening bracket to behind the one that closes it. */
  #container(): boolean {
    const body = this.#body;
    const end = this.#end;
    let at = this.#at;
    let depth = 0;
    while (at < end) {
      const kind = KINDS[body[at] as number];
      if (kind === TEXT) {
        this.#at = at;
        if (!this.#string()) return false;
        at = this.#at;
        continue;
      }
      at += 1;
      if (kind === OPENING) depth += 1;
      else if (kind === CLOSING) depth -= 1;
      else continue;
      if (depth > MAX_DEPTH) return false;
      if (depth > 0) continue;
      this.#at = at;
      return true;
    }
    return false;
  }

  /** A number, `true`, `false` or `null`. */
  #word(): boolean {
    const from = this.#at;
    this.#at = skip(this.#body, from, WORD);
    return this.#at > from;
  }

  /** From an opening quote to behind its closing one. */
  #string(): boolean {
    if (!this.#take(QUOTE)) return false;
    const end = endOfText(this.#body, this.#at);
    if (end < 0) return false;
    this.#at = end;
    return true;
  }

  #skipSpace(): void {
    this.#at = skip(this.#body, this.#at, SPACE);
  }

  #take(byte: number): boolean {
    if (this.#body[this.#at] !== byte) return false;
    this.#at += 1;
    return true;
  }
}

/** The index of the first byte that is of another kind. */
function skip(body: Buffer, from: number, kind: number): number {
  let at = from;
  while (at < body.length && KINDS[body[at] as number] === kind) at += 1;
  return at;
}

/** The index behind the closing quote, or -1. Steps are cheap in short texts, jumps in long ones. */
function endOfText(body: Buffer, from: number): number {
  let at = from;
  for (;;) {
    const stop = Math.min(body.length, at + STEPS);
    while (at < stop) {
      const byte = body[at];
      if (byte === QUOTE) return at + 1;
      at += byte === BACKSLASH ? 2 : 1;
    }
    const quote = body.indexOf(QUOTE, at);
    if (quote < 0) return -1;
    let escapes = 0;
    while (quote - escapes > at && body[quote - escapes - 1] === BACKSLASH) escapes += 1;
    at = quote + 1;
    if (escapes % 2 === 0) return at;
  }
}

function makeKinds(): Uint8Array {
  const kinds = new Uint8Array(256);
  const set = (bytes: string, kind: number): void => {
    for (const byte of Buffer.from(bytes)) kinds[byte] = kind;
  };
  set(' \n\r\t', SPACE);
  set('"', TEXT);
  set('{[', OPENING);
  set('}]', CLOSING);
  set('+-.0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz', WORD);
  return kinds;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const COMMA = 0x2c;
const COLON = 0x3a;
const SPACE = 1;
const TEXT = 2;
const OPENING = 3;
const CLOSING = 4;
const WORD = 5;
/** What each byte is where a value may begin; 0 for none of these. */
const KINDS = makeKinds();
/** Longer than almost any word or key. */
const LONG_TEXT_BYTES = 1024;
const STEPS = 256;
/** A name that is not asked for. No name is a symbol. */
const PASSED_BY = Symbol('passed by');
const NO_TEXT = { name: '', text: null };
const LOWER_CASE = 0x20;
const MAX_ASCII = 0x7f;
/** Far more than any dialect has. */
const MAX_FIELDS = 10_000;
/** Three for each message that any dialect takes. */
const MAX_INNER_NAMES = 300_000;
const MAX_KEY_BYTES = 512;
/** What parsers that call themselves for each level come through. */
const MAX_DEPTH = 512;

/**
 * Visits the fields of a JSON object in its bytes, without parsing what nobody asks for and without recursion. What is
 * inside a value is the provider's to judge: here it only must come to its end. Long texts are jumped over.
 */

/** Bytes of a body: from, up to. */
export type Span = readonly [number, number];

export interface ObjectVisitor {
  /** Told of each field of the object, with the bytes of its value. @returns whether to go on */
  readonly field: (name: string, value: Span) => boolean;
  /** Told of each text in it, however deep, with its quotes, that is longer than a KiB. */
  readonly longText?: (text: Span) => void;
}

/** @returns whether the span is one object and nothing else, and `field` never said no */
export function visitObject(body: Buffer, span: Span, visitor: ObjectVisitor): boolean {
  return new Scanner(body, span, visitor).scan();
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
  readonly #visitor: ObjectVisitor;
  #at: number;

  constructor(body: Buffer, [from, to]: Span, visitor: ObjectVisitor) {
    this.#body = to === body.length ? body : body.subarray(0, to);
    this.#at = from;
    this.#end = to;
    this.#visitor = visitor;
  }

  scan(): boolean {
    this.#skipSpace();
    if (!this.#take(OPEN_BRACE)) return false;
    this.#skipSpace();
    if (!this.#take(CLOSE_BRACE)) {
      do {
        if (!this.#field()) return false;
      } while (this.#take(COMMA));
      if (!this.#take(CLOSE_BRACE)) return false;
    }
    this.#skipSpace();
    return this.#at === this.#end;
  }

  #field(): boolean {
    this.#skipSpace();
    const keyFrom = this.#at;
    if (!this.#string()) return false;
    const name = parseText(this.#body, [keyFrom, this.#at]);
    this.#skipSpace();
    if (name === null || !this.#take(COLON)) return false;
    this.#skipSpace();
    const from = this.#at;
    if (!this.#value()) return false;
    const to = this.#at;
    this.#skipSpace();
    return this.#visitor.field(name, [from, to]);
  }

  /** One value, however deep, without recursion. What is inside is the provider's to judge. */
  #value(): boolean {
    const first = this.#body[this.#at];
    if (first === QUOTE) return this.#string();
    return isOpening(first) ? this.#container() : this.#word();
  }

  /** From an opening bracket to behind the one that closes it. */
  #container(): boolean {
    let depth = 0;
    while (this.#at < this.#end) {
      const byte = this.#body[this.#at];
      if (byte === QUOTE) {
        if (!this.#string()) return false;
        continue;
      }
      this.#at += 1;
      if (isOpening(byte)) depth += 1;
      else if (isClosing(byte)) depth -= 1;
      if (depth === 0) return true;
    }
    return false;
  }

  /** A number, `true`, `false` or `null`. */
  #word(): boolean {
    const from = this.#at;
    while (isWordByte(this.#body[this.#at])) this.#at += 1;
    return this.#at > from;
  }

  /** From an opening quote to behind its closing one. */
  #string(): boolean {
    const from = this.#at;
    if (!this.#take(QUOTE)) return false;
    const end = endOfText(this.#body, this.#at);
    if (end < 0) return false;
    this.#at = end;
    if (end - from > LONG_TEXT_BYTES) this.#visitor.longText?.([from, end]);
    return true;
  }

  #skipSpace(): void {
    while (isSpace(this.#body[this.#at])) this.#at += 1;
  }

  #take(byte: number): boolean {
    if (this.#body[this.#at] !== byte) return false;
    this.#at += 1;
    return true;
  }
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

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

function isOpening(byte: number | undefined): boolean {
  return byte === OPEN_BRACE || byte === OPEN_BRACKET;
}

function isClosing(byte: number | undefined): boolean {
  return byte === CLOSE_BRACE || byte === CLOSE_BRACKET;
}

/** Letters, digits, `+`, `-` and `.`. */
function isWordByte(byte: number | undefined): boolean {
  return byte !== undefined && /[A-Za-z0-9+.-]/.test(String.fromCharCode(byte));
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const COMMA = 0x2c;
const COLON = 0x3a;
/** Longer than almost any word or key. */
const LONG_TEXT_BYTES = 1024;
const STEPS = 256;

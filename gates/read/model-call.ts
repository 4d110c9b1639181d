/**
 * Reads the two fields of a model call that a gate must know, `model` and `stream`, from the bytes of its body, and
 * where they stand. Nothing is parsed that is not needed and nothing is written anew: a body goes on byte for byte. A
 * body that two readers could read in two ways is refused, since the other reader would be the provider.
 */
import type { Operation } from '../dialects/operations.ts';
import type { RefusalReason } from '../reasons.ts';

export interface ModelBody {
  readonly model: string;
  readonly streamed: boolean;
  /** The bytes of the model's name with its quotes: from, up to. `null` where the path names it. */
  readonly modelSpan: readonly [number, number] | null;
}

/**
 * @param body plain JSON in UTF-8
 * @param pathModel the model that the path names, where it does
 */
export function readModelBody(
  body: Buffer,
  operation: Operation,
  pathModel: string | null,
): ModelBody | RefusalReason {
  const fields = new Map<string, readonly [number, number]>();
  const failed = new Scanner(body).scan((name, from, to) => {
    const folded = name.toLowerCase();
    // Go's decoder takes `Model` for `model`; of two keys, readers differ on which one counts.
    if (!READ_FIELDS.has(folded)) return true;
    if (folded !== name || fields.has(name)) return false;
    fields.set(name, [from, to]);
    return true;
  });
  if (failed) return 'body_malformed';
  const stream = fields.get('stream');
  const asked = stream !== undefined && body.toString('latin1', ...stream) === 'true';
  const streamed = operation.streamed === 'body' ? asked : operation.streamed;
  if (pathModel !== null) return { model: pathModel, streamed, modelSpan: null };
  const span = fields.get('model');
  const model = span && parseText(body.subarray(...span));
  return span && model ? { model, streamed, modelSpan: span } : 'model_missing';
}

/** The body with another model's name in it; the very same bytes where the name is the same. */
export function renameModel(body: Buffer, read: ModelBody, name: string): Buffer {
  if (name === read.model || read.modelSpan === null) return body;
  const [from, to] = read.modelSpan;
  return Buffer.concat([body.subarray(0, from), Buffer.from(JSON.stringify(name)), body.subarray(to)]);
}

function parseText(bytes: Buffer): string | null {
  if (bytes[0] !== QUOTE) return null;
  try {
    const text: unknown = JSON.parse(bytes.toString('utf8'));
    return typeof text === 'string' ? text : null;
  } catch {
    return null;
  }
}

/** Visits the fields of the object on top, with the bytes of each value. */
class Scanner {
  readonly #body: Buffer;
  #at = 0;

  constructor(body: Buffer) {
    this.#body = body;
  }

  /** @returns whether the body is not one object, or `visit` said no */
  scan(visit: (name: string, from: number, to: number) => boolean): boolean {
    this.#skipSpace();
    if (!this.#take(OPEN_BRACE)) return true;
    this.#skipSpace();
    if (!this.#take(CLOSE_BRACE)) {
      do {
        if (!this.#field(visit)) return true;
      } while (this.#take(COMMA));
      if (!this.#take(CLOSE_BRACE)) return true;
    }
    this.#skipSpace();
    return this.#at !== this.#body.length;
  }

  #field(visit: (name: string, from: number, to: number) => boolean): boolean {
    this.#skipSpace();
    const keyFrom = this.#at;
    if (!this.#string()) return false;
    const name = parseText(this.#body.subarray(keyFrom, this.#at));
    this.#skipSpace();
    if (name === null || !this.#take(COLON)) return false;
    this.#skipSpace();
    const from = this.#at;
    if (!this.#value()) return false;
    const to = this.#at;
    this.#skipSpace();
    return visit(name, from, to);
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
    while (this.#at < this.#body.length) {
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

  /** From an opening quote to behind its closing one. Long texts are jumped over, not walked through. */
  #string(): boolean {
    if (!this.#take(QUOTE)) return false;
    for (;;) {
      const quote = this.#body.indexOf(QUOTE, this.#at);
      if (quote < 0) return false;
      let escapes = 0;
      while (quote - escapes > this.#at && this.#body[quote - escapes - 1] === BACKSLASH) escapes += 1;
      this.#at = quote + 1;
      if (escapes % 2 === 0) return true;
    }
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

const READ_FIELDS: ReadonlySet<string> = new Set(['model', 'stream']);
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const COMMA = 0x2c;
const COLON = 0x3a;

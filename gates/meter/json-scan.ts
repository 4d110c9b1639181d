/**
 * Finds values in a JSON text as it passes, by the names that lead to them: `usage`, or `response.usage` one level
 * deeper. It takes any number of pieces, cut anywhere, and keeps nothing but what it looks for, so an answer of any
 * size costs the same memory. A name counts only where it stands: `usage` in a tool's argument is somebody's text.
 */

export interface Wanted {
  /** `name` or `parent.name`. */
  readonly paths: ReadonlySet<string>;
  readonly parents: ReadonlySet<string>;
}

export class JsonScan {
  readonly #wanted: Wanted;
  readonly #found: (path: string, text: string) => void;
  #depth = 0;
  /** How deep the objects lie whose fields are read: 1, and 2 where the text is an array of them. */
  #fieldDepth = 1;
  /** Whether the open object at that depth, and the one below it, is one whose fields are read. */
  #readsOuter = false;
  #readsInner = false;
  /** Whether the innermost open bracket is such an object. */
  #reads = false;
  #awaitsName = false;
  #inText = false;
  #inName = false;
  /** Whether the piece before ended in a backslash that escapes what comes now. */
  #escaping = false;
  #name = '';
  #parent = '';
  /** The path of the value that is being kept, its depth, and what came of it in earlier pieces. */
  #path: string | null = null;
  #keptDepth = 0;
  #kept: Buffer[] = [];
  #keptBytes = 0;
  #keptFrom = 0;
  #finished = false;

  constructor(wanted: Wanted, found: (path: string, text: string) => void) {
    this.#wanted = wanted;
    this.#found = found;
  }

  /** Whether the text came to its end, or is none that can be read. */
  get finished(): boolean {
    return this.#finished;
  }

  /** Begins another text. */
  reset(): void {
    this.#depth = 0;
    this.#reads = false;
    this.#inText = false;
    this.#inName = false;
    this.#escaping = false;
    this.#finished = false;
    this.#drop();
  }

  write(bytes: Buffer): void {
    this.#keptFrom = 0;
    let at = 0;
    while (at < bytes.length && !this.#finished) {
      at = this.#inText ? this.#skipText(bytes, at) : this.#walk(bytes, at);
    }
    if (this.#path !== null) this.#keep(bytes.subarray(this.#keptFrom));
  }

  /** From outside a text up to behind the next quote. */
  #walk(bytes: Buffer, at: number): number {
    for (let i = this.#passNumbers(bytes, at); i < bytes.length; i += 1) {
      const kind = KINDS[bytes[i] ?? 0] ?? PLAIN;
      if (kind === PLAIN) continue;
      if (kind === QUOTE) {
        this.#beginText();
        return i + 1;
      }
      if (kind === CLOSE) this.#close(bytes, i);
      else if (kind === OPEN_OBJECT) this.#open(true);
      else if (kind === OPEN_ARRAY) {
        this.#open(false);
        i = this.#passNumbers(bytes, i + 1) - 1;
      } else if (this.#reads) this.#separate(kind, bytes, i);
      if (this.#finished) break;
    }
    return bytes.length;
  }

  /** Embeddings are long lists of numbers: what holds nothing else is jumped over. @returns where to go on */
  #passNumbers(bytes: Buffer, at: number): number {
    if (this.#reads || this.#depth === 0 || !isNumeric(bytes[at])) return at;
    const close = bytes.indexOf(CLOSE_BRACKET, at);
    const end = close < 0 ? bytes.length : close;
    const list = bytes.subarray(at, end);
    return OTHER_MARKS.some((mark) => list.includes(mark)) ? at : end;
  }

  #beginText(): void {
    this.#inText = true;
    this.#inName = this.#reads && this.#awaitsName;
    this.#awaitsName = false;
    if (this.#inName) this.#name = '';
  }

  #separate(kind: number, bytes: Buffer, at: number): void {
    if (kind === COMMA) {
      if (this.#path !== null) this.#tell(bytes, at);
      this.#awaitsName = true;
      return;
    }
    const path = this.#depth === this.#fieldDepth ? this.#name : `${this.#parent}.${this.#name}`;
    if (!this.#wanted.paths.has(path)) return;
    this.#path = path;
    this.#keptDepth = this.#depth;
    this.#keptFrom = at + 1;
  }

  #open(isObject: boolean): void {
    if (this.#depth === 0) this.#fieldDepth = isObject ? 1 : 2;
    this.#depth += 1;
    if (this.#depth === this.#fieldDepth) {
      this.#readsOuter = isObject;
    } else if (this.#depth === this.#fieldDepth + 1) {
      this.#readsInner = isObject && this.#readsOuter && this.#wanted.parents.has(this.#name);
      this.#parent = this.#name;
    }
    this.#reads = this.#readsAt(this.#depth);
    this.#awaitsName = this.#reads;
  }

  #close(bytes: Buffer, at: number): void {
    // A number or a word ends where the object around it does, an object behind its own bracket.
    if (this.#path !== null && this.#depth === this.#keptDepth) this.#tell(bytes, at);
    this.#depth -= 1;
    if (this.#path !== null && this.#depth === this.#keptDepth) this.#tell(bytes, at + 1);
    this.#reads = this.#readsAt(this.#depth);
    this.#awaitsName = false;
    this.#finished = this.#depth <= 0;
  }

  #readsAt(depth: number): boolean {
    if (depth === this.#fieldDepth) return this.#readsOuter;
    return depth === this.#fieldDepth + 1 && this.#readsInner;
  }

  /** From inside a text up to behind its closing quote. Long texts are jumped over, not walked through. */
  #skipText(bytes: Buffer, at: number): number {
    const start = this.#escaping ? at : plainEnd(bytes, at);
    for (let from = start; ; ) {
      const quote = bytes[from] === QUOTE_BYTE ? from : bytes.indexOf(QUOTE_BYTE, from);
      const end = quote < 0 ? bytes.length : quote;
      const escaped = this.#isEscaped(bytes, at, end);
      if (quote < 0 || !escaped) {
        if (this.#inName && this.#name.length < MAX_NAME) this.#name += bytes.toString('latin1', at, end);
        this.#escaping = quote < 0 && escaped;
        this.#inText = quote < 0;
        return quote < 0 ? end : quote + 1;
      }
      from = quote + 1;
    }
  }

  /** Whether the byte at `end` is escaped by the backslashes before it, those of the piece before among them. */
  #isEscaped(bytes: Buffer, at: number, end: number): boolean {
    let from = end;
    while (from > at && bytes[from - 1] === BACKSLASH) from -= 1;
    const odd = (end - from) % 2 === 1;
    return from === at && this.#escaping ? !odd : odd;
  }

  #keep(bytes: Buffer): void {
    this.#keptBytes += bytes.length;
    if (this.#keptBytes > MAX_VALUE_BYTES) this.#drop();
    // A copy: whoever passes the bytes on may write into them.
    else this.#kept.push(Buffer.from(bytes));
  }

  #tell(bytes: Buffer, end: number): void {
    const path = this.#path;
    this.#keep(bytes.subarray(this.#keptFrom, end));
    const text = this.#path === null ? null : Buffer.concat(this.#kept).toString('utf8').trim();
    this.#drop();
    if (path !== null && text !== null) this.#found(path, text);
  }

  #drop(): void {
    this.#path = null;
    this.#kept = [];
    this.#keptBytes = 0;
  }
}

/** Where the first quote or backslash may stand: most texts are so short that a walk is faster than a search. */
function plainEnd(bytes: Buffer, at: number): number {
  const end = Math.min(bytes.length, at + SHORT_TEXT);
  let i = at;
  while (i < end && bytes[i] !== QUOTE_BYTE && bytes[i] !== BACKSLASH) i += 1;
  return i;
}

/** A byte of a number, or the comma between two, where a piece was cut in a list. */
function isNumeric(byte = 0): boolean {
  return (byte >= 0x2b && byte <= 0x39) || byte === 0x45 || byte === 0x65;
}

const SHORT_TEXT = 32;
const QUOTE_BYTE = 0x22;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
/** What stands in no list of numbers: a text, or a list or object of its own. */
const OTHER_MARKS = [QUOTE_BYTE, 0x5b, 0x7b, 0x7d];
const [PLAIN, QUOTE, COLON, COMMA, CLOSE, OPEN_OBJECT, OPEN_ARRAY] = [0, 1, 2, 3, 4, 5, 6];
const KINDS = new Uint8Array(256);
KINDS[QUOTE_BYTE] = QUOTE;
KINDS[0x3a] = COLON;
KINDS[0x2c] = COMMA;
KINDS[0x7d] = CLOSE;
KINDS[CLOSE_BRACKET] = CLOSE;
KINDS[0x7b] = OPEN_OBJECT;
KINDS[0x5b] = OPEN_ARRAY;
/** Names that are looked for are short. */
const MAX_NAME = 64;
/** A usage is some hundred bytes. */
const MAX_VALUE_BYTES = 64 * 1024;

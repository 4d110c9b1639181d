/**
 * About how many tokens passed in an answer, for one that ends before its usage is told: a token for every four bytes
 * of text. Of a stream, each event with a text has one at least, and what is around its text is taken off: as much as its
 * shortest event has, within what its dialect has. No event is parsed: its length counts and, in two dialects, its head.
 */
import type { Dialect } from '../../core-lite/state/dialect.ts';

export class PassedTokens {
  readonly #frame: Frame;
  #bytes = 0;
  /** Whether any event ended. */
  #streams = false;
  /** Events with a text. */
  #events = 0;
  #textBytes = 0;
  #shortest: number;
  /** How much of an event came in earlier chunks. */
  #begun = 0;
  /** The first of it. */
  #head = '';
  /** What ends an event: it is told by the first line. */
  #border: string | null = null;
  /** The last bytes of that event: a border may begin in them. */
  #tail = '';

  constructor(dialect: Dialect) {
    this.#frame = FRAMES[dialect];
    this.#shortest = this.#frame.most;
  }

  add(chunk: Buffer): void {
    this.#bytes += chunk.length;
    this.#border ??= borderOf(this.#tail, chunk);
    const from = this.#border === null ? 0 : this.#count(chunk, this.#border);
    this.#take(chunk, from, chunk.length);
    const last = this.#tail + chunk.toString('latin1', Math.max(from, chunk.length - MOST_OF_A_BORDER));
    this.#tail = last.slice(-Math.min(this.#begun, MOST_OF_A_BORDER));
  }

  get tokens(): number {
    if (!this.#streams) return tokensOfBytes(this.#bytes);
    const rest = this.#hasText ? Math.max(0, this.#begun - this.#shortest) : 0;
    return this.#events + tokensOfBytes(this.#textBytes - this.#events * this.#shortest + rest);
  }

  /** @returns where the event begins that has not ended */
  #count(chunk: Buffer, border: string): number {
    let from = 0;
    const across = (this.#tail + chunk.toString('latin1', 0, border.length - 1)).indexOf(border);
    let end = across < 0 ? -1 : across + border.length - this.#tail.length;
    if (end < 0) end = endOf(chunk, border, from);
    for (; end >= 0; end = endOf(chunk, border, from)) {
      this.#take(chunk, from, end);
      this.#endEvent();
      from = end;
    }
    return from;
  }

  #take(chunk: Buffer, from: number, end: number): void {
    const missing = this.#frame.sign === null ? 0 : HEAD_BYTES - this.#head.length;
    if (missing > 0) this.#head += chunk.toString('latin1', from, Math.min(end, from + missing));
    this.#begun += end - from;
  }

  #endEvent(): void {
    this.#streams = true;
    if (this.#hasText) {
      this.#events += 1;
      this.#textBytes += this.#begun;
      this.#shortest = Math.min(this.#shortest, this.#begun);
    }
    this.#begun = 0;
    this.#head = '';
    this.#tail = '';
  }

  get #hasText(): boolean {
    const { least, sign } = this.#frame;
    return this.#begun >= least && (sign === null || this.#head.includes(sign));
  }
}

export function tokensOfBytes(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_TOKEN);
}

/** The index behind the next border, or -1. */
function endOf(chunk: Buffer, border: string, from: number): number {
  const at = chunk.indexOf(border, from);
  return at < 0 ? -1 : at + border.length;
}

function borderOf(tail: string, chunk: Buffer): string | null {
  const end = chunk.indexOf('\n');
  if (end < 0) return null;
  const before = end === 0 ? tail.slice(-1) : chunk.toString('latin1', end - 1, end);
  return before === '\r' ? '\n\r\n' : '\n\n';
}

/** What is around a text in an event, in bytes. */
interface Frame {
  /** As short as any server writes it: a shorter event lives or ends, and has no text. */
  readonly least: number;
  /** As its own provider writes it: an event that is longer holds more text. */
  readonly most: number;
  /** What stands in the head of an event with a text; `null` where each may have one. */
  readonly sign: string | null;
}

/** Anthropic and Responses say more than texts: what was asked, what lives, and in the end all the text once more. */
const FRAMES: Readonly<Record<Dialect, Frame>> = {
  openai: { least: 45, most: 280, sign: null },
  embeddings: { least: 45, most: 280, sign: null },
  responses: { least: 85, most: 280, sign: 'delta' },
  anthropic: { least: 105, most: 130, sign: 'delta' },
  gemini: { least: 55, most: 400, sign: null },
};
const MOST_OF_A_BORDER = 2;
const BYTES_PER_TOKEN = 4;
/** The name of an event, and the type in its data. */
const HEAD_BYTES = 80;

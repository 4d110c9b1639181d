/**
 * About how many tokens passed in an answer, for one that ends before its usage is told: a token for every four bytes
 * of text. Of a stream of events, what is around the text is as long as its shortest event, and each has one at least.
 */
export class PassedTokens {
  #bytes = 0;
  #events = 0;
  #shortest = MAX_ENVELOPE_BYTES;
  /** How much of an event came in earlier chunks. */
  #begun = 0;
  /** What ends an event: it is told by the first line. */
  #border: string | null = null;
  /** The last bytes of that event: a border may begin in them. */
  #tail = '';

  add(chunk: Buffer): void {
    this.#bytes += chunk.length;
    this.#border ??= borderOf(this.#tail, chunk);
    const from = this.#border === null ? 0 : this.#count(chunk, this.#border);
    this.#begun += chunk.length - from;
    const last = this.#tail + chunk.toString('latin1', Math.max(from, chunk.length - MOST_OF_A_BORDER));
    this.#tail = last.slice(-Math.min(this.#begun, MOST_OF_A_BORDER));
  }

  /** @returns where the event begins that has not ended */
  #count(chunk: Buffer, border: string): number {
    let from = 0;
    const across = (this.#tail + chunk.toString('latin1', 0, border.length - 1)).indexOf(border);
    let end = across < 0 ? -1 : across + border.length - this.#tail.length;
    if (end < 0) end = endOf(chunk, border, from);
    for (; end >= 0; end = endOf(chunk, border, from)) {
      this.#events += 1;
      this.#shortest = Math.min(this.#shortest, this.#begun + end - from);
      this.#begun = 0;
      this.#tail = '';
      from = end;
    }
    return from;
  }

  get tokens(): number {
    const text = Math.max(0, this.#bytes - this.#events * this.#shortest);
    return this.#events + tokensOfBytes(text);
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

const MOST_OF_A_BORDER = 2;
const BYTES_PER_TOKEN = 4;
/** What the largest dialects have around a word. An event that is longer holds text. */
const MAX_ENVELOPE_BYTES = 400;

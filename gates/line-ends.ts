/** Where the lines of an event stream end, one after the other: with CR, LF or both. No byte is looked at twice. */
export class LineEnds {
  readonly #bytes: Buffer;
  #feed = -1;
  #cr = -1;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** @returns the index of the first CR or LF from `at` on, or -1. @param at never less than the time before */
  next(at: number): number {
    if (this.#feed < at) this.#feed = this.#find(LF, at);
    if (this.#cr < at) this.#cr = this.#find(CR, at);
    const end = Math.min(this.#feed, this.#cr);
    return end === Infinity ? -1 : end;
  }

  #find(byte: number, at: number): number {
    const found = this.#bytes.indexOf(byte, at);
    return found < 0 ? Infinity : found;
  }
}

const LF = 0x0a;
const CR = 0x0d;

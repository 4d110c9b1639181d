/**
 * Bytes that come in pieces and are wanted as one. It holds more than it needs, so that what comes byte by byte is not
 * copied for each of them; how much may come is bounded by whoever fills it.
 */
export class GrowingBuffer {
  #held: Buffer = EMPTY;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** All that came. Valid until the next piece. */
  get bytes(): Buffer {
    return this.#held.subarray(0, this.#length);
  }

  push(piece: Buffer): void {
    const length = this.#length + piece.length;
    // Most of what is wanted comes in one piece, which is not copied.
    if (this.#length === 0) this.#held = piece;
    else {
      if (length > this.#held.length) this.#grow(length);
      piece.copy(this.#held, this.#length);
    }
    this.#length = length;
  }

  clear(): void {
    this.#held = EMPTY;
    this.#length = 0;
  }

  #grow(length: number): void {
    const grown = Buffer.allocUnsafeSlow(Math.max(length * 2, FIRST_BYTES));
    this.#held.copy(grown, 0, 0, this.#length);
    this.#held = grown;
  }
}

const EMPTY = Buffer.alloc(0);
const FIRST_BYTES = 1024;

/** The first and the last bytes of a stream, in a fixed amount of memory: chunks are copied, never kept. */
export class TailBuffer {
  readonly #head: Buffer;
  readonly #tail: Buffer;
  readonly #tailBytes: number;
  #headUsed = 0;
  #tailUsed = 0;

  constructor(headBytes: number, tailBytes: number) {
    this.#head = Buffer.allocUnsafeSlow(headBytes);
    this.#tailBytes = tailBytes;
    // Twice as large, so that it is moved together once in a while and not with every chunk.
    this.#tail = Buffer.allocUnsafeSlow(tailBytes * 2);
  }

  add(chunk: Buffer): void {
    if (this.#headUsed < this.#head.length) this.#headUsed += chunk.copy(this.#head, this.#headUsed);
    const last = chunk.length > this.#tailBytes ? chunk.subarray(chunk.length - this.#tailBytes) : chunk;
    if (this.#tailUsed + last.length > this.#tail.length) {
      const kept = Math.min(this.#tailUsed, this.#tailBytes);
      this.#tail.copyWithin(0, this.#tailUsed - kept, this.#tailUsed);
      this.#tailUsed = kept;
    }
    this.#tailUsed += last.copy(this.#tail, this.#tailUsed);
  }

  get head(): Buffer {
    return this.#head.subarray(0, this.#headUsed);
  }

  /** At least the last `tailBytes`, where there were so many. */
  get tail(): Buffer {
    return this.#tail.subarray(0, this.#tailUsed);
  }
}

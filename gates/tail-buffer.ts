/** The last bytes of a stream, in a fixed amount of memory: chunks are copied, never kept. */
export class TailBuffer {
  readonly #bytes: Buffer;
  readonly #most: number;
  #used = 0;
  #seen = 0;

  constructor(most: number) {
    this.#most = most;
    // Twice as large, so that it is moved together once in a while and not with every chunk.
    this.#bytes = Buffer.allocUnsafeSlow(most * 2);
  }

  add(chunk: Buffer): void {
    const last = chunk.length > this.#most ? chunk.subarray(chunk.length - this.#most) : chunk;
    if (this.#used + last.length > this.#bytes.length) {
      const kept = Math.min(this.#used, this.#most);
      this.#bytes.copyWithin(0, this.#used - kept, this.#used);
      this.#used = kept;
    }
    this.#used += last.copy(this.#bytes, this.#used);
    this.#seen += chunk.length;
  }

  /** At least the last `most` bytes, where there were so many. */
  get tail(): Buffer {
    return this.#bytes.subarray(0, this.#used);
  }

  /** Whether the tail is all there was. */
  get whole(): boolean {
    return this.#seen === this.#used;
  }
}

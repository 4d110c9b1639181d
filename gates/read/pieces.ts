/** The pieces of a body until it is whole. However small they come, they take little more than their bytes. */
export class Pieces {
  readonly #joined: Buffer[] = [];
  #small: Buffer[] = [];
  #bytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  add(piece: Buffer): void {
    this.#bytes += piece.length;
    // A piece of its own takes a few hundred bytes more than those that are in it.
    if (this.#small.push(piece) === MOST_SMALL || piece.length >= SMALL_BYTES) this.#join();
  }

  /** All of them; they are let go of. */
  take(): Buffer {
    this.#join();
    const pieces = this.#joined.splice(0);
    return pieces.length === 1 && pieces[0] ? pieces[0] : Buffer.concat(pieces);
  }

  #join(): void {
    const [only] = this.#small;
    if (!only) return;
    this.#joined.push(this.#small.length === 1 ? only : Buffer.concat(this.#small));
    this.#small = [];
  }
}

const SMALL_BYTES = 4 * 1024;
const MOST_SMALL = 1024;

/**
 * The pieces of a body until it is whole. However small they come and whatever they were cut from, they take little more
 * than their bytes: a piece of its own takes a few hundred more, and keeps all that was read with it.
 */
export class Pieces {
  readonly #whole: Buffer[] = [];
  /** Where small ones are copied to, the next one at `#end`; those from `#start` stand behind what is in `#whole`. */
  #block: Buffer = EMPTY;
  #start = 0;
  #end = 0;
  #bytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  add(piece: Buffer): void {
    this.#bytes += piece.length;
    if (isKept(piece)) {
      this.#close();
      this.#whole.push(piece);
    } else this.#copy(piece);
  }

  /** All of them; they are let go of. */
  take(): Buffer {
    this.#close();
    const pieces = this.#whole.splice(0);
    this.#block = EMPTY;
    this.#start = 0;
    this.#end = 0;
    return pieces.length === 1 && pieces[0] ? pieces[0] : Buffer.concat(pieces);
  }

  #copy(piece: Buffer): void {
    let copied = 0;
    while (copied < piece.length) {
      if (this.#end === this.#block.length) this.#open();
      const step = piece.copy(this.#block, this.#end, copied);
      this.#end += step;
      copied += step;
    }
  }

  /** As large as all that came, so that there are few. */
  #open(): void {
    this.#close();
    this.#block = Buffer.allocUnsafeSlow(Math.min(Math.max(this.#bytes, FIRST_BYTES), MOST_BYTES));
    this.#start = 0;
    this.#end = 0;
  }

  /** What was copied stands before what comes; the rest of its block is still there for others. */
  #close(): void {
    if (this.#start === this.#end) return;
    this.#whole.push(this.#block.subarray(this.#start, this.#end));
    this.#start = this.#end;
  }
}

/** A large one that has most of its memory for itself is not copied. */
function isKept(piece: Buffer): boolean {
  return piece.length >= LARGE_BYTES && piece.length * 2 >= piece.buffer.byteLength;
}

const EMPTY = Buffer.alloc(0);
const LARGE_BYTES = 4 * 1024;
const FIRST_BYTES = 512;
const MOST_BYTES = 64 * 1024;

/**
 * Finds the end of a request's head in what a client sends, piece by piece, and gives up at once where it can be no
 * head any more: nobody waits ten seconds to be told that TLS, noise or bare line feeds are no HTTP. What stands in
 * the lines is read by `parseRequestHead`.
 */
import { GrowingBuffer } from './growing-buffer.ts';

export type Scan =
  | 'more'
  | 'malformed'
  /** A whole head with its empty line, and what came behind it. */
  | { readonly head: Buffer; readonly rest: Buffer };

export class HeadScanner {
  readonly #came = new GrowingBuffer();
  #searched = 0;
  #lineStart = 0;
  #lines = 0;
  #skipped = false;

  /** Whether a head has begun. */
  get begun(): boolean {
    return this.#came.length > 0;
  }

  /** Takes the next bytes. After anything but `more` it begins anew. */
  push(chunk: Buffer): Scan {
    this.#came.push(chunk);
    const scan = this.#scan();
    if (scan !== 'more') this.#reset();
    return scan;
  }

  #scan(): Scan {
    const { bytes } = this.#came;
    while (this.#searched < bytes.length) {
      if (this.#lines === 0 && !mayBegin(bytes[this.#lineStart])) return 'malformed';
      const lf = bytes.indexOf(LF, this.#searched);
      this.#searched = lf < 0 ? bytes.length : lf + 1;
      if (lf < 0) break;
      if (bytes[lf - 1] !== CR || this.#searched > MAX_HEAD_BYTES) return 'malformed';
      const isEmpty = lf - 1 === this.#lineStart;
      this.#lineStart = this.#searched;
      if (isEmpty && this.#lines > 0) return this.#end(bytes);
      if (!this.#count(isEmpty)) return 'malformed';
    }
    return bytes.length > MAX_HEAD_BYTES ? 'malformed' : 'more';
  }

  /** @returns whether the head may go on with this line */
  #count(isEmpty: boolean): boolean {
    if (!isEmpty) this.#lines += 1;
    // RFC 9112 2.2: one empty line in front of a request is overlooked.
    else if (this.#skipped) return false;
    else this.#skipped = true;
    return this.#lines <= MAX_LINES;
  }

  #end(bytes: Buffer): Scan {
    const head = bytes.subarray(this.#skipped ? 2 : 0, this.#lineStart);
    // An empty slice would keep the whole of what came in memory, for as long as a tunnel lives.
    const rest = this.#lineStart === bytes.length ? EMPTY : bytes.subarray(this.#lineStart);
    return { head, rest };
  }

  #reset(): void {
    this.#came.clear();
    this.#searched = 0;
    this.#lineStart = 0;
    this.#lines = 0;
    this.#skipped = false;
  }
}

/** A method (they are in capitals, and have case), or the empty line that may stand before it. */
function mayBegin(byte: number | undefined): boolean {
  return byte === undefined || byte === CR || (byte >= 0x41 && byte <= 0x5a);
}

const EMPTY = Buffer.alloc(0);
const LF = 0x0a;
const CR = 0x0d;
/** The figures: header blocks to 64 KiB; 200 lines behind the first. */
const MAX_HEAD_BYTES = 64 * 1024;
const MAX_LINES = 201;

/**
 * Gathers one head out of the pieces that it comes in, and searches each byte once. What stands in its lines is read by
 * `parseRequestHead` and `parseResponseHead`.
 */
import { GrowingBuffer } from './growing-buffer.ts';
import { findHeadEnd } from './head.ts';

export type Gathered =
  | 'more'
  /** Too large, or behind more than one empty line. */
  | 'no_head'
  /** A whole head with its empty line, and what came behind it. */
  | { readonly head: Buffer; readonly rest: Buffer };

export class HeadGatherer {
  readonly #maxBytes: number;
  readonly #came = new GrowingBuffer();
  #searched = 0;
  /** RFC 9112 2.2: one empty line in front of a request is overlooked. */
  #start = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Whether a head has begun. */
  get begun(): boolean {
    return this.#came.length > this.#start;
  }

  /** Takes the next bytes. Nothing is to be pushed after anything but `more`. */
  push(piece: Buffer): Gathered {
    this.#came.push(piece);
    const { bytes } = this.#came;
    if (startsEmpty(bytes, 0)) {
      this.#start = EMPTY_LINE_BYTES;
      if (startsEmpty(bytes, EMPTY_LINE_BYTES)) return 'no_head';
    }
    const end = findHeadEnd(bytes, this.#searched);
    this.#searched = bytes.length;
    if ((end < 0 ? bytes.length : end) - this.#start > this.#maxBytes) return 'no_head';
    return end < 0 ? 'more' : { head: bytes.subarray(this.#start, end), rest: bytes.subarray(end) };
  }
}

function startsEmpty(bytes: Buffer, at: number): boolean {
  return bytes[at] === CR && bytes[at + 1] === LF;
}

const CR = 0x0d;
const LF = 0x0a;
const EMPTY_LINE_BYTES = 2;

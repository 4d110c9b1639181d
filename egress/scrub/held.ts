/**
 * Bytes of a body that wait, in order: its data, and what frames it. What frames waits behind the data before it, so the
 * bytes go on as they came.
 */

/** Bytes that came together. */
export interface Piece {
  /** Ours to change: nobody else reads them. */
  readonly bytes: Buffer;
  /** Begin and end of each stretch of data in `bytes`, flat. */
  readonly data: readonly number[];
}

export class Held {
  #pieces: Placed[] = [];
  /** Data that came so far. */
  #came = 0;
  #size = 0;

  /** How many bytes wait, with what frames them. */
  get size(): number {
    return this.#size;
  }

  push({ bytes, data }: Piece): void {
    const last = this.#pieces.at(-1);
    const joined = last && joinSmall(last, { bytes, data });
    if (joined) this.#pieces[this.#pieces.length - 1] = { ...joined, at: last.at };
    else this.#pieces.push({ bytes, data, at: this.#came });
    this.#size += bytes.length;
    this.#came += lengthOf(data);
  }

  /** Puts stars in place of the data from one place to another, as far as it is here. Counted in all data. */
  mask(start: number, end: number): void {
    for (const piece of this.#pieces) maskPiece(piece, start, end);
  }

  /** Takes out what may go on. @param until counted in all data */
  takeTo(until: number): readonly Piece[] {
    const out: Piece[] = [];
    for (let piece = this.#pieces[0]; piece; piece = this.#pieces[0]) {
      const cut = indexOf(piece, until);
      this.#size -= cut;
      if (cut < piece.bytes.length) {
        if (cut > 0) out.push(headOf(piece, cut));
        this.#pieces[0] = { ...restOf(piece, cut), at: Math.max(until, piece.at) };
        return out;
      }
      out.push(piece);
      this.#pieces.shift();
    }
    return out;
  }

  takeAll(): readonly Piece[] {
    return this.takeTo(this.#came);
  }
}

/** @returns both in one, where they are small: what comes byte by byte must not take an object for each. */
export function joinSmall(first: Piece, second: Piece): Piece | null {
  const at = first.bytes.length;
  if (at + second.bytes.length > SMALL_BYTES) return null;
  const data = [...first.data];
  const moved = second.data.map((place) => place + at);
  if (moved.length > 0 && data.at(-1) === moved[0]) {
    data.pop();
    moved.shift();
  }
  return { bytes: Buffer.concat([first.bytes, second.bytes]), data: [...data, ...moved] };
}

interface Placed extends Piece {
  /** How much data came before it. */
  readonly at: number;
}

function lengthOf(data: readonly number[]): number {
  return data.reduce((length, at, i) => (i % 2 === 0 ? length - at : length + at), 0);
}

function maskPiece({ bytes, data, at }: Placed, start: number, end: number): void {
  let passed = at;
  for (let i = 0; i < data.length; i += 2) {
    const from = data[i] as number;
    const length = (data[i + 1] as number) - from;
    const first = Math.max(start - passed, 0);
    const last = Math.min(end - passed, length);
    if (first < last) bytes.fill('*', from + first, from + last);
    passed += length;
  }
}

/** The index in a piece where this much data has passed; its length where it has no more. */
function indexOf({ bytes, data, at }: Placed, until: number): number {
  let passed = at;
  for (let i = 0; i < data.length; i += 2) {
    const from = data[i] as number;
    const length = (data[i + 1] as number) - from;
    // It may have begun in what was let go already.
    if (until - passed < length) return from + Math.max(until - passed, 0);
    passed += length;
  }
  return bytes.length;
}

function headOf({ bytes, data }: Piece, cut: number): Piece {
  return { bytes: bytes.subarray(0, cut), data: clip(data, 0, cut) };
}

function restOf({ bytes, data }: Piece, cut: number): Piece {
  return { bytes: bytes.subarray(cut), data: clip(data, cut, bytes.length) };
}

function clip(data: readonly number[], from: number, to: number): number[] {
  const kept: number[] = [];
  for (let i = 0; i < data.length; i += 2) {
    const start = Math.max(data[i] as number, from);
    const end = Math.min(data[i + 1] as number, to);
    if (start < end) kept.push(start - from, end - from);
  }
  return kept;
}

const SMALL_BYTES = 1024;

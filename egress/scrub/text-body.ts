/**
 * Masks the forms of secrets in a text body as it streams. No byte is added or taken away, so lengths, ranges and chunk
 * sizes stay true. Bytes wait only while they may be the beginning of a form, and what frames them waits behind them.
 */
import type { BodyScrubber, Tally } from './body-scrubber.ts';
import { Finder } from './finder.ts';
import type { Forms } from './forms.ts';

export class TextBody implements BodyScrubber {
  readonly #finder: Finder;
  readonly #tally: Tally;
  #held: Piece[] = [];
  #heldBytes = 0;
  /** Where the last form ended, counted in all data. */
  #maskedTo = 0;

  constructor(forms: Forms, tally: Tally) {
    this.#finder = new Finder(forms);
    this.#tally = tally;
  }

  get mayLetGo(): boolean {
    return this.#held.length > 0 && this.#finder.depth <= MAX_SHOWN;
  }

  push(bytes: Buffer, data: readonly number[]): readonly Buffer[] {
    this.#held.push({ bytes, data, at: this.#finder.at });
    this.#heldBytes += bytes.length;
    for (let i = 0; i < data.length; i += 2) {
      const found = this.#finder.scan(bytes, data[i] as number, data[i + 1] as number);
      for (let j = 0; j < found.length; j += 2) this.#mask(found[j] as number, found[j + 1] as number);
    }
    return this.#letGoTo(this.#heldBytes > MAX_HELD_BYTES ? this.#finder.at : this.#finder.earliest);
  }

  letGo(): readonly Buffer[] {
    return this.#letGoTo(this.#finder.at);
  }

  close(): void {}

  #mask(start: number, end: number): void {
    if (start >= this.#maskedTo) this.#tally.masked += 1;
    this.#maskedTo = end;
    for (const piece of this.#held) maskPiece(piece, start, end);
  }

  /** @param until counted in all data */
  #letGoTo(until: number): readonly Buffer[] {
    const out: Buffer[] = [];
    while (this.#held.length > 0) {
      const piece = this.#held[0] as Piece;
      const cut = indexOf(piece, until);
      this.#heldBytes -= cut;
      if (cut < piece.bytes.length) {
        if (cut > 0) out.push(piece.bytes.subarray(0, cut));
        this.#held[0] = cutPiece(piece, cut, until);
        return out;
      }
      out.push(piece.bytes);
      this.#held.shift();
    }
    return out;
  }
}

/** Bytes that came together: data, and maybe what frames it. */
interface Piece {
  /** Ours to change: nobody else reads them. */
  readonly bytes: Buffer;
  /** Begin and end of each stretch of data in `bytes`, flat. */
  readonly data: readonly number[];
  /** How much data came before it. */
  readonly at: number;
}

function maskPiece(piece: Piece, start: number, end: number): void {
  const { data } = piece;
  let at = piece.at;
  for (let i = 0; i < data.length; i += 2) {
    const from = data[i] as number;
    const length = (data[i + 1] as number) - from;
    const first = Math.max(start - at, 0);
    const last = Math.min(end - at, length);
    if (first < last) piece.bytes.fill('*', from + first, from + last);
    at += length;
  }
}

/** The index in a piece where this much data has passed; its length where it has no more. */
function indexOf({ bytes, data, at }: Piece, until: number): number {
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

function cutPiece({ bytes, data }: Piece, cut: number, at: number): Piece {
  const rest: number[] = [];
  for (let i = 0; i < data.length; i += 2) {
    const end = data[i + 1] as number;
    if (end > cut) rest.push(Math.max((data[i] as number) - cut, 0), end - cut);
  }
  return { bytes: bytes.subarray(cut), data: rest, at };
}

/** Symbols of a form that may be shown when the origin pauses behind them: fewer than anybody could use. */
const MAX_SHOWN = 3;
/** More than any spelling of a secret takes; more is somebody who wants us to hold it. */
const MAX_HELD_BYTES = 1024 * 1024;

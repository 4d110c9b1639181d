/**
 * Finds the forms of secrets in bytes that come in pieces, in every spelling and across every border. It follows each
 * beginning of a form byte by byte, and tells nobody how far one has come. Its work for a byte is bounded, whatever comes.
 */
import type { Forms } from './forms.ts';
import { END, fits, shortEscape } from './symbols.ts';

export class Finder {
  readonly #forms: Forms;
  #followed: Followed;
  #next: Followed;
  /** Bytes that came so far. */
  #at = 0;
  #found: number[] = [];

  constructor(forms: Forms) {
    this.#forms = forms;
    const most = forms.starts.length * MAX_FOLLOWED_OF_FORM;
    this.#followed = new Followed(most);
    this.#next = new Followed(most);
  }

  /** How many bytes came. */
  get at(): number {
    return this.#at;
  }

  /** @returns begin and end of each form that was completed, flat, counted in all bytes that came */
  scan(bytes: Uint8Array, from: number, to: number): readonly number[] {
    const { sieve, beginners } = this.#forms;
    const before = this.#at - from;
    this.#found = NOTHING;
    let runEnd = from;
    let i = from;
    for (; i < to; i++) {
      if (this.#followed.count === 0 && i >= runEnd) {
        i = sieve.next(bytes, i, to);
        runEnd = sieve.runEnd;
      }
      const byte = bytes[i] as number;
      const begins = beginners[byte] === 1 && (i === to - 1 || sieve.may(bytes, i));
      if (this.#followed.count === 0 && !begins) continue;
      this.#at = before + i;
      this.#step(byte, begins);
    }
    this.#at = before + to;
    return this.#found;
  }

  #step(byte: number, begins: boolean): void {
    const followed = this.#followed;
    for (let i = 0; i < followed.count; i++) {
      this.#follow(
        followed.place[i] as number,
        followed.inside[i] as number,
        followed.from[i] as number,
        byte,
      );
    }
    if (begins) {
      for (const start of this.#forms.starts) this.#follow(start, PLAIN, this.#at, byte);
    }
    this.#followed = this.#next;
    this.#next = followed;
    this.#next.count = 0;
  }

  /** @param inside where in the spelling of the symbol at `place` the byte stands */
  #follow(place: number, inside: number, from: number, byte: number): void {
    const symbol = this.#forms.symbols[place] as number;
    if (inside === PLAIN) {
      if (fits(symbol, byte)) this.#advance(place, from);
      if (byte === PERCENT) this.#next.add(place, HIGH_DIGIT, from);
      else if (byte === BACKSLASH) this.#next.add(place, ESCAPED, from);
    } else if (inside >= HIGH_DIGIT) this.#followDigit(place, inside, from, byte);
    else if (inside !== ESCAPED) {
      if (byte === ZERO) this.#next.add(place, inside + 1, from);
    } else if (byte === LETTER_U) this.#next.add(place, FIRST_ZERO, from);
    else if (shortEscape(symbol) === byte) this.#advance(place, from);
  }

  #followDigit(place: number, inside: number, from: number, byte: number): void {
    const digit = hexDigit(byte);
    if (digit < 0) return;
    if (inside === HIGH_DIGIT) this.#next.add(place, LOW_DIGIT + digit, from);
    else if (fits(this.#forms.symbols[place] as number, (inside - LOW_DIGIT) * 16 + digit))
      this.#advance(place, from);
  }

  #advance(place: number, from: number): void {
    if (this.#forms.symbols[place + 1] !== END) this.#next.add(place + 1, PLAIN, from);
    else if (this.#found === NOTHING) this.#found = [from, this.#at + 1];
    else this.#found.push(from, this.#at + 1);
  }
}

/** The beginnings that are followed, oldest first. */
class Followed {
  readonly place: number[] = [];
  readonly inside: number[] = [];
  readonly from: number[] = [];
  readonly #most: number;
  count = 0;

  constructor(most: number) {
    this.#most = most;
  }

  add(place: number, inside: number, from: number): void {
    if (this.count === this.#most) return;
    this.place[this.count] = place;
    this.inside[this.count] = inside;
    this.from[this.count] = from;
    this.count += 1;
  }
}

function hexDigit(byte: number): number {
  if (byte >= ZERO && byte <= 0x39) return byte - ZERO;
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x61 + 10 : -1;
}

/** Where in a spelling: at its beginning; in `\u0000`, behind the backslash and at the zeros; at the digits of both. */
const PLAIN = 0;
const ESCAPED = 1;
const FIRST_ZERO = 2;
/** 3 is at the second zero. */
const HIGH_DIGIT = 4;
/** And the high digit. */
const LOW_DIGIT = 16;
const PERCENT = 0x25;
const BACKSLASH = 0x5c;
const LETTER_U = 0x75;
const ZERO = 0x30;
const NOTHING: number[] = [];
/** Only a secret that repeats itself has more beginnings at once than a few; then the youngest are not followed. */
const MAX_FOLLOWED_OF_FORM = 16;

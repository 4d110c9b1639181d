/**
 * Looks for forms in a text that streams, and says how much of it is settled. That is by its length and its line ends
 * alone: were it by how far a form has come, whoever may write into the text would see how well a guess begins.
 */
import { Finder } from './finder.ts';
import type { Forms } from './forms.ts';

export class Search {
  readonly #finder: Finder;
  readonly #longest: number;
  /** Where the last line ended, counted in all bytes. */
  #lineTo = 0;

  constructor(forms: Forms) {
    this.#finder = new Finder(forms);
    this.#longest = forms.longest;
  }

  /** How many bytes came. */
  get at(): number {
    return this.#finder.at;
  }

  /** Up to here no form is still to be completed: none is longer, and none has a line end in it. */
  get settledTo(): number {
    return Math.max(this.#lineTo, this.#finder.at - (this.#longest - 1));
  }

  /** @returns begin and end of each form that was completed, flat, counted in all bytes that came */
  scan(bytes: Uint8Array, from: number, to: number): readonly number[] {
    const before = this.#finder.at;
    const text = bytes.subarray(from, to);
    const end = Math.max(text.lastIndexOf(LF), text.lastIndexOf(CR));
    if (end >= 0) this.#lineTo = before + end + 1;
    return this.#finder.scan(bytes, from, to);
  }
}

const LF = 0x0a;
const CR = 0x0d;

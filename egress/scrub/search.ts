/**
 * Looks for forms in a text that streams, and says how much of it is settled. That is by its length and its line ends
 * alone: were it by how far a form has come, whoever may write into the text would see how well a guess begins.
 */
import { Finder } from './finder.ts';
import type { Forms } from './forms.ts';

export class Search {
  readonly #finder: Finder;
  readonly #longest: number;
  #foundBehind = 0;
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

  /** What was settled before the first form of the last scan came to its end: no form has a line end in it. */
  get foundBehind(): number {
    return this.#foundBehind;
  }

  /** @returns begin and end of each form that was completed, flat, counted in all bytes that came */
  scan(bytes: Uint8Array, from: number, to: number): readonly number[] {
    const before = this.#finder.at;
    const text = bytes.subarray(from, to);
    const found = this.#finder.scan(bytes, from, to);
    const first = Math.min(...found.filter((_, i) => i % 2 === 1));
    if (found.length > 0) {
      const line = endOfLine(text.subarray(0, Math.max(first - before, 0)));
      this.#foundBehind = Math.max(this.#lineTo, line && before + line, first - this.#longest);
    }
    const line = endOfLine(text);
    if (line > 0) this.#lineTo = before + line;
    return found;
  }
}

/** @returns where the last line in it ends; 0 where none does */
function endOfLine(text: Uint8Array): number {
  return Math.max(text.lastIndexOf(LF), text.lastIndexOf(CR)) + 1;
}

const LF = 0x0a;
const CR = 0x0d;

/**
 * Masks the forms of secrets in a text body as it streams. No byte is added or taken away, so lengths, ranges and chunk
 * sizes stay true. The end of what came waits for as long as a form is, or for a pause, whatever stands there: how long
 * bytes wait must say nothing of a secret.
 */
import type { BodyScrubber, Tally } from './body-scrubber.ts';
import type { Forms } from './forms.ts';
import { Held, type Piece } from './held.ts';
import { Search } from './search.ts';

export class TextBody implements BodyScrubber {
  readonly mayCut = false;
  readonly #search: Search;
  readonly #tally: Tally;
  readonly #held = new Held();
  /** Where the last form ended, counted in all data. */
  #maskedTo = 0;

  constructor(forms: Forms, tally: Tally) {
    this.#search = new Search(forms);
    this.#tally = tally;
  }

  get mayLetGo(): boolean {
    return this.#held.size > 0;
  }

  push(bytes: Buffer, data: readonly number[]): readonly Buffer[] {
    this.#held.push({ bytes, data });
    for (let i = 0; i < data.length; i += 2) {
      const found = this.#search.scan(bytes, data[i] as number, data[i + 1] as number);
      for (let j = 0; j < found.length; j += 2) this.#mask(found[j] as number, found[j + 1] as number);
    }
    if (this.#held.size > MAX_HELD_BYTES) return this.letGo();
    return this.#held.takeTo(this.#search.settledTo).map(bytesOf);
  }

  letGo(): readonly Buffer[] {
    return this.#held.takeAll().map(bytesOf);
  }

  end(): readonly Buffer[] {
    return this.letGo();
  }

  close(): void {}

  #mask(start: number, end: number): void {
    if (start >= this.#maskedTo) this.#tally.masked += 1;
    this.#maskedTo = Math.max(end, this.#maskedTo);
    this.#held.mask(start, end);
  }
}

function bytesOf({ bytes }: Piece): Buffer {
  return bytes;
}

/** More than any spelling of a secret takes; more is somebody who wants us to hold it. */
const MAX_HELD_BYTES = 1024 * 1024;

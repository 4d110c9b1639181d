/**
 * Takes the data out of one server-sent event as it passes: its `data` lines, whatever ends them and however they are
 * cut, go to a scan of the JSON in them. Nothing is kept.
 */
import { LineEnds } from '../line-ends.ts';
import type { JsonScan } from './json-scan.ts';

export class EventData {
  readonly #scan: Pick<JsonScan, 'reset' | 'write'>;
  #begun = false;
  #lineBytes = 0;
  /** What came of a line's field name; `null` once it is known whether the line holds data. */
  #field: string | null = '';
  #isData = false;
  #afterCr = false;

  constructor(scan: Pick<JsonScan, 'reset' | 'write'>) {
    this.#scan = scan;
  }

  /** Begins another event. */
  reset(): void {
    this.#scan.reset();
    this.#begun = false;
    this.#afterCr = false;
    this.#beginLine();
  }

  /** @returns the index behind the empty line that ends the event, or -1 where there is none yet */
  write(bytes: Buffer): number {
    const lines = new LineEnds(bytes);
    for (let at = 0; at < bytes.length; ) {
      if (this.#afterCr && bytes[at] === LF) {
        at += 1;
        this.#afterCr = false;
        continue;
      }
      this.#afterCr = false;
      const end = lines.next(at);
      this.#take(bytes.subarray(at, end < 0 ? bytes.length : end));
      if (end < 0) return -1;
      // Empty lines before it are the rest of what ended the event before.
      if (this.#lineBytes === 0 && this.#begun) return end + 1;
      this.#begun ||= this.#lineBytes > 0;
      this.#afterCr = bytes[end] === CR;
      this.#beginLine();
      at = end + 1;
    }
    return -1;
  }

  #beginLine(): void {
    this.#lineBytes = 0;
    this.#field = '';
    this.#isData = false;
  }

  #take(piece: Buffer): void {
    this.#lineBytes += piece.length;
    const rest = this.#field === null ? piece : this.#readField(this.#field, piece);
    // A space behind the colon is a space before the JSON.
    if (this.#isData && rest.length > 0) this.#scan.write(rest);
  }

  /** @returns what stands behind the field's name */
  #readField(before: string, piece: Buffer): Buffer {
    const missing = DATA.length - before.length;
    const field = before + piece.toString('latin1', 0, missing);
    this.#isData = field === DATA;
    this.#field = this.#isData || !DATA.startsWith(field) ? null : field;
    return piece.subarray(missing);
  }
}

const DATA = 'data:';
const LF = 0x0a;
const CR = 0x0d;

/**
 * Finds the forms of secrets in bytes that come in pieces, in every spelling and across every border. What it does for a
 * byte is the same whatever the secrets are: else the time of an answer would tell them, pair by pair. Only where the last
 * bytes of a form stand, whole, is the form compared.
 */
import { beginOf } from './back.ts';
import type { Numbers } from './endings.ts';
import { ESCAPE_BYTES, readEscape, UNDECIDED } from './escapes.ts';
import type { Forms } from './forms.ts';
import { NextEscape, readPlainRun } from './plain-run.ts';
import { BACKSLASH, PERCENT } from './symbols.ts';
import { ADDEND, MULTIPLIER, numberOf } from './window.ts';

export class Finder {
  readonly #forms: Forms;
  /** The bytes whose number is `number`, as they were read; the oldest stands at `oldest`. */
  readonly #window: Uint8Array;
  #oldest = 0;
  #number: number;
  /** Bytes that came so far. */
  #at = 0;
  /** The beginning of what may be an escape. */
  readonly #rest = new Uint8Array(2 * ESCAPE_BYTES);
  #restLength = 0;
  /** As much of what came as a form may take. */
  readonly #past: Uint8Array;
  readonly #nextEscape = new NextEscape();
  #due: Due[] = [];
  #compared = 0;

  constructor(forms: Forms) {
    const { window } = forms.endings;
    this.#forms = forms;
    this.#window = new Uint8Array(window);
    // Zero bytes, which are in no secret.
    this.#number = numberOf(this.#window);
    this.#past = new Uint8Array(forms.longest + ESCAPE_BYTES);
  }

  /** How many bytes came. */
  get at(): number {
    return this.#at;
  }

  /** How often a form was compared: the only work that depends on the secrets. */
  get compared(): number {
    return this.#compared;
  }

  /** @returns begin and end of each form that was completed, flat, counted in all bytes that came */
  scan(bytes: Uint8Array, from: number, to: number): readonly number[] {
    const before = this.#at - from;
    this.#nextEscape.reset();
    const at = this.#restLength > 0 ? this.#readRest(bytes, from, to) : from;
    const stopped = this.#read(bytes, at, to, to, before);
    for (let i = stopped; i < to; i++) this.#rest[this.#restLength++] = bytes[i] as number;
    this.#at = before + to;
    const found = this.#due.length > 0 ? this.#compareDue(bytes, from, before) : NOTHING;
    this.#keep(bytes, from, to, before);
    return found;
  }

  /** Goes on with what may be an escape. @returns from where the bytes are still to be read */
  #readRest(bytes: Uint8Array, from: number, to: number): number {
    const length = this.#restLength;
    const taken = Math.min(ESCAPE_BYTES, to - from);
    for (let i = 0; i < taken; i++) this.#rest[length + i] = bytes[from + i] as number;
    const stopped = this.#read(this.#rest, 0, length, length + taken, this.#at - length);
    if (stopped >= length) {
      this.#restLength = 0;
      return from + stopped - length;
    }
    // It takes all that came.
    this.#rest.copyWithin(0, stopped, length + taken);
    this.#restLength = length + taken - stopped;
    return to;
  }

  /** @param end up to where escapes are read @returns where it stopped: at `to`, behind it, or at what may be an escape */
  #read(bytes: Uint8Array, from: number, to: number, end: number, before: number): number {
    const [addend, multiplier] = [ADDEND, MULTIPLIER];
    const { bits, removal } = this.#forms.endings;
    const window = this.#window;
    const last = window.length - 1;
    let number = this.#number;
    let oldest = this.#oldest;
    let i = from;
    let runFrom = this.#runFrom(from, to);
    while (i < to) {
      let byte = bytes[i] as number;
      if (byte === PERCENT || byte === BACKSLASH) {
        const read = readEscape(bytes, i, end);
        if (read === UNDECIDED) break;
        byte = read & 0xff;
        i += read >>> 8;
        runFrom = this.#runFrom(i, to);
      } else i++;
      const change = ((addend[byte] as number) + (removal[window[oldest] as number] as number)) | 0;
      number = (Math.imul(number, multiplier) + change) | 0;
      window[oldest] = byte;
      oldest = oldest === last ? 0 : oldest + 1;
      if ((((bits[number >>> 21] as number) >>> (number >>> 16)) & 1) === 1)
        this.#note(this.#forms.endings, number, before + i);
      if (i === runFrom) {
        const stopped = this.#readRun(bytes, i, to, before);
        if (stopped > i) {
          i = stopped;
          number = this.#number;
          oldest = this.#oldest;
        }
      }
    }
    this.#number = number;
    this.#oldest = oldest;
    return i;
  }

  /** Where the whole window is without escapes, if enough follows; else nowhere. */
  #runFrom(from: number, to: number): number {
    const at = from + this.#window.length;
    return this.#forms.endings.blocks && at + LEAST_RUN <= to ? at : -1;
  }

  /** @param at what stands in the window ends here, and is without escapes @returns where it stopped */
  #readRun(bytes: Uint8Array, at: number, to: number, before: number): number {
    const { blocks } = this.#forms.endings;
    const { length } = this.#window;
    const end = this.#nextEscape.from(bytes, at, to);
    if (!blocks || end - at < LEAST_RUN) return at;
    readPlainRun(bytes, at - length, end, blocks, (number, i) => this.#note(blocks, number, before + i));
    for (let i = 0; i < length; i++) this.#window[i] = bytes[end - length + i] as number;
    this.#number = numberOf(this.#window);
    this.#oldest = 0;
    return end;
  }

  #note({ endings }: Numbers, number: number, at: number): void {
    for (const { form, left } of endings.get(number) ?? []) this.#due.push({ form, end: at + left });
  }

  #compareDue(bytes: Uint8Array, from: number, before: number): readonly number[] {
    const past = this.#past;
    const byteAt = (at: number) =>
      at >= before + from ? (bytes[at - before] as number) : at < 0 ? -1 : (past[at % past.length] as number);
    const due = this.#due.filter(({ end }) => end <= this.#at).sort((a, b) => a.end - b.end);
    this.#due = this.#due.filter(({ end }) => end > this.#at);
    const found: number[] = [];
    for (const { form, end } of due) {
      this.#compared += 1;
      const begin = beginOf(this.#forms.forms[form] as readonly number[], end, byteAt);
      if (begin >= 0 && !(found.at(-1) === end && found.at(-2) === begin)) found.push(begin, end);
    }
    return found;
  }

  #keep(bytes: Uint8Array, from: number, to: number, before: number): void {
    const { length } = this.#past;
    for (let i = Math.max(from, to - length); i < to; ) {
      const at = (before + i) % length;
      const count = Math.min(to - i, length - at);
      this.#past.set(bytes.subarray(i, i + count), at);
      i += count;
    }
  }
}

/** A form that is compared when all of it is here. */
interface Due {
  readonly form: number;
  readonly end: number;
}

/** Fewer bytes are not worth it. */
const LEAST_RUN = 32;
const NOTHING: readonly number[] = [];

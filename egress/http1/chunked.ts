/**
 * The chunked coding (RFC 9112 7.1), read strictly: hex sizes of at most 13 digits, CRLF only, short extensions without
 * control characters, bounded trailers. Everything but the trailers is passed on as it came.
 */
import type { BodyReader, BodyStep } from './body-reader.ts';
import { GrowingBuffer } from './growing-buffer.ts';
import { findHeadEnd, type HeaderLine, parseHeaderLines } from './head.ts';

type State = 'size' | 'extension' | 'size_lf' | 'data' | 'data_cr' | 'data_lf' | 'trailers' | 'done';

/** What passes of a trailer line; `null` for nothing. */
export type PassTrailer = (line: HeaderLine) => HeaderLine | null;

export class ChunkedReader implements BodyReader {
  readonly #passTrailer: PassTrailer;
  #state: State = 'size';
  #size = 0;
  #digits = 0;
  #extension = 0;
  /** Bytes of the current chunk that are still to come. */
  #left = 0;
  /** The trailer section so far, with the CRLF that ends the last chunk's line. */
  readonly #trailers = new GrowingBuffer();

  constructor(passTrailer: PassTrailer) {
    this.#passTrailer = passTrailer;
  }

  get done(): boolean {
    return this.#state === 'done';
  }

  read(input: Buffer): BodyStep | null {
    const data: number[] = [];
    let at = 0;
    while (at < input.length && this.#state !== 'trailers' && this.#state !== 'done') {
      if (this.#state === 'data') {
        const taken = Math.min(this.#left, input.length - at);
        this.#left -= taken;
        data.push(at, at + taken);
        at += taken;
        if (this.#left === 0) this.#state = 'data_cr';
      } else {
        if (!this.#step(input[at] as number)) return null;
        at += 1;
      }
    }
    const forward = at > 0 ? [input.subarray(0, at)] : [];
    if (this.#state !== 'trailers') return { forward, data, used: at, done: this.done };
    return this.#readTrailers(input, at, { forward, data });
  }

  /** One byte outside of a chunk's data; `false` where it may not stand there. */
  #step(byte: number): boolean {
    switch (this.#state) {
      case 'size':
        return this.#stepSize(byte);
      case 'extension':
        return this.#stepExtension(byte);
      case 'size_lf':
        return byte === LF && this.#beginChunk();
      case 'data_cr':
        this.#state = 'data_lf';
        return byte === CR;
      case 'data_lf':
        this.#state = 'size';
        return byte === LF;
      default:
        return false;
    }
  }

  #stepSize(byte: number): boolean {
    const digit = hexDigit(byte);
    if (digit >= 0) {
      this.#size = this.#size * 16 + digit;
      this.#digits += 1;
      return this.#digits <= MAX_SIZE_DIGITS;
    }
    if (this.#digits === 0) return false;
    if (byte === CR) this.#state = 'size_lf';
    else if (byte === SEMICOLON) this.#state = 'extension';
    else return false;
    return true;
  }

  #stepExtension(byte: number): boolean {
    if (byte === CR) {
      this.#state = 'size_lf';
      return true;
    }
    this.#extension += 1;
    return this.#extension <= MAX_EXTENSION_BYTES && (byte === TAB || (byte >= SPACE && byte !== DELETE));
  }

  #beginChunk(): boolean {
    this.#left = this.#size;
    this.#state = this.#size === 0 ? 'trailers' : 'data';
    this.#size = 0;
    this.#digits = 0;
    this.#extension = 0;
    return true;
  }

  #readTrailers(input: Buffer, at: number, body: Pick<BodyStep, 'forward' | 'data'>): BodyStep | null {
    const before = this.#trailers.length;
    this.#trailers.push(input.subarray(at));
    const section = this.#trailers.bytes;
    const end = section.subarray(0, 2).equals(CRLF) ? 2 : findHeadEnd(section, before);
    if (end < 0) {
      return section.length > MAX_TRAILER_BYTES ? null : { ...body, used: input.length, done: false };
    }
    const trailers = this.#filterTrailers(section.subarray(0, end));
    if (!trailers) return null;
    this.#trailers.clear();
    this.#state = 'done';
    return { ...body, forward: [...body.forward, trailers], used: at + end - before, done: true };
  }

  #filterTrailers(section: Buffer): Buffer | null {
    if (section.length === 2) return section;
    const lines = parseHeaderLines(section.toString('latin1', 0, section.length - 4).split('\r\n'), 0);
    if (!lines) return null;
    const kept = lines.flatMap((line) => this.#passTrailer(line) ?? []).map(({ raw }) => `${raw}\r\n`);
    return Buffer.from(`${kept.join('')}\r\n`, 'latin1');
  }
}

function hexDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x61 + 10 : -1;
}

const CR = 0x0d;
const LF = 0x0a;
const TAB = 0x09;
const SPACE = 0x20;
const DELETE = 0x7f;
const SEMICOLON = 0x3b;
const CRLF = Buffer.from('\r\n');
/** 13 hex digits are 52 bits: an exact number, and more than anyone sends in a chunk. */
const MAX_SIZE_DIGITS = 13;
const MAX_EXTENSION_BYTES = 256;
const MAX_TRAILER_BYTES = 16 * 1024;

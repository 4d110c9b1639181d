/**
 * Looks at a stretch of text without escapes eight bytes at a time, the same few operations for each. Every end of a form
 * that is in the stretch has eight of its last bytes in one of these.
 */
import { BLOCK, type Endings } from './endings.ts';
import { BACKSLASH, PERCENT } from './symbols.ts';
import { ADDEND, MULTIPLIER, powerOf } from './window.ts';

/** Where the next escape may begin in bytes that are read from left to right. */
export class NextEscape {
  #percent = -1;
  #backslash = -1;

  /** Other bytes come. */
  reset(): void {
    this.#percent = -1;
    this.#backslash = -1;
  }

  /** @returns `to` where there is none */
  from(bytes: Uint8Array, at: number, to: number): number {
    if (this.#percent < at) this.#percent = indexOf(bytes, PERCENT, at, to);
    if (this.#backslash < at) this.#backslash = indexOf(bytes, BACKSLASH, at, to);
    return Math.min(this.#percent, this.#backslash);
  }
}

/** @param note told the number of what may be of a form, and where it ends in the bytes */
export function readPlainRun(
  bytes: Uint8Array,
  from: number,
  to: number,
  { bits }: NonNullable<Endings['blocks']>,
  note: (number: number, end: number) => void,
): void {
  const [addend, multiplier] = [ADDEND, MULTIPLIER];
  for (let i = from; i + BLOCK <= to; i += BLOCK) {
    let first = addend[bytes[i] as number] as number;
    first = (Math.imul(first, multiplier) + (addend[bytes[i + 1] as number] as number)) | 0;
    first = (Math.imul(first, multiplier) + (addend[bytes[i + 2] as number] as number)) | 0;
    first = (Math.imul(first, multiplier) + (addend[bytes[i + 3] as number] as number)) | 0;
    let second = addend[bytes[i + 4] as number] as number;
    second = (Math.imul(second, multiplier) + (addend[bytes[i + 5] as number] as number)) | 0;
    second = (Math.imul(second, multiplier) + (addend[bytes[i + 6] as number] as number)) | 0;
    second = (Math.imul(second, multiplier) + (addend[bytes[i + 7] as number] as number)) | 0;
    const number = (Math.imul(first, OVER_FOUR) + second) | 0;
    if ((((bits[number >>> 21] as number) >>> (number >>> 16)) & 1) === 1) note(number, i + BLOCK);
  }
}

function indexOf(bytes: Uint8Array, byte: number, at: number, to: number): number {
  const index = bytes.subarray(at, to).indexOf(byte);
  return index < 0 ? to : at + index;
}

const OVER_FOUR = powerOf(4);

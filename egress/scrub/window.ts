/**
 * A number for the last few bytes that were read, which follows them byte by byte in the same few operations, whatever
 * they are. Its multiplier and its tables are random in each process, so nobody outside can choose bytes that have the
 * number of others.
 */
import { randomBytes } from 'node:crypto';
import { fold } from './symbols.ts';

/** Odd, so that no byte is lost on the way. */
export const MULTIPLIER = randomBytes(4).readInt32LE() | 1;
/** By byte. */
export const ADDEND: Int32Array = makeAddend();

/** By byte: what takes it out again when `bytes` others have followed. */
export function removalOf(bytes: number): Int32Array {
  const power = -powerOf(bytes);
  return ADDEND.map((value) => Math.imul(value, power));
}

/** What a byte that `after` others follow adds. */
export function weigh(byte: number, after: number): number {
  return Math.imul(ADDEND[byte] as number, powerOf(after));
}

/** Of all bytes of a window. */
export function numberOf(window: Uint8Array): number {
  let number = 0;
  for (let i = 0; i < window.length; i++)
    number = (Math.imul(number, MULTIPLIER) + (ADDEND[window[i] as number] as number)) | 0;
  return number;
}

export function powerOf(exponent: number): number {
  let power = 1;
  for (let i = 0; i < exponent; i++) power = Math.imul(power, MULTIPLIER);
  return power;
}

function makeAddend(): Int32Array {
  const random = new Int32Array(256);
  randomBytes(1024).copy(new Uint8Array(random.buffer));
  return random.map((_, byte) => random[fold(byte)] as number);
}

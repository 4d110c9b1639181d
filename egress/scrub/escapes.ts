/**
 * Reads the escapes of URLs and JSON in a text, the one way for every secret. An escape is one from its first byte on,
 * whatever stands before it: so a backslash before another one is no escape, but stands for itself.
 */
import { BACKSLASH, hexDigit, LETTER_T, LETTER_U, PERCENT, QUOTE, SLASH, TAB, ZERO } from './symbols.ts';

/** More bytes than an escape takes. */
export const ESCAPE_BYTES = 6;
/** What stands there may be one or not: by the bytes that are still to come. */
export const UNDECIDED = 0;

/**
 * @param at of a `%` or a backslash
 * @param to where the bytes end
 * @returns the byte that is meant, with how many bytes mean it times 256
 */
export function readEscape(bytes: Uint8Array, at: number, to: number): number {
  return bytes[at] === PERCENT ? readPercent(bytes, at, to) : readBackslash(bytes, at, to);
}

function readPercent(bytes: Uint8Array, at: number, to: number): number {
  return readDigits(bytes, at, at + 1, to);
}

function readBackslash(bytes: Uint8Array, at: number, to: number): number {
  if (at + 1 >= to) return UNDECIDED;
  const next = bytes[at + 1] as number;
  if (next === QUOTE || next === SLASH) return 2 * UNIT + next;
  if (next === LETTER_T) return 2 * UNIT + TAB;
  if (next !== LETTER_U) return UNIT + BACKSLASH;
  for (let i = at + 2; i < at + 4; i++) {
    if (i >= to) return UNDECIDED;
    if (bytes[i] !== ZERO) return UNIT + BACKSLASH;
  }
  return readDigits(bytes, at, at + 4, to);
}

/** @param from where its two digits stand */
function readDigits(bytes: Uint8Array, at: number, from: number, to: number): number {
  const itself = UNIT + (bytes[at] as number);
  if (from >= to) return UNDECIDED;
  const high = hexDigit(bytes[from] as number);
  if (high < 0) return itself;
  if (from + 1 >= to) return UNDECIDED;
  const low = hexDigit(bytes[from + 1] as number);
  return low < 0 ? itself : (from + 2 - at) * UNIT + high * 16 + low;
}

const UNIT = 256;

/**
 * One symbol of a form: a byte that stands for itself, or one of a few characters that are spelled in two ways. And the
 * spellings of a symbol in a text: plain, `%2F` as in a URL, `\u002f` and `\/` as in JSON.
 */

/** A space, which forms write as `+`. */
export const SPACE_OR_PLUS = 0x100;
/** The 63rd and the 64th character of base64, in its two alphabets. */
export const PLUS_OR_DASH = 0x101;
export const SLASH_OR_UNDERSCORE = 0x102;
/** As `\u002f` takes. */
export const MAX_SPELLING_BYTES = 6;

/** Whether a byte, plain or taken out of its escape, is the symbol. */
export function fits(symbol: number, byte: number): boolean {
  if (symbol < SPACE_OR_PLUS) return symbol === byte;
  const either = EITHER[symbol - SPACE_OR_PLUS];
  return either !== undefined && (either[0] === byte || either[1] === byte);
}

/** A byte that the symbol may be. */
export function byteOf(symbol: number): number {
  return EITHER[symbol - SPACE_OR_PLUS]?.[1] ?? symbol;
}

/** What stands behind the backslash of a short escape of the symbol; -1 where it has none. */
export function shortEscape(symbol: number): number {
  if (symbol === TAB) return LETTER_T;
  if (symbol === SLASH_OR_UNDERSCORE) return SLASH;
  return symbol === QUOTE || symbol === SLASH || symbol === BACKSLASH ? symbol : -1;
}

/** The same for all bytes that are told apart nowhere but where a form is compared: those that may be one symbol. */
export function fold(byte: number): number {
  if (byte === SPACE || byte === DASH) return PLUS;
  if (byte === TAB) return LETTER_T;
  return byte === UNDERSCORE ? SLASH : byte;
}

/** The digit's value; -1 of what is none. */
export function hexDigit(byte: number): number {
  if (byte >= ZERO && byte <= ZERO + 9) return byte - ZERO;
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x61 + 10 : -1;
}

export const TAB = 0x09;
export const QUOTE = 0x22;
export const PERCENT = 0x25;
export const SLASH = 0x2f;
export const ZERO = 0x30;
export const BACKSLASH = 0x5c;
export const LETTER_T = 0x74;
export const LETTER_U = 0x75;
const SPACE = 0x20;
const PLUS = 0x2b;
const DASH = 0x2d;
const UNDERSCORE = 0x5f;
const EITHER: readonly (readonly [number, number])[] = [
  [SPACE, PLUS],
  [DASH, PLUS],
  [UNDERSCORE, SLASH],
];

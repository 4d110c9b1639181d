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
/** Closes a form. */
export const END = 0x1ff;

/** Whether a byte, plain or taken out of its escape, is the symbol. */
export function fits(symbol: number, byte: number): boolean {
  if (symbol < SPACE_OR_PLUS) return symbol === byte;
  const either = EITHER[symbol - SPACE_OR_PLUS];
  return either !== undefined && (either[0] === byte || either[1] === byte);
}

/** What stands behind the backslash of a short escape of the symbol; -1 where it has none. */
export function shortEscape(symbol: number): number {
  if (symbol === TAB) return LETTER_T;
  if (symbol === SLASH_OR_UNDERSCORE) return SLASH;
  return symbol === QUOTE || symbol === SLASH || symbol === BACKSLASH ? symbol : -1;
}

/** Every spelling of a symbol, as bytes. */
export function spellings(symbol: number): readonly (readonly number[])[] {
  const plain = EITHER[symbol - SPACE_OR_PLUS] ?? [symbol];
  const digits = plain.flatMap((byte) => {
    const low = byte.toString(16).padStart(2, '0');
    return [
      ...new Set([
        low,
        low.toUpperCase(),
        `${low[0]}${low[1]?.toUpperCase()}`,
        `${low[0]?.toUpperCase()}${low[1]}`,
      ]),
    ];
  });
  const short = shortEscape(symbol);
  return [
    ...plain.map((byte) => [byte]),
    ...digits.map((pair) => bytesOf(`%${pair}`)),
    ...digits.map((pair) => bytesOf(`\\u00${pair}`)),
    ...(short < 0 ? [] : [[BACKSLASH, short]]),
  ];
}

function bytesOf(text: string): number[] {
  return [...Buffer.from(text, 'latin1')];
}

const SPACE = 0x20;
const PLUS = 0x2b;
const DASH = 0x2d;
const SLASH = 0x2f;
const UNDERSCORE = 0x5f;
const BACKSLASH = 0x5c;
const QUOTE = 0x22;
const TAB = 0x09;
const LETTER_T = 0x74;
const EITHER: readonly (readonly [number, number])[] = [
  [SPACE, PLUS],
  [PLUS, DASH],
  [SLASH, UNDERSCORE],
];

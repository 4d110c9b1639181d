/** Reads a form from its end to its beginning, in every spelling. Only where its last bytes are known to stand. */
import { BACKSLASH, fits, hexDigit, LETTER_U, PERCENT, shortEscape, ZERO } from './symbols.ts';

/**
 * @param byteAt what stands at a place; -1 where nothing is known
 * @returns where the form that ends at a place begins, the longest spelling of it; -1 where there is none
 */
export function beginOf(form: readonly number[], end: number, byteAt: (at: number) => number): number {
  let ends = [end];
  for (let i = form.length - 1; i >= 0 && ends.length > 0; i--) {
    const symbol = form[i] as number;
    ends = [...new Set(ends.flatMap((at) => beginsOf(symbol, at, byteAt)))];
  }
  return ends.length > 0 ? Math.min(...ends) : -1;
}

function beginsOf(symbol: number, end: number, byteAt: (at: number) => number): number[] {
  const begins: number[] = [];
  const last = byteAt(end - 1);
  if (fits(symbol, last)) begins.push(end - 1);
  if (last === shortEscape(symbol) && byteAt(end - 2) === BACKSLASH) begins.push(end - 2);
  const [high, low] = [hexDigit(byteAt(end - 2)), hexDigit(last)];
  if (high < 0 || low < 0 || !fits(symbol, high * 16 + low)) return begins;
  if (byteAt(end - 3) === PERCENT) begins.push(end - 3);
  const isUnicode = [BACKSLASH, LETTER_U, ZERO, ZERO].every((byte, i) => byteAt(end - 6 + i) === byte);
  if (isUnicode) begins.push(end - 6);
  return begins;
}

/**
 * What a text reads as (see `escapes.ts`) where a form stands in it, in any spelling. Mostly as the form. But what is in
 * the form may read as an escape with what is beside it: behind the form, before it, or in it, such as the `%2f` of a
 * secret that is part of a URL. All of that is a step from one place of the form to a later one, and one byte.
 */
import { BACKSLASH, byteOf, hexDigit, LETTER_T, PERCENT, QUOTE, SLASH } from './symbols.ts';

/** The byte that is read between two places of a form. */
export interface Step {
  readonly from: number;
  readonly byte: number;
  readonly to: number;
}

export interface Readings {
  readonly steps: readonly Step[];
  /** Where what is read for certain may end; `left` symbols follow, plain. */
  readonly ends: readonly { readonly place: number; readonly left: number }[];
  /** How many bytes are read for certain, at least. */
  readonly shortest: number;
}

/** Places are numbered so that each symbol has two: a backslash may be spelled as two, and the second is like one alone. */
export function readingsOf(form: readonly number[]): Readings {
  const steps = [...beginnings(form), ...form.flatMap((_, at) => stepsAt(form, at))];
  const ends = form.flatMap((symbol, at) => {
    if (!mayBegin(form, at)) return [];
    const left = form.length - at;
    return symbol === BACKSLASH
      ? [
          { place: 2 * at, left },
          { place: 2 * at + 1, left },
        ]
      : [{ place: 2 * at, left }];
  });
  ends.push({ place: 2 * form.length, left: 0 });
  return { steps, ends, shortest: shortestOf(steps, ends) };
}

function stepsAt(form: readonly number[], at: number): Step[] {
  const [here, second, next] = [2 * at, 2 * at + 1, 2 * at + 2];
  const symbol = form[at] as number;
  const steps = [{ from: here, byte: byteOf(symbol), to: next }, ...escapeAt(form, at, here)];
  if (symbol !== BACKSLASH) return steps;
  return [
    ...steps,
    { from: here, byte: BACKSLASH, to: second },
    { from: second, byte: BACKSLASH, to: next },
    ...escapeAt(form, at, second),
  ];
}

/** What its own symbols, each plain, read as. */
function escapeAt(form: readonly number[], at: number, from: number): Step[] {
  if (form[at] === PERCENT) return digitsAt(form, at + 1, from);
  if (form[at] !== BACKSLASH) return [];
  const next = form[at + 1];
  if (next === QUOTE || next === SLASH || next === LETTER_T) return [{ from, byte: next, to: 2 * at + 4 }];
  return isText(form, at + 1, 'u00') ? digitsAt(form, at + 4, from) : [];
}

/** An escape that began before the form, and ends in it. */
function beginnings(form: readonly number[]): Step[] {
  const low = hexDigit(form[0] as number);
  const digits = low < 0 ? [] : Array.from({ length: 16 }, (_, high) => high * 16 + low);
  const most = ['', '0', '00', 'u00'].filter((zeros) => isText(form, 0, zeros));
  return [
    ...digits.map((byte) => ({ from: BEFORE, byte, to: 2 })),
    ...most.flatMap((zeros) => digitsAt(form, zeros.length, BEFORE)),
  ];
}

function digitsAt(form: readonly number[], at: number, from: number): Step[] {
  const [high, low] = [hexDigit(form[at] ?? 0), hexDigit(form[at + 1] ?? 0)];
  return high < 0 || low < 0 ? [] : [{ from, byte: high * 16 + low, to: 2 * at + 4 }];
}

/** Whether all that is left of a form is the beginning of an escape. */
function mayBegin(form: readonly number[], at: number): boolean {
  if (form.length - at > LONGEST_BEGINNING) return false;
  const rest = form
    .slice(at)
    .map((symbol) => (symbol < 0x80 ? String.fromCharCode(symbol) : ' '))
    .join('');
  return /^(?:%[0-9a-f]?|\\(?:u(?:0(?:0[0-9a-f]?)?)?)?)$/i.test(rest) && form[at + 1] !== UPPER_U;
}

function isText(form: readonly number[], at: number, text: string): boolean {
  return [...text].every((char, i) => form[at + i] === char.charCodeAt(0));
}

/** Every step leads forward. */
function shortestOf(steps: readonly Step[], ends: Readings['ends']): number {
  const least = new Map([
    [0, 0],
    [BEFORE, 0],
  ]);
  for (const { from, to } of [...steps].sort((a, b) => a.from - b.from)) {
    const length = (least.get(from) ?? Number.POSITIVE_INFINITY) + 1;
    least.set(to, Math.min(length, least.get(to) ?? length));
  }
  return Math.min(...ends.map(({ place }) => least.get(place) ?? Number.POSITIVE_INFINITY));
}

/** `\\u00` and a digit. */
const LONGEST_BEGINNING = 5;
const BEFORE = -1;
const UPPER_U = 0x55;

/**
 * Knows the last few bytes of every reading of every form by their number, and says fast of almost every number that it is
 * none of them. The end and not the beginning: what is public of a secret mostly stands there.
 */
import type { Readings, Step } from './readings.ts';
import { BACKSLASH, byteOf, PERCENT } from './symbols.ts';
import { removalOf, weigh } from './window.ts';

/** A form that may end here, or where the next `left` bytes end. */
interface Ending {
  readonly form: number;
  readonly left: number;
}

export interface Numbers {
  /** A bit for each value of the upper half of a number. */
  readonly bits: Int32Array;
  readonly endings: ReadonlyMap<number, readonly Ending[]>;
}

export interface Endings extends Numbers {
  /** How many bytes a number is of. */
  readonly window: number;
  readonly removal: Int32Array;
  /**
   * Of `BLOCK` bytes near the end of a form that has no escapes there: one of them stands at every place that is a
   * multiple of `BLOCK`, wherever the counting begins. `null` where a form is too short for that.
   */
  readonly blocks: Numbers | null;
}

type Numbered = Map<number, Ending[]>;

/** @param readings of each form */
export function endingsOf(forms: readonly (readonly number[])[], readings: readonly Readings[]): Endings {
  const shortest = Math.min(...readings.map((reading) => reading.shortest));
  for (let window = Math.max(1, Math.min(MAX_WINDOW, shortest)); ; window--) {
    const endings = numbersOf(readings, window);
    if (!endings && window > 1) continue;
    const blocks = window < 2 * BLOCK - 1 ? null : withBits(blocksOf(forms, readings));
    return { window, removal: removalOf(window), blocks, ...withBits(endings ?? new Map()) };
  }
}

/** @returns `null` where there are too many */
function numbersOf(forms: readonly Readings[], window: number): Numbered | null {
  const endings: Numbered = new Map();
  for (const [form, { steps, ends }] of forms.entries()) {
    const stepsTo = Map.groupBy(steps, ({ to }) => to);
    for (const { place, left } of ends) {
      for (const number of numbersTo(stepsTo, place, window)) add(endings, number, { form, left });
      if (endings.size > MAX_NUMBERS) return null;
    }
  }
  return endings;
}

/** Goes back from a place, along every way, as far as the window reaches. */
function numbersTo(
  stepsTo: ReadonlyMap<number, readonly Step[]>,
  place: number,
  window: number,
): Set<number> {
  let reached = new Map([[place, new Set([0])]]);
  for (let i = 0; i < window; i++) {
    const before = new Map<number, Set<number>>();
    for (const [at, numbers] of reached) {
      for (const { from, byte } of stepsTo.get(at) ?? []) {
        const all = before.get(from) ?? new Set();
        for (const number of numbers) all.add((number + weigh(byte, i)) | 0);
        before.set(from, all);
      }
    }
    reached = before;
  }
  return new Set([...reached.values()].flatMap((numbers) => [...numbers]));
}

function blocksOf(forms: readonly (readonly number[])[], readings: readonly Readings[]): Numbered {
  const endings: Numbered = new Map();
  for (const [form, symbols] of forms.entries()) {
    const lefts = readings[form]?.ends.flatMap(({ left }) =>
      Array.from({ length: BLOCK }, (_, i) => left + i),
    );
    for (const left of new Set(lefts)) {
      const block = symbols.slice(symbols.length - left - BLOCK, symbols.length - left);
      if (block.includes(PERCENT) || block.includes(BACKSLASH)) continue;
      const number = block.reduce((sum, symbol, i) => sum + weigh(byteOf(symbol), BLOCK - 1 - i), 0);
      add(endings, number | 0, { form, left });
    }
  }
  return endings;
}

function add(endings: Numbered, number: number, ending: Ending): void {
  const others = endings.get(number);
  if (others) others.push(ending);
  else endings.set(number, [ending]);
}

function withBits(endings: Numbered): Numbers {
  const bits = new Int32Array(2048);
  for (const number of endings.keys()) {
    const word = number >>> 21;
    bits[word] = (bits[word] as number) | (1 << (number >>> 16));
  }
  return { bits, endings };
}

export const BLOCK = 8;
const MAX_WINDOW = 16;
/** Only of a secret that is full of escapes there may be more; then fewer bytes are looked at. */
const MAX_NUMBERS = 4096;

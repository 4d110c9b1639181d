/**
 * Finds quickly where no form can be, so that the finder looks at little of an ordinary text. It knows which two bytes may
 * stand side by side in the beginning of a form, in any spelling. A form is an unbroken run of such pairs, so of a text it
 * is enough to look at one pair in each stretch as long as the shortest form. It lets through too much, never too little.
 */
import { spellings } from './symbols.ts';

export class Sieve {
  readonly #pairs: Uint32Array;
  /** How many bytes of a text the beginning of a form takes at least. */
  readonly #shortest: number;
  /** Where the run that `next` found ends. */
  runEnd = 0;

  constructor(pairs: Uint32Array, shortest: number) {
    this.#pairs = pairs;
    this.#shortest = shortest;
  }

  /** Where the next run begins that may hold the beginning of a form; `to` where there is none. */
  next(bytes: Uint8Array, from: number, to: number): number {
    const reach = this.#shortest - 2;
    let start = from;
    for (let at = start + reach; at < to - 1; at += reach + 1) {
      if (!this.may(bytes, at)) continue;
      let first = at;
      while (first > start && this.may(bytes, first - 1)) first -= 1;
      let last = at + 1;
      while (last < to - 1 && this.may(bytes, last)) last += 1;
      if (last - first >= reach + 1 || last === to - 1) return this.#run(first, last + 1);
      start = last + 1;
      at = last;
    }
    return this.#tail(bytes, start, to);
  }

  /** What the next bytes may complete: the last byte, with all before it that may stand side by side. */
  #tail(bytes: Uint8Array, start: number, to: number): number {
    let first = to - 1;
    while (first > start && this.may(bytes, first - 1)) first -= 1;
    return this.#run(Math.max(first, start), to);
  }

  #run(first: number, end: number): number {
    this.runEnd = end;
    return first;
  }

  /** Whether this byte and the next may stand side by side in a form. */
  may(bytes: Uint8Array, at: number): boolean {
    const pair = ((bytes[at] as number) << 8) | (bytes[at + 1] as number);
    return (((this.#pairs[pair >>> 5] as number) >>> (pair & 31)) & 1) === 1;
  }
}

/** @param forms their symbols */
export function makeSieve(forms: readonly (readonly number[])[]): Sieve {
  const pairs = new Uint32Array(PAIRS / 32);
  const add = (first: number, second: number) => {
    const pair = (first << 8) | second;
    pairs[pair >>> 5] = (pairs[pair >>> 5] ?? 0) | (1 << (pair & 31));
  };
  const heads = forms.map((form) => form.slice(0, MAX_HEAD));
  for (const head of heads) addPairs(head, add);
  return new Sieve(pairs, Math.min(...heads.map((head) => head.length)));
}

function addPairs(head: readonly number[], add: (first: number, second: number) => void): void {
  let lasts: number[] = [];
  for (const symbol of head) {
    const all = spellings(symbol);
    for (const spelling of all) {
      for (let i = 1; i < spelling.length; i++) add(spelling[i - 1] as number, spelling[i] as number);
      for (const last of lasts) add(last, spelling[0] as number);
    }
    lasts = [...new Set(all.map((spelling) => spelling.at(-1) as number))];
  }
}

const PAIRS = 256 * 256;
/** Symbols. A longer beginning fills the table until every pair is in it. */
const MAX_HEAD = 32;

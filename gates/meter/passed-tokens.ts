/**
 * About how many tokens passed in an answer, for one that ends before its usage is told: a token for every four bytes
 * of text. Of a stream, each event with a text has one at least, and what is around its text is taken off: as much as its
 * shortest event has, within what its dialect has. No event is parsed: its length counts and, in two dialects, its head.
 */
import type { Dialect } from '../../core-lite/state/dialect.ts';
import { type EventKind, HEAD_BYTES, kindOf, saysKind } from './event-head.ts';

export class PassedTokens {
  readonly #least: number;
  readonly #saysKind: boolean;
  readonly #tallies: Readonly<Record<Exclude<EventKind, 'quiet'>, Tally>>;
  #bytes = 0;
  /** Whether any event ended. */
  #streams = false;
  /** How much of an event came in earlier chunks. */
  #begun = 0;
  /** The first of it. */
  #head = '';
  #longHead = '';
  /** What ends an event: it is told by the first line. */
  #border: string | null = null;
  /** The last bytes of that event: a border may begin in them. */
  #tail = '';

  constructor(dialect: Dialect) {
    const { least, most } = FRAMES[dialect];
    this.#least = least;
    this.#saysKind = saysKind(dialect);
    const tally = (): Tally => new Tally(most);
    this.#tallies = { words: tally(), item: tally(), text: tally(), answer: tally(), other: tally() };
  }

  add(chunk: Buffer): void {
    this.#bytes += chunk.length;
    this.#border ??= borderOf(this.#tail, chunk);
    const from = this.#border === null ? 0 : this.#count(chunk, this.#border);
    this.#take(chunk, from, chunk.length, false);
    const last = this.#tail + chunk.toString('latin1', Math.max(from, chunk.length - MOST_OF_A_BORDER));
    this.#tail = last.slice(-Math.min(this.#begun, MOST_OF_A_BORDER));
  }

  get tokens(): number {
    if (!this.#streams) return tokensOfBytes(this.#bytes);
    const rest = { kind: this.#kind, bytes: this.#begun };
    const { words, item, text, answer, other } = this.#tallies;
    const of = (kind: EventKind): number => (rest.kind === kind ? rest.bytes : 0);
    if (words.events > 0 || rest.kind === 'words')
      return words.tokens(of('words')) + other.beyond(of('other'));
    const whole = Math.max(item.tokens(of('item')), text.tokens(of('text')));
    const said = other.tokens(of('other')) + whole;
    return said > 0 ? said : answer.tokens(of('answer'));
  }

  /** The first bytes of the last event with a text, where it is so long that the last bytes of a stream do not show it. */
  get longHead(): string {
    if (this.#begun > LONG_BYTES) return this.#head;
    return this.#begun < this.#least ? this.#longHead : '';
  }

  /** @returns where the event begins that has not ended */
  #count(chunk: Buffer, border: string): number {
    let from = 0;
    const across = (this.#tail + chunk.toString('latin1', 0, border.length - 1)).indexOf(border);
    let end = across < 0 ? -1 : across + border.length - this.#tail.length;
    if (end < 0) end = endOf(chunk, border, from);
    for (; end >= 0; end = endOf(chunk, border, from)) {
      this.#take(chunk, from, end, true);
      this.#endEvent();
      from = end;
    }
    return from;
  }

  /** Of most events nobody asks for the first bytes. @param ends whether the event ends here */
  #take(chunk: Buffer, from: number, end: number, ends: boolean): void {
    const wanted = this.#saysKind || !ends || this.#begun + end - from > LONG_BYTES;
    const missing = wanted ? HEAD_BYTES - this.#head.length : 0;
    if (missing > 0) this.#head += chunk.toString('latin1', from, Math.min(end, from + missing));
    this.#begun += end - from;
  }

  #endEvent(): void {
    this.#streams = true;
    const kind = this.#kind;
    if (kind !== 'quiet') this.#tallies[kind].add(this.#begun);
    if (this.#begun >= this.#least) this.#longHead = this.#begun > LONG_BYTES ? this.#head : '';
    this.#begun = 0;
    this.#head = '';
    this.#tail = '';
  }

  get #kind(): EventKind {
    if (this.#begun < this.#least) return 'quiet';
    return this.#saysKind ? kindOf(this.#head) : 'words';
  }
}

/** Events of one kind. */
class Tally {
  readonly #most: number;
  #shortest: number;
  #bytes = 0;
  #beyondBytes = 0;
  #events = 0;

  /** @param most of an event that is not its text */
  constructor(most: number) {
    this.#most = most;
    this.#shortest = most;
  }

  get events(): number {
    return this.#events;
  }

  add(bytes: number): void {
    this.#events += 1;
    this.#bytes += bytes;
    this.#beyondBytes += Math.max(0, bytes - this.#most);
    this.#shortest = Math.min(this.#shortest, bytes);
  }

  /** @param rest what came of one that has not ended */
  tokens(rest: number): number {
    const text = this.#bytes - this.#events * this.#shortest;
    return this.#events + tokensOfBytes(text + Math.max(0, rest - this.#shortest));
  }

  /** What is text in any case. */
  beyond(rest: number): number {
    return tokensOfBytes(this.#beyondBytes + Math.max(0, rest - this.#most));
  }
}

export function tokensOfBytes(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_TOKEN);
}

/** The index behind the next border, or -1. */
function endOf(chunk: Buffer, border: string, from: number): number {
  const at = chunk.indexOf(border, from);
  return at < 0 ? -1 : at + border.length;
}

function borderOf(tail: string, chunk: Buffer): string | null {
  const end = chunk.indexOf('\n');
  if (end < 0) return null;
  const before = end === 0 ? tail.slice(-1) : chunk.toString('latin1', end - 1, end);
  return before === '\r' ? '\n\r\n' : '\n\n';
}

/** What is around a text in an event, in bytes. */
interface Frame {
  /** As short as any server writes it: a shorter event lives or ends, and has no text. */
  readonly least: number;
  /** As its own provider writes it: an event that is longer holds more text. */
  readonly most: number;
}

const FRAMES: Readonly<Record<Dialect, Frame>> = {
  openai: { least: 45, most: 280 },
  embeddings: { least: 45, most: 280 },
  responses: { least: 85, most: 280 },
  anthropic: { least: 105, most: 130 },
  gemini: { least: 55, most: 400 },
};
const MOST_OF_A_BORDER = 2;
const BYTES_PER_TOKEN = 4;
/** The tail of a stream shows what is shorter. */
const LONG_BYTES = 2 * 1024;

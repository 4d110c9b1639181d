/**
 * Picks out of a stream of server-sent events those that speak of usage: the first, and the last few, since totals run
 * on and some servers tell them in every event. The others are not split, parsed or copied: a name is looked for in a
 * chunk as a whole. An event that is not whole yet is held, up to a limit; a longer one is read as it passes.
 */
import { eventEnd, eventStart, lastBorder, lastEventEnd } from './event-borders.ts';
import type { EventData } from './event-data.ts';

export interface Mark {
  /** The name to look for, with the quote behind it: one before it would make the search ten times as slow. */
  readonly name: Buffer;
  /** Also read: events that begin so, whose usage is `null`. */
  readonly head: RegExp | null;
}

export class MarkedEvents {
  readonly #mark: Mark;
  readonly #data: EventData;
  #held: Buffer = EMPTY;
  #heldBytes = 0;
  /** Whether the event is longer than is held, and is read as it passes. */
  #passing = false;
  #hasFirst = false;
  /** The last events that speak of usage, to be read at the end. */
  #last: Buffer[] = [];

  constructor(mark: Mark, data: EventData) {
    this.#mark = mark;
    this.#data = data;
  }

  write(chunk: Buffer): void {
    const rest = this.#passing ? this.#pass(chunk) : chunk;
    if (rest.length === 0) return;
    if (this.#heldBytes > 0) {
      this.#extend(rest);
      return;
    }
    const end = lastEventEnd(rest, 0);
    if (end > 0) this.#look(rest.subarray(0, end));
    if (end < rest.length) this.#hold(rest.subarray(end));
  }

  /** The stream is over: what was told of an event that was cut off counts. */
  end(): void {
    if (this.#heldBytes > 0) this.#look(this.#held.subarray(0, this.#heldBytes));
    this.#held = EMPTY;
    this.#heldBytes = 0;
    this.#readLast();
  }

  #pass(chunk: Buffer): Buffer {
    const end = this.#data.write(chunk);
    if (end < 0) return EMPTY;
    this.#passing = false;
    return chunk.subarray(end);
  }

  #extend(chunk: Buffer): void {
    const before = this.#heldBytes;
    this.#hold(chunk);
    if (this.#passing) return;
    const held = this.#held.subarray(0, this.#heldBytes);
    const end = lastEventEnd(held, Math.max(0, before - LONGEST_GAP));
    if (end === 0) return;
    this.#look(held.subarray(0, end));
    const rest = held.subarray(end);
    this.#held = EMPTY;
    this.#heldBytes = 0;
    if (rest.length > 0) this.#hold(rest);
  }

  #hold(bytes: Buffer): void {
    const needed = this.#heldBytes + bytes.length;
    if (needed > MAX_HELD_BYTES) {
      this.#passLong(bytes);
      return;
    }
    if (needed > this.#held.length) {
      const larger = Buffer.allocUnsafe(Math.max(needed * 2, MIN_HELD_BYTES));
      this.#held.copy(larger, 0, 0, this.#heldBytes);
      this.#held = larger;
    }
    this.#heldBytes += bytes.copy(this.#held, this.#heldBytes);
  }

  /** What is held may be several events: all that end in it are looked at first. */
  #passLong(bytes: Buffer): void {
    const all = Buffer.concat([this.#held.subarray(0, this.#heldBytes), bytes]);
    this.#held = EMPTY;
    this.#heldBytes = 0;
    const end = lastEventEnd(all, 0);
    if (end > 0) this.#look(all.subarray(0, end));
    if (all.length - end <= MAX_HELD_BYTES) {
      if (end < all.length) this.#hold(all.subarray(end));
      return;
    }
    this.#passing = true;
    this.#readLast();
    this.#data.reset();
    const rest = this.#pass(all.subarray(end));
    if (rest.length > 0) this.write(rest);
  }

  /** @param events whole ones, but for the last of a stream that was cut off */
  #look(events: Buffer): void {
    const hits = this.#findHits(events);
    const [first] = hits;
    if (first === undefined) return;
    const isFirst = !this.#hasFirst;
    if (isFirst) this.#read(events.subarray(eventStart(events, first), eventEnd(events, first)));
    this.#hasFirst = true;
    for (const hit of (isFirst ? hits.slice(1) : hits).slice(-MAX_LAST)) {
      const event = events.subarray(eventStart(events, hit), eventEnd(events, hit));
      this.#last.push(Buffer.from(event));
      if (this.#last.length > MAX_LAST) this.#last.shift();
    }
  }

  /** Where the name stands, as a name, before a value that is worth reading. */
  #findHits(events: Buffer): number[] {
    const { name, head } = this.#mark;
    const hits: number[] = [];
    /** Where the event begins that `hit` stands in, and how far that is known. */
    let start = 0;
    let known = 0;
    for (let hit = events.indexOf(name); hit >= 0; hit = events.indexOf(name, hit + name.length)) {
      if (events[hit - 1] !== QUOTE) continue;
      const value = valueByte(events, hit + name.length);
      if (value !== OPEN_BRACE && (value === 0 || head === null)) continue;
      start = Math.max(start, lastBorder(events, hit, known));
      known = hit;
      if (value === OPEN_BRACE || head?.test(events.toString('latin1', start, start + HEAD_BYTES)))
        hits.push(hit);
    }
    return hits;
  }

  #readLast(): void {
    for (const event of this.#last) this.#read(event);
    this.#last = [];
  }

  #read(event: Buffer): void {
    this.#data.reset();
    this.#data.write(event);
  }
}

/** The first byte of the value behind a name, or 0 where this is no name. */
function valueByte(bytes: Buffer, at: number): number {
  let colons = 0;
  for (let i = at; i < bytes.length; i += 1) {
    const byte = bytes[i] ?? 0;
    if (byte === COLON) colons += 1;
    else if (byte !== SPACE && byte !== TAB) return colons === 1 ? byte : 0;
  }
  return 0;
}

const EMPTY = Buffer.alloc(0);
const QUOTE = 0x22;
const OPEN_BRACE = 0x7b;
const COLON = 0x3a;
const SPACE = 0x20;
const TAB = 0x09;
/** CR, LF, CR and LF. */
const LONGEST_GAP = 4;
/** An event's name and the type in its data. */
const HEAD_BYTES = 160;
/** A server that tells its totals in every event tells all of them in each; one more may tell less, or none. */
const MAX_LAST = 3;
const MIN_HELD_BYTES = 1024;
const MAX_HELD_BYTES = 64 * 1024;

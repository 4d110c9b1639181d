/**
 * Takes out of a stream of Chat Completions the event that tells only the usage, for a caller that did not ask for it:
 * the gate did. That event is left out from border to border; every other byte passes as it came. Of an event that has
 * not ended, bytes wait only while it may yet be that one.
 */
export class UsageFilter {
  /** The beginning of an event that may be the one. */
  #held: Buffer = EMPTY;
  /** The last bytes of an event that is another and has not ended; `null` between events. */
  #passing: string | null = null;

  write(chunk: Buffer): Buffer {
    const data = this.#held.length > 0 ? Buffer.concat([this.#held, chunk]) : chunk;
    this.#held = EMPTY;
    if (this.#passing === null && endsEvent(data) && !data.includes(USAGE)) return data;
    const kept: Buffer[] = [];
    for (let at = 0; at < data.length; ) at += this.#step(data.subarray(at), kept);
    return kept.length === 1 && kept[0] ? kept[0] : Buffer.concat(kept);
  }

  /** @returns what was held back, at the end of the stream */
  end(): Buffer {
    const rest = this.#held;
    this.#held = EMPTY;
    return rest;
  }

  /** Looks at one event, or at what is there of it. @returns how many bytes that was */
  #step(data: Buffer, kept: Buffer[]): number {
    const before = this.#passing ?? '';
    const text = before + data.toString('latin1');
    const border = (this.#passing === null ? BORDER_OR_EMPTY : BORDER).exec(text);
    const length = border ? border.index + border[0].length - before.length : data.length;
    const event = data.subarray(0, length);
    if (this.#passing === null && (border ? isUsageOnly(event) : mayBeUsageOnly(text))) {
      if (!border) this.#held = event;
      return length;
    }
    kept.push(event);
    this.#passing = border ? null : text.slice(-2);
    return length;
  }
}

function endsEvent(data: Buffer): boolean {
  return data.length > 1 && data[data.length - 1] === LF && data[data.length - 2] === LF;
}

/** @param text what has come of an event that has not ended */
function mayBeUsageOnly(text: string): boolean {
  return text.length < MAX_HELD_BYTES && !OTHER_EVENT.test(text);
}

function isUsageOnly(event: Buffer): boolean {
  const text = event.toString('utf8');
  if (!SOME_USAGE.test(text) || !NO_CHOICES.test(text)) return false;
  const lines = text.split(/\r?\n/).filter((line) => line.startsWith('data:'));
  try {
    const told: unknown = JSON.parse(lines.map((line) => line.slice('data:'.length)).join('\n'));
    const { choices, usage } = told as { choices?: unknown; usage?: unknown };
    return Array.isArray(choices) && choices.length === 0 && typeof usage === 'object' && usage !== null;
  } catch {
    return false;
  }
}

const EMPTY = Buffer.alloc(0);
const LF = 0x0a;
const USAGE = Buffer.from('"usage"');
const BORDER = /\n\r?\n/;
/** Behind a border, an empty line alone is an event of nothing. */
const BORDER_OR_EMPTY = /^\r?\n|\n\r?\n/;
/** It has choices, or lines that end in a way in which no provider ends them. */
const OTHER_EVENT = /"choices"\s*:\s*\[\s*[^\]\s]|\r[^\n]/;
const SOME_USAGE = /"usage"\s*:\s*\{/;
const NO_CHOICES = /"choices"\s*:\s*\[\s*\]/;
/** Many times what a usage takes. */
const MAX_HELD_BYTES = 16 * 1024;

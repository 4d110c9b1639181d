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
    return this.#filter(data);
  }

  /** @returns what was held back, at the end of the stream; nothing of a usage that was cut off */
  end(): Buffer {
    const rest = this.#held;
    this.#held = EMPTY;
    return isUsageOnly(rest) || tellsCutUsage(rest) ? EMPTY : rest;
  }

  /** Each byte is looked at a few times only, however many events there are. */
  #filter(data: Buffer): Buffer {
    const before = this.#passing ?? '';
    const text = before + data.toString('latin1');
    const kept: Buffer[] = [];
    /** From here on nothing is decided; before it, what was kept since the last event that was left out. */
    let at = 0;
    let keptFrom = 0;
    while (at < data.length) {
      const from = this.#passing === null ? at + before.length : 0;
      const border = findBorder(text, from, this.#passing === null);
      const end = border < 0 ? data.length : border - before.length;
      if (this.#passing === null && this.#leavesOut(text.slice(from), data.subarray(at, end), border >= 0)) {
        kept.push(data.subarray(keptFrom, at));
        keptFrom = end;
      } else this.#passing = border < 0 ? text.slice(from).slice(-2) : null;
      at = end;
    }
    kept.push(data.subarray(keptFrom));
    return kept.length === 1 && kept[0] ? kept[0] : Buffer.concat(kept);
  }

  /** Looks at one event, or at what is there of it, which is then held back. */
  #leavesOut(text: string, event: Buffer, ended: boolean): boolean {
    if (ended) return isUsageOnly(event);
    if (!mayBeUsageOnly(text)) return false;
    this.#held = event;
    return true;
  }
}

function endsEvent(data: Buffer): boolean {
  return data.length > 1 && data[data.length - 1] === LF && data[data.length - 2] === LF;
}

/** @returns the index behind the event that begins at `from`, or -1. Behind a border, an empty line alone is one of nothing. */
function findBorder(text: string, from: number, behindBorder: boolean): number {
  for (const border of behindBorder ? [EMPTY_LINE, BORDER] : [BORDER]) {
    border.lastIndex = from;
    if (border.test(text)) return border.lastIndex;
  }
  return -1;
}

/** @param text what has come of an event that has not ended */
function mayBeUsageOnly(text: string): boolean {
  return text.length < MAX_HELD_BYTES && !OTHER_EVENT.test(text);
}

function isUsageOnly(event: Buffer): boolean {
  const text = event.toString('utf8');
  if (!SOME_USAGE.test(text) || !NO_CHOICES.test(text)) return false;
  const { choices, usage } = (parseData(text) ?? {}) as { choices?: unknown; usage?: unknown };
  return Array.isArray(choices) && choices.length === 0 && typeof usage === 'object' && usage !== null;
}

/** @param event one that may be the one, without its end */
function tellsCutUsage(event: Buffer): boolean {
  const text = event.toString('utf8');
  return SOME_USAGE.test(text) && parseData(text) === undefined;
}

/** `undefined` where it is no JSON, or not all of it. */
function parseData(event: string): unknown {
  const lines = event.split(/\r?\n/).filter((line) => line.startsWith('data:'));
  try {
    return JSON.parse(lines.map((line) => line.slice('data:'.length)).join('\n'));
  } catch {
    return undefined;
  }
}

const EMPTY = Buffer.alloc(0);
const LF = 0x0a;
const USAGE = Buffer.from('"usage"');
const BORDER = /\n\r?\n/g;
const EMPTY_LINE = /\r?\n/y;
/** It has choices, or lines that end in a way in which no provider ends them. */
const OTHER_EVENT = /"choices"\s*:\s*\[\s*[^\]\s]|\r[^\n]/;
const SOME_USAGE = /"usage"\s*:\s*\{/;
const NO_CHOICES = /"choices"\s*:\s*\[\s*\]/;
/** Many times what a usage takes. */
const MAX_HELD_BYTES = 16 * 1024;

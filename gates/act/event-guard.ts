/**
 * What may not pass in a stream of server-sent events: `id:` and `retry:` lines, which belong to whoever the caller is
 * connected to, and that is the gate; and a line without an end. Providers of models send neither: every other byte
 * passes as it came and when it came. Bytes wait only while they are the beginning of such a line.
 */
export class EventGuard {
  /** The beginning of a line that may yet become one to drop. */
  #held: Buffer = EMPTY;
  #atLineStart = true;
  #dropping = false;
  /** Whether a line was dropped with its CR, and a LF that comes next belongs to it. */
  #dropsFeed = false;
  #lineBytes = 0;

  /** @returns what may go on now, or `null` when a line grew past every measure */
  write(chunk: Buffer): Buffer | null {
    const data = this.#held.length > 0 ? Buffer.concat([this.#held, chunk]) : chunk;
    this.#held = EMPTY;
    const lineStart = Math.max(data.lastIndexOf(LF), data.lastIndexOf(CR)) + 1;
    this.#lineBytes = lineStart === 0 ? this.#lineBytes + data.length : data.length - lineStart;
    if (this.#lineBytes > MAX_LINE_BYTES) return null;
    if (this.#dropping || this.#dropsFeed || this.#mustLook(data, lineStart)) return this.#filter(data);
    this.#atLineStart = lineStart === data.length;
    return data;
  }

  /** @returns what was held back, at the end of the stream */
  end(): Buffer {
    const rest = this.#held;
    this.#held = EMPTY;
    return rest;
  }

  /** Almost no chunk needs a look at its lines. */
  #mustLook(data: Buffer, lineStart: number): boolean {
    if (this.#atLineStart && DROPPED.some((name) => startsWith(data, name) || startsWith(name, data)))
      return true;
    if (DROPPED_LATER.some((text) => data.includes(text))) return true;
    const last = data.subarray(lineStart);
    return lineStart > 0 && last.length > 0 && DROPPED.some((name) => startsWith(name, last));
  }

  #filter(data: Buffer): Buffer {
    const kept: Buffer[] = [];
    for (let at = 0; at < data.length; ) {
      // The second half of a CRLF whose line was dropped: alone it would end an event.
      if (this.#dropsFeed && data[at] === LF) at += 1;
      this.#dropsFeed = false;
      const end = lineEnd(data, at);
      const line = data.subarray(at, end < 0 ? data.length : end);
      if (this.#atLineStart) this.#dropping = DROPPED.some((name) => startsWith(line, name));
      if (
        end < 0 &&
        this.#atLineStart &&
        DROPPED.some((name) => startsWith(name, line) && line.length < name.length)
      ) {
        this.#held = line;
        break;
      }
      if (!this.#dropping) kept.push(line);
      this.#atLineStart = end >= 0;
      this.#dropsFeed = this.#dropping && end >= 0 && data[end - 1] === CR;
      if (end >= 0) this.#dropping = false;
      at += line.length;
    }
    return Buffer.concat(kept);
  }
}

/** The index behind the line that begins at `at`, or -1: a line of an event stream ends with CR, LF or both. */
function lineEnd(data: Buffer, at: number): number {
  const feed = data.indexOf(LF, at);
  const cr = data.subarray(at, feed < 0 ? data.length : feed).indexOf(CR);
  if (cr >= 0) return at + cr + 1;
  return feed < 0 ? -1 : feed + 1;
}

function startsWith(line: Buffer, beginning: Buffer): boolean {
  return (
    line.length >= beginning.length && line.compare(beginning, 0, beginning.length, 0, beginning.length) === 0
  );
}

const EMPTY = Buffer.alloc(0);
const LF = 0x0a;
const CR = 0x0d;
const DROPPED = [Buffer.from('id:'), Buffer.from('retry:')];
const DROPPED_LATER = ['\nid:', '\rid:', '\nretry:', '\rretry:'].map((text) => Buffer.from(text));
/** The largest event holds an image. */
const MAX_LINE_BYTES = 8 * 1024 * 1024;

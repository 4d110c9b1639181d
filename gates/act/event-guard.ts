/**
 * What may not pass in a stream of server-sent events: the fields `id` and `retry`, which belong to whoever the caller is
 * connected to, and that is the gate; and a line without an end. Providers of models send neither: every other byte
 * passes as it came and when it came. Bytes wait only while they are the beginning of such a line.
 */
import { LineEnds } from '../line-ends.ts';

export class EventGuard {
  /** The beginning of a line that may yet become one to drop. */
  #held: Buffer = EMPTY;
  /** Nothing has passed yet: a byte order mark may come before the first line. */
  #atStart = true;
  #atLineStart = true;
  #dropping = false;
  /** Whether a line was dropped with its CR, and a LF that comes next belongs to it. */
  #dropsFeed = false;
  /** How long the line is that has not ended. */
  #lineBytes = 0;

  /** @returns what may go on now, or `null` when a line grew past every measure */
  write(chunk: Buffer): Buffer | null {
    if (!this.#measure(chunk)) return null;
    const data = this.#held.length > 0 ? Buffer.concat([this.#held, chunk]) : chunk;
    this.#held = EMPTY;
    if (data.length === 0) return data;
    this.#atStart &&= MARK[0] === data[0];
    if (this.#atStart || this.#dropping || this.#dropsFeed || this.#mustLook(data)) return this.#filter(data);
    this.#atLineStart = isLineEnd(data[data.length - 1]);
    return data;
  }

  /** @returns what was held back, at the end of the stream */
  end(): Buffer {
    const rest = this.#held;
    this.#held = EMPTY;
    // Some parsers take the end of the stream for the end of its last line.
    return NAMES.some((name) => rest.equals(name)) ? EMPTY : rest;
  }

  /** Whether every line, and what has come of the last one, is within measure. */
  #measure(chunk: Buffer): boolean {
    const lastEnd = Math.max(chunk.lastIndexOf(LF), chunk.lastIndexOf(CR));
    const fits = this.#lineBytes + chunk.length <= MAX_LINE_BYTES || this.#measureEach(chunk);
    this.#lineBytes = lastEnd < 0 ? this.#lineBytes + chunk.length : chunk.length - lastEnd - 1;
    return fits;
  }

  #measureEach(chunk: Buffer): boolean {
    const lines = new LineEnds(chunk);
    let before = this.#lineBytes;
    for (let at = 0; at < chunk.length; before = 0) {
      const end = lines.next(at) + 1;
      if (before + (end === 0 ? chunk.length : end) - at > MAX_LINE_BYTES) return false;
      if (end === 0) return true;
      at = end;
    }
    return true;
  }

  /** Almost no chunk needs a look at its lines. */
  #mustLook(data: Buffer): boolean {
    if (this.#atLineStart && mayBecome(data)) return true;
    if (LATER_LF.some((text) => data.includes(text))) return true;
    if (data.includes(CR) && LATER_CR.some((text) => data.includes(text))) return true;
    if (isLineEnd(data[data.length - 1])) return false;
    const lastLine = Math.max(data.lastIndexOf(LF), data.lastIndexOf(CR)) + 1;
    return lastLine > 0 && mayBecome(data.subarray(lastLine));
  }

  #filter(data: Buffer): Buffer {
    const lines = new LineEnds(data);
    const kept: Buffer[] = [];
    let at = this.#passMark(data, kept);
    while (at < data.length) {
      const start = at + this.#feedLength(data, at);
      if (start === data.length) break;
      const end = lines.next(start) + 1;
      const line = data.subarray(start, end === 0 ? data.length : end);
      if (this.#mustWait(line, end > 0)) {
        this.#held = line;
        break;
      }
      if (!this.#drops(line, end > 0)) kept.push(line);
      at = start + line.length;
    }
    return kept.length === 1 && kept[0] ? kept[0] : Buffer.concat(kept);
  }

  /** The second half of a CRLF whose line was dropped: alone it would end an event. */
  #feedLength(data: Buffer, at: number): number {
    const length = this.#dropsFeed && data[at] === LF ? 1 : 0;
    this.#dropsFeed = false;
    return length;
  }

  #mustWait(line: Buffer, ended: boolean): boolean {
    return this.#atLineStart && !ended && mayBecome(line) && !isDropped(line);
  }

  /** Whether this line, or what is here of it, does not pass. */
  #drops(line: Buffer, ended: boolean): boolean {
    if (this.#atLineStart) this.#dropping = isDropped(line);
    const drops = this.#dropping;
    this.#atLineStart = ended;
    this.#dropsFeed = drops && ended && line[line.length - 1] === CR;
    if (ended) this.#dropping = false;
    return drops;
  }

  /** A byte order mark is no part of the first line. @returns where that begins, or the end when it is to be waited for */
  #passMark(data: Buffer, kept: Buffer[]): number {
    if (!this.#atStart) return 0;
    const beginning = data.subarray(0, MARK.length);
    if (beginning.length < MARK.length && MARK.subarray(0, beginning.length).equals(beginning)) {
      this.#held = data;
      return data.length;
    }
    this.#atStart = false;
    if (!beginning.equals(MARK)) return 0;
    kept.push(beginning);
    return MARK.length;
  }
}

/** Whether a line that begins so may yet turn out to be one to drop, or is one. */
function mayBecome(line: Buffer): boolean {
  if (line[0] !== FIRST_I && line[0] !== FIRST_R) return false;
  return NAMES.some((name) => {
    const common = Math.min(line.length, name.length);
    return line.compare(name, 0, common, 0, common) === 0;
  });
}

/** As an event stream is parsed: a field's name ends at its colon, or with its line. */
function isDropped(line: Buffer): boolean {
  return NAMES.some(
    (name) =>
      line.length > name.length &&
      line.compare(name, 0, name.length, 0, name.length) === 0 &&
      (line[name.length] === COLON || isLineEnd(line[name.length])),
  );
}

function isLineEnd(byte: number | undefined): boolean {
  return byte === LF || byte === CR;
}

const EMPTY = Buffer.alloc(0);
const LF = 0x0a;
const CR = 0x0d;
const COLON = 0x3a;
const FIRST_I = 0x69;
const FIRST_R = 0x72;
const MARK = Buffer.from('\ufeff');
const NAMES = [Buffer.from('id'), Buffer.from('retry')];
const LATER_LF = ['\nid', '\nretry'].map((text) => Buffer.from(text));
const LATER_CR = ['\rid', '\rretry'].map((text) => Buffer.from(text));
/** The largest event holds an image. */
const MAX_LINE_BYTES = 8 * 1024 * 1024;

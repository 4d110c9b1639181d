/**
 * Where server-sent events begin and end. A line ends with CR, LF or both, an event with an empty line; nearly every
 * server sends LF, so that is what is looked for first.
 */
import { LineEnds } from '../line-ends.ts';

/** Where the event begins that holds the byte at `at`: behind the empty line before it. */
export function eventStart(bytes: Buffer, at: number): number {
  return Math.max(0, lastBorder(bytes, at, 0));
}

/** The index behind the last empty line whose end stands before `at` and not before `floor`, or -1. */
export function lastBorder(bytes: Buffer, at: number, floor: number): number {
  const part = bytes.subarray(floor, at);
  let feed = part.lastIndexOf(LF);
  let cr = part.lastIndexOf(CR);
  for (let end = Math.max(feed, cr); end >= 0; end = Math.max(feed, cr)) {
    if (endsEmptyLine(bytes, floor + end)) return floor + end + 1;
    if (feed === end) feed = end === 0 ? -1 : part.lastIndexOf(LF, end - 1);
    else cr = end === 0 ? -1 : part.lastIndexOf(CR, end - 1);
  }
  return -1;
}

/** Where the event ends that holds the byte at `at`: behind the empty line after it, or with the bytes. */
export function eventEnd(bytes: Buffer, at: number): number {
  const lines = new LineEnds(bytes);
  for (let end = lines.next(at); end >= 0; end = lines.next(end + 1)) {
    if (endsEmptyLine(bytes, end)) return end + 1;
  }
  return bytes.length;
}

/** The index behind an empty line, as far back as one is easily found; 0 where there is none behind `floor`. */
export function lastEventEnd(bytes: Buffer, floor: number): number {
  const kind = bytes.indexOf(LF, floor) < 0 ? CR : LF;
  for (let at = bytes.lastIndexOf(kind); at > floor; at = bytes.lastIndexOf(kind, at - 1)) {
    if (endsEmptyLine(bytes, at)) return at + 1;
  }
  return 0;
}

/** Whether the line end at `at` follows another one: CR, LF and CRLF are each one. */
function endsEmptyLine(bytes: Buffer, at: number): boolean {
  const before = bytes[at] === LF && bytes[at - 1] === CR ? at - 2 : at - 1;
  return before >= 0 && (bytes[before] === LF || bytes[before] === CR);
}

const LF = 0x0a;
const CR = 0x0d;

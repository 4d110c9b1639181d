/**
 * Where server-sent events begin and end. A line ends with CR, LF or both, an event with an empty line; nearly every
 * server sends LF, so that is what is looked for first.
 */

/** Where the event begins that holds the byte at `at`: behind the empty line before it. */
export function eventStart(bytes: Buffer, at: number): number {
  let start = lineStart(bytes, at);
  while (start > 0 && !endsEmptyLine(bytes, start - 1)) start = lineStart(bytes, start - 1);
  return start;
}

/** Where the event ends that holds the byte at `at`: behind the empty line after it, or with the bytes. */
export function eventEnd(bytes: Buffer, at: number): number {
  for (let end = lineEnd(bytes, at); end >= 0; end = lineEnd(bytes, end + 1)) {
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

/** The index of the first CR or LF from `at` on, or -1. */
export function lineEnd(bytes: Buffer, at: number): number {
  const feed = bytes.indexOf(LF, at);
  const cr = bytes.subarray(at, feed < 0 ? bytes.length : feed).indexOf(CR);
  return cr < 0 ? feed : at + cr;
}

function lineStart(bytes: Buffer, at: number): number {
  const feed = at === 0 ? -1 : bytes.lastIndexOf(LF, at - 1);
  return feed + 1 + bytes.subarray(feed + 1, at).lastIndexOf(CR) + 1;
}

/** Whether the line end at `at` follows another one: CR, LF and CRLF are each one. */
function endsEmptyLine(bytes: Buffer, at: number): boolean {
  const before = bytes[at] === LF && bytes[at - 1] === CR ? at - 2 : at - 1;
  return before >= 0 && (bytes[before] === LF || bytes[before] === CR);
}

const LF = 0x0a;
const CR = 0x0d;

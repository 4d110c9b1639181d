/** What coding bytes begin as, whatever their name says: some servers mix them up, and some clients look themselves. */
import type { Coding } from '../../core-lite/decoders.ts';

/** @param tried what cannot decode them @returns what else may; `null` where nothing does */
export function otherReading(bytes: Buffer, tried: ReadonlySet<Coding>): Coding | null {
  const found = sniff(bytes);
  if (found !== null && found !== 'zstd' && !tried.has(found)) return found;
  return tried.has('deflate') && !tried.has('deflate-raw') ? 'deflate-raw' : null;
}

/** Whether somebody may take the bytes for coded. Two codings begin as anything does. */
export function mayBeCoded(bytes: Buffer, tried: ReadonlySet<Coding>): boolean {
  return tried.has('br') || tried.has('deflate-raw') || sniff(bytes) !== null;
}

/** What goes on behind an end. @param bytes at least one */
export function nextMember(bytes: Buffer): Coding | null {
  if (bytes.length === 1) return bytes[0] === 0x1f ? 'gzip' : null;
  const found = sniff(bytes);
  return found === 'gzip' ? found : null;
}

function sniff(bytes: Buffer): Coding | null {
  if (bytes.length < 2) return null;
  const first = bytes.readUInt16BE();
  if (first === 0x1f8b) return 'gzip';
  // RFC 1950 2.2: a method, a window, and a remainder.
  if ((first >> 8) % 16 === 8 && first >> 12 <= 7 && first % 31 === 0) return 'deflate';
  const magic = bytes.length < 4 ? 0 : bytes.readUInt32LE();
  return magic === 0xfd2fb528 || magic >> 4 === 0x184d2a5 ? 'zstd' : null;
}

/** The decoders of what is compressed. None takes a window that a browser would refuse, and of those with a large one only so many work at once. */
import type { Transform } from 'node:stream';
import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
} from 'node:zlib';

export type Coding = 'gzip' | 'deflate' | 'br' | 'zstd';

/** The one coding that a body has; `null` for none, and where only its bytes can be looked at. */
export function codingOf(encoding: string): Coding | null {
  if (encoding === 'x-gzip') return 'gzip';
  return CODINGS.find((coding) => coding === encoding) ?? null;
}

/** The places for decoders with a large window. */
export class Places {
  #left = MAX_WORKING;

  /** @returns whether there was one */
  take(): boolean {
    if (this.#left === 0) return false;
    this.#left -= 1;
    return true;
  }

  free(): void {
    this.#left += 1;
  }
}

/** It gives all that it can of each write. @returns `null` where too many are at work; its place is free again when it closes */
export function openDecoder(coding: Coding, first: Buffer, places: Places): Transform | null {
  if (coding === 'gzip' || coding === 'deflate') return makeDecoder(coding, first);
  if (!places.take()) return null;
  return makeDecoder(coding, first).once('close', () => places.free());
}

function makeDecoder(coding: Coding, first: Buffer): Transform {
  const zlib = { chunkSize: CHUNK_BYTES, flush: constants.Z_SYNC_FLUSH };
  switch (coding) {
    case 'gzip':
      return createGunzip(zlib);
    case 'deflate':
      return isZlib(first) ? createInflate(zlib) : createInflateRaw(zlib);
    case 'br':
      return createBrotliDecompress({ chunkSize: CHUNK_BYTES, flush: constants.BROTLI_OPERATION_FLUSH });
    case 'zstd':
      return createZstdDecompress({
        chunkSize: CHUNK_BYTES,
        flush: constants.ZSTD_e_flush,
        params: ZSTD_PARAMS,
      });
    default:
      return coding satisfies never;
  }
}

/** RFC 9110 8.4.1.2 says `deflate` is in zlib's format; some servers send it bare, and clients read both. */
function isZlib(first: Buffer): boolean {
  const [method = 0, flags] = first;
  return (method & 0x0f) === DEFLATE && (flags === undefined || (method * 256 + flags) % 31 === 0);
}

const CODINGS: readonly Coding[] = ['gzip', 'deflate', 'br', 'zstd'];
const DEFLATE = 8;
const CHUNK_BYTES = 64 * 1024;
/** 8 MiB, the most that a receiver must take for this coding (RFC 9659). */
export const ZSTD_PARAMS = { [constants.ZSTD_d_windowLogMax]: 23 };
/** At 16 MiB for the largest window of br, 1 GiB. */
const MAX_WORKING = 64;

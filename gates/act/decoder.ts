/** The decoders of compressed answers. None takes a window that a browser would refuse, and only so many work at once. */
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

/** It gives all that it can of each write. @returns `null` where too many are at work; its place is free again when it closes */
export function openDecoder(coding: Coding, first: Buffer): Transform | null {
  if (working >= MAX_WORKING) return null;
  working += 1;
  return makeDecoder(coding, first).once('close', () => {
    working -= 1;
  });
}

function makeDecoder(coding: Coding, first: Buffer): Transform {
  const zlib = { chunkSize: CHUNK_BYTES, flush: constants.Z_SYNC_FLUSH };
  switch (coding) {
    case 'gzip':
      return createGunzip(zlib);
    case 'deflate':
      // Some leave out the header (RFC 1950 2.2), and clients read both.
      return ((first[0] ?? 0) & 0x0f) === DEFLATE ? createInflate(zlib) : createInflateRaw(zlib);
    case 'br':
      return createBrotliDecompress({ chunkSize: CHUNK_BYTES, flush: constants.BROTLI_OPERATION_FLUSH });
    case 'zstd':
      return createZstdDecompress({
        chunkSize: CHUNK_BYTES,
        flush: constants.ZSTD_e_flush,
        params: { [constants.ZSTD_d_windowLogMax]: MAX_WINDOW_LOG },
      });
    default:
      return coding satisfies never;
  }
}

let working = 0;
const CODINGS: readonly Coding[] = ['gzip', 'deflate', 'br', 'zstd'];
const DEFLATE = 8;
const CHUNK_BYTES = 64 * 1024;
/** 8 MiB, the most that a receiver must take for this coding (RFC 9659). */
const MAX_WINDOW_LOG = 23;
/** At 16 MiB for the largest window of br, 1 GiB. */
const MAX_WORKING = 64;

/** The decoders of compressed bodies. None takes a window that a browser would refuse. */
import type { Transform } from 'node:stream';
import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
} from 'node:zlib';

/** `deflate-raw` is what some call `deflate`: without the header of zlib (RFC 1950). */
export type Coding = 'gzip' | 'deflate' | 'deflate-raw' | 'br' | 'zstd';

export type Decoder = Transform & { readonly bytesWritten: number };

/** Whether its windows are so large that not all may be decoded at once. */
export function isLarge(coding: Coding): boolean {
  return coding === 'br' || coding === 'zstd';
}

/** Whether it stopped because the body asks for more memory than anybody may. */
export function isWindowTooLarge(error: NodeJS.ErrnoException): boolean {
  return error.code === 'ZSTD_error_frameParameter_windowTooLarge';
}

/** It gives all that it can of each write, 64 KiB in a turn of the event loop. */
export function makeDecoder(coding: Coding): Decoder {
  switch (coding) {
    case 'gzip':
      return createGunzip({ chunkSize: CHUNK_BYTES, flush: constants.Z_SYNC_FLUSH });
    case 'deflate':
      return createInflate({ chunkSize: CHUNK_BYTES, flush: constants.Z_SYNC_FLUSH });
    case 'deflate-raw':
      return createInflateRaw({ chunkSize: CHUNK_BYTES, flush: constants.Z_SYNC_FLUSH });
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

const CHUNK_BYTES = 64 * 1024;
/** 8 MiB, the most that a receiver must take for this coding (RFC 9659). */
export const ZSTD_PARAMS = { [constants.ZSTD_d_windowLogMax]: 23 };

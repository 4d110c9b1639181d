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
import { decoderBudget } from './decoder-budget.ts';

/** `deflate-raw` is what some call `deflate`: without the header of zlib (RFC 1950). */
export type Coding = 'gzip' | 'deflate' | 'deflate-raw' | 'br' | 'zstd';

/** It gives all that it can of each write. @returns `null` where too many are at work; it is free again when destroyed */
export function openDecoder(coding: Coding): Transform | null {
  const release = coding === 'br' || coding === 'zstd' ? decoderBudget.take() : () => {};
  return release && makeDecoder(coding).once('close', release);
}

/** Whether it stopped because the body asks for more memory than anybody may. */
export function isWindowTooLarge(error: NodeJS.ErrnoException): boolean {
  return error.code === 'ZSTD_error_frameParameter_windowTooLarge';
}

function makeDecoder(coding: Coding): Transform {
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
        params: { [constants.ZSTD_d_windowLogMax]: MAX_WINDOW_LOG },
      });
    default:
      return coding satisfies never;
  }
}

const CHUNK_BYTES = 64 * 1024;
/** 8 MiB, the most that a receiver must take for this coding (RFC 9659). */
const MAX_WINDOW_LOG = 23;

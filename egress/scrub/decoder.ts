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

export type Coding = 'gzip' | 'deflate' | 'br' | 'zstd';

/** It gives all that it can of each write. @returns `null` where too many are at work; it is free again when destroyed */
export function openDecoder(coding: Coding, first: number): Transform | null {
  const release = coding === 'br' || coding === 'zstd' ? decoderBudget.take() : () => {};
  return release && makeDecoder(coding, first).once('close', release);
}

/** Whether it stopped because the body asks for more memory than anybody may. */
export function isWindowTooLarge(error: NodeJS.ErrnoException): boolean {
  return error.code === 'ZSTD_error_frameParameter_windowTooLarge';
}

function makeDecoder(coding: Coding, first: number): Transform {
  switch (coding) {
    case 'gzip':
      return createGunzip({ chunkSize: CHUNK_BYTES, flush: constants.Z_SYNC_FLUSH });
    case 'deflate':
      // Some servers send it bare, and clients take both: the first byte tells (RFC 1950 2.2).
      return (first & 0x0f) === 8
        ? createInflate({ chunkSize: CHUNK_BYTES, flush: constants.Z_SYNC_FLUSH })
        : createInflateRaw({ chunkSize: CHUNK_BYTES, flush: constants.Z_SYNC_FLUSH });
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

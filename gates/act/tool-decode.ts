/** Decodes a tool's answer that came compressed, though none was asked for. A small one may hold an endless one: there is a limit. */
import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate, inflateRaw, zstdDecompress } from 'node:zlib';
import { ZSTD_PARAMS } from '../../core-lite/decoders.ts';
import type { Coding } from '../codings.ts';

/** @returns the plain bytes, or why there are none */
export async function decodeAnswer(
  body: Buffer,
  coding: Coding,
  maxBytes: number,
): Promise<Buffer | 'too_large' | 'broken'> {
  try {
    return await decode(body, coding, maxBytes);
  } catch (error) {
    return (error as { code?: unknown }).code === 'ERR_BUFFER_TOO_LARGE' ? 'too_large' : 'broken';
  }
}

async function decode(body: Buffer, coding: Coding, maxOutputLength: number): Promise<Buffer> {
  const limit = { maxOutputLength };
  switch (coding) {
    case 'gzip':
      return promisify(gunzip)(body, limit);
    case 'deflate':
      // Servers mean either of two formats by it.
      return promisify(inflate)(body, limit).catch((error: { code?: unknown }) => {
        if (error.code !== 'Z_DATA_ERROR') throw error;
        return promisify(inflateRaw)(body, limit);
      });
    case 'br':
      return promisify(brotliDecompress)(body, limit);
    case 'zstd':
      return promisify(zstdDecompress)(body, { ...limit, params: ZSTD_PARAMS });
    default:
      return coding satisfies never;
  }
}

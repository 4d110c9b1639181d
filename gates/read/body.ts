/** A request's body as it can be read: decoded from a copy where it is compressed, within the limit of its route. */
import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate, zstdDecompress } from 'node:zlib';
import { ZSTD_PARAMS } from '../../core-lite/decoders.ts';
import type { RefusalReason } from '../reasons.ts';

/** The plain bytes, or why they cannot be had. @param encoding `Content-Encoding`, lower case, empty for none */
export async function readBody(
  body: Buffer,
  encoding: string,
  maxBytes: number,
): Promise<Buffer | RefusalReason> {
  if (encoding === '' || encoding === 'identity') return body;
  const decode = DECODERS.get(encoding);
  if (!decode) return 'encoding_refused';
  try {
    return await decode(body, { maxOutputLength: maxBytes, chunkSize: CHUNK_BYTES });
  } catch (error) {
    return (error as { code?: unknown }).code === 'ERR_BUFFER_TOO_LARGE'
      ? 'body_too_large'
      : 'body_malformed';
  }
}

interface DecodeOptions {
  readonly maxOutputLength: number;
  readonly chunkSize: number;
}
type Decoder = (bytes: Buffer, options: DecodeOptions) => Promise<Buffer>;

/** Node's own size has four times the turns of the event loop, which cost br the half of its time. */
const CHUNK_BYTES = 64 * 1024;
const decodeZstd = promisify(zstdDecompress) as (bytes: Buffer, options: object) => Promise<Buffer>;
const DECODERS = new Map<string, Decoder>([
  ['gzip', promisify(gunzip) as Decoder],
  ['deflate', promisify(inflate) as Decoder],
  ['br', promisify(brotliDecompress) as Decoder],
  ['zstd', (bytes, options) => decodeZstd(bytes, { ...options, params: ZSTD_PARAMS })],
]);

/** A request's body as it can be read: decoded from a copy where it is compressed, within the limit of its route. */
import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate, type ZstdOptions, zstdDecompress } from 'node:zlib';
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
    const { buffer, engine } = await decode(body, {
      maxOutputLength: maxBytes,
      chunkSize: CHUNK_BYTES,
      info: true,
    });
    // What stands behind the first frame, another reader may read.
    return engine.bytesWritten === body.length ? buffer : 'body_malformed';
  } catch (error) {
    return (error as { code?: unknown }).code === 'ERR_BUFFER_TOO_LARGE'
      ? 'body_too_large'
      : 'body_malformed';
  }
}

/** What it gives, and what of the body it read. */
interface Decoded {
  readonly buffer: Buffer;
  readonly engine: { readonly bytesWritten: number };
}

interface Options extends ZstdOptions {
  readonly maxOutputLength: number;
  readonly chunkSize: number;
  readonly info: true;
}

type Decoder = (bytes: Buffer, options: Options) => Promise<Decoded>;
type Call = (bytes: Buffer, options: Options, done: (error: Error | null, decoded: Decoded) => void) => void;

/** Node's own size has four times the turns of the event loop, which cost br the half of its time. */
const CHUNK_BYTES = 64 * 1024;
/** With `info` they give their engine, too, which their types leave out. */
const open = (decode: unknown): Decoder => promisify(decode as Call);
const decodeZstd = open(zstdDecompress);
const DECODERS = new Map<string, Decoder>([
  ['gzip', open(gunzip)],
  ['deflate', open(inflate)],
  ['br', open(brotliDecompress)],
  ['zstd', (bytes, options) => decodeZstd(bytes, { ...options, params: ZSTD_PARAMS })],
]);

/** For the tests of compressed bodies: opened by their headers, pushed in pieces. */
import * as zlib from 'node:zlib';
import { Secret } from '../../../core-lite/secret.ts';
import { makeLine } from '../../../egress/http1/write-head.ts';
import type { Cut } from '../../../egress/scrub/body-scrubber.ts';
import { Scrubber } from '../../../egress/scrub/scrubber.ts';

export const SECRET = 'sk-live/abc+d "e"~0123';
export const ECHOED = { before: [], cut: 'echoed' };

export function open(coding: string, status = 200, holder = 'e', type = 'application/json') {
  const scrubber = new Scrubber([new Secret(SECRET)], holder);
  const headers = [makeLine('Content-Type', type), makeLine('Content-Encoding', coding)];
  return scrubber.body({ status, headers });
}

/** What goes on of a body in pieces, and why it was cut. */
export async function scrub(coding: string, coded: Buffer, pieceBytes: number) {
  const body = open(coding);
  const out: Buffer[] = [];
  let cut: Cut | null = null;
  for (let at = 0; at < coded.length && !cut; at += pieceBytes) {
    const piece = coded.subarray(at, at + pieceBytes);
    const parts = await body.push(Buffer.from(piece), [0, piece.length]);
    if ('cut' in parts) cut = parts.cut;
    out.push(...('cut' in parts ? parts.before : parts));
  }
  const last = cut ? [] : await body.end();
  if ('cut' in last) cut = last.cut;
  else out.push(...last);
  body.close();
  return { bytes: Buffer.concat(out), cut };
}

export const PIECES = [1, 7, 100, 1_000_000];
export const clean = Buffer.from(
  JSON.stringify(Array.from({ length: 300 }, (_, i) => ({ i, text: `value sk-live ${i * i}` }))),
);
export const dirty = Buffer.from(clean.toString().replace('"value sk-live 40000"', JSON.stringify(SECRET)));

export const STREAMS = [
  ['gzip', () => zlib.createGzip(), zlib.constants.Z_SYNC_FLUSH],
  ['deflate', () => zlib.createDeflate(), zlib.constants.Z_SYNC_FLUSH],
  ['br', () => zlib.createBrotliCompress(), zlib.constants.BROTLI_OPERATION_FLUSH],
  ['zstd', () => zlib.createZstdCompress(), zlib.constants.ZSTD_e_flush],
] as const;

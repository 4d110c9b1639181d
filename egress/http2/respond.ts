/** Heads and trailers on a stream, as they are: without the `Date` that Node would add where there is none. */
import {
  constants,
  type Http2Stream,
  type ServerHttp2Stream,
  type ServerStreamResponseOptions,
} from 'node:http2';
import type { HeaderLine } from '../http1/head.ts';
import { asObject } from './head.ts';

export function respond(
  stream: ServerHttp2Stream,
  head: readonly string[],
  options: ServerStreamResponseOptions = {},
): void {
  // Node's types do not know the option.
  const all: ServerStreamResponseOptions & { readonly sendDate: boolean } = { ...options, sendDate: false };
  stream.respond(head, all);
}

export function sendTrailers(stream: Http2Stream, lines: readonly HeaderLine[]): void {
  if (!stream.closed && !stream.destroyed) attempt(stream, () => stream.sendTrailers(asObject(lines)));
}

/** The library throws at a head that it would not send: that ends the stream it came on, never the process. */
export function attempt(stream: Http2Stream, act: () => void): void {
  try {
    act();
  } catch {
    stream.close(constants.NGHTTP2_INTERNAL_ERROR);
  }
}

/** An answer's head on a stream, as it is: without the `Date` that Node would add where there is none. */
import type { ServerHttp2Stream, ServerStreamResponseOptions } from 'node:http2';

export function respond(
  stream: ServerHttp2Stream,
  head: readonly string[],
  options: ServerStreamResponseOptions = {},
): void {
  // Node's types do not know the option.
  const all: ServerStreamResponseOptions & { readonly sendDate: boolean } = { ...options, sendDate: false };
  stream.respond(head, all);
}

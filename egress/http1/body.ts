/**
 * Follows a body through its framing and says which bytes belong to it. The bytes go on as they are: chunks keep their
 * borders. Only trailers are rebuilt, so that a line which may not pass is left out or changed.
 */
import type { BodyReader, BodyStep } from './body-reader.ts';
import { ChunkedReader, type PassTrailer } from './chunked.ts';
import type { Framing } from './framing.ts';

/** @param passTrailer what passes of a trailer line; `null` for nothing */
export function makeBodyReader(framing: Framing, passTrailer: PassTrailer): BodyReader {
  switch (framing.kind) {
    case 'none':
      return new LengthReader(0);
    case 'length':
      return new LengthReader(framing.bytes);
    case 'chunked':
      return new ChunkedReader(passTrailer);
    case 'until_close':
      return new EndlessReader();
    default:
      return framing satisfies never;
  }
}

class LengthReader implements BodyReader {
  #left: number;

  constructor(bytes: number) {
    this.#left = bytes;
  }

  get done(): boolean {
    return this.#left === 0;
  }

  read(input: Buffer): BodyStep {
    const used = Math.min(this.#left, input.length);
    this.#left -= used;
    const forward = used === 0 ? [] : [input.subarray(0, used)];
    return { forward, data: [0, used], used, done: this.done };
  }
}

/** Ends with its connection: whoever reads from it sees that by itself. */
class EndlessReader implements BodyReader {
  readonly done = false;

  read(input: Buffer): BodyStep {
    return { forward: [input], data: [0, input.length], used: input.length, done: false };
  }
}

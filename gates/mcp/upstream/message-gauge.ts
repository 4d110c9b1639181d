/** How large what comes is: a body of JSON as a whole, a stream of events by each event of it. */
import { LineEnds } from '../../line-ends.ts';

export class MessageGauge {
  readonly #events: boolean;
  readonly #maxBytes: number;
  #bytes = 0;
  #atLineStart = true;
  #afterCr = false;

  constructor(events: boolean, maxBytes: number) {
    this.#events = events;
    this.#maxBytes = maxBytes;
  }

  /** @returns whether it is within measure */
  add(chunk: Buffer): boolean {
    if (this.#events) return this.#addEvents(chunk);
    this.#bytes += chunk.length;
    return this.#bytes <= this.#maxBytes;
  }

  #addEvents(chunk: Buffer): boolean {
    const lines = new LineEnds(chunk);
    // The second half of a CR LF.
    let from = this.#afterCr && chunk[0] === LF ? 1 : 0;
    while (from < chunk.length) {
      const end = lines.next(from);
      const to = end < 0 ? chunk.length : end;
      // An empty line ends an event.
      this.#bytes = end === from && this.#atLineStart ? 0 : this.#bytes + to - from + 1;
      if (this.#bytes > this.#maxBytes) return false;
      this.#atLineStart = end >= 0;
      from = to + (chunk[to] === CR && chunk[to + 1] === LF ? 2 : 1);
    }
    this.#afterCr = chunk.at(-1) === CR;
    return true;
  }
}

const LF = 0x0a;
const CR = 0x0d;

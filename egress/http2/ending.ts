/**
 * Whether the other side finished a stream (END_STREAM), or only stopped. Node ends a readable also when its stream was
 * reset without an error code, and that must not pass for the whole.
 */
import type { Http2Stream } from 'node:http2';

export class Ending {
  /** Whether its head was all there was. */
  readonly bodiless: boolean;
  #whole: boolean;

  /**
   * To be made before the stream can be reset unseen: as it is begun, or in the event that tells of it.
   * @param ended whether its head was all there was
   */
  constructor(stream: Http2Stream, ended: boolean) {
    this.bodiless = ended;
    this.#whole = ended;
    let finished = false;
    let cut = false;
    const push = stream.push.bind(stream);
    // A stream that is reset is closed before its end is pushed; one that has its END_STREAM is not.
    stream.push = (chunk: unknown, encoding?: BufferEncoding) => {
      if (chunk === null && stream.closed) cut = !finished;
      else if (chunk === null) finished = true;
      return push(chunk, encoding);
    };
    stream.once('end', () => {
      if (!cut) this.#whole = true;
    });
  }

  /** Whether all came, and was read. */
  get whole(): boolean {
    return this.#whole;
  }
}

export function isOpen(stream: Http2Stream): boolean {
  return !stream.closed && !stream.destroyed;
}

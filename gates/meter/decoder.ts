/**
 * Decodes a copy of a compressed answer as it passes, off the event loop. It never holds up the answer: what it cannot
 * keep up with, cannot read, or what grows past its limit is not read any further, and what was read until then counts.
 */
import type { Transform } from 'node:stream';
import { codingOf, makePlaces, openDecoder } from '../codings.ts';

export class Decoder {
  readonly #encoding: string;
  readonly #session: string;
  readonly #onBytes: (bytes: Buffer) => void;
  readonly #ended = Promise.withResolvers<void>();
  #coding: Transform | null = null;
  #decodedBytes = 0;
  #over = false;
  #whole = false;

  /**
   * @param encoding one content coding, lower case. One that is not known is never read.
   * @param session whose answer it is
   */
  constructor(encoding: string, session: string, onBytes: (bytes: Buffer) => void) {
    this.#encoding = encoding;
    this.#session = session;
    this.#onBytes = onBytes;
    // Whoever waits for the end is told.
    this.#ended.promise.catch(() => {});
  }

  /** Whether all that came was read. */
  get whole(): boolean {
    return this.#whole;
  }

  write(chunk: Buffer): void {
    if (this.#over || chunk.length === 0) return;
    this.#coding ??= this.#open(chunk);
    if (!this.#coding || this.#coding.writableLength + chunk.length > MAX_WAITING_BYTES) this.#stop();
    // A copy: whoever passes the bytes on may write into them before they are decoded.
    else this.#coding.write(Buffer.from(chunk));
  }

  /** Resolves when all that came is decoded. Rejects with what reading it threw. */
  end(): Promise<void> {
    if (this.#coding && !this.#over) this.#coding.end();
    else this.#stop();
    return this.#ended.promise;
  }

  #open(first: Buffer): Transform | null {
    const name = codingOf(this.#encoding);
    const coding = name && openDecoder(name, first, { places: PLACES, session: this.#session });
    coding?.on('data', (bytes: Buffer) => this.#take(bytes));
    // An answer that was cut off, too: all that can be decoded came before.
    coding?.once('error', () => this.#stop());
    coding?.once('end', () => {
      this.#whole = !this.#over;
      this.#stop();
    });
    return coding;
  }

  #take(bytes: Buffer): void {
    if (this.#over) return;
    this.#decodedBytes += bytes.length;
    if (this.#decodedBytes > MAX_DECODED_BYTES) this.#stop();
    else this.#tell(bytes);
  }

  #tell(bytes: Buffer): void {
    try {
      this.#onBytes(bytes);
    } catch (error) {
      this.#ended.reject(error);
      this.#stop();
    }
  }

  #stop(): void {
    this.#over = true;
    this.#coding?.destroy();
    this.#ended.resolve();
  }
}

const PLACES = makePlaces();
/** What came and is not decoded yet. */
const MAX_WAITING_BYTES = 16 * 1024 * 1024;
/** More than any model answers: what is larger is a bomb. */
const MAX_DECODED_BYTES = 64 * 1024 * 1024;

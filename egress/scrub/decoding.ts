/** One decoder at work: it waits for its place among the others, and tells what became of each write. */
import { type Coding, type Decoder, isWindowTooLarge, makeDecoder } from '../../core-lite/decoders.ts';
import type { Slot } from './decoder-slots.ts';

/** `busy`: no place for it came free. Of a number: so many of the bytes stand behind the end of what is coded. */
export type Went = 'on' | 'failed' | 'too_large' | 'busy' | 'closed' | number;

export class Decoding {
  readonly #coding: Coding;
  readonly #slot: Slot | null;
  readonly #onText: (text: Buffer) => void;
  #decoder: Decoder | null = null;
  #written = 0;
  #closed = false;
  #settle: (went: Went) => void = () => {};

  /** @param slot `null` where it needs no place. Whoever asked for it gives it back. */
  constructor(coding: Coding, slot: Slot | null, onText: (text: Buffer) => void) {
    this.#coding = coding;
    this.#slot = slot;
    this.#onText = onText;
  }

  /** Resolves when all that is in the bytes has been told. Waits for a place. */
  async write(bytes: Buffer): Promise<Went> {
    const placed = (await this.#slot?.take()) ?? true;
    if (this.#closed) return 'closed';
    if (!placed) return 'busy';
    this.#decoder ??= this.#open();
    const decoder = this.#decoder;
    this.#written += bytes.length;
    return new Promise((resolve) => {
      this.#settle = resolve;
      // Behind its end a decoder takes bytes without a word: then `end` speaks.
      decoder.write(bytes, (error) => resolve(error ? judge(decoder.errored ?? error) : 'on'));
    });
  }

  /** @param freed called when its memory is */
  close(freed: () => void): void {
    if (this.#decoder && !this.#decoder.closed) this.#decoder.once('close', freed);
    else freed();
    if (this.#closed) return;
    this.#closed = true;
    this.#settle('closed');
    this.#decoder?.destroy();
  }

  #open(): Decoder {
    const decoder = makeDecoder(this.#coding);
    decoder.on('data', (text: Buffer) => {
      if (!this.#closed) this.#onText(text);
    });
    decoder.once('end', () => this.#settle(this.#written - decoder.bytesWritten));
    decoder.once('error', (error) => this.#settle(judge(error)));
    return decoder;
  }
}

function judge(error: Error): Went {
  return isWindowTooLarge(error) ? 'too_large' : 'failed';
}

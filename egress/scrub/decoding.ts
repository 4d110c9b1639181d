/** One decoder at work: it tells what became of each write, and takes its place among the others for as long as it lives. */
import {
  type Coding,
  type Decoder,
  isLarge,
  isWindowTooLarge,
  makeDecoder,
} from '../../core-lite/decoders.ts';
import { decoderSlots, type Slot } from './decoder-slots.ts';

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

  /** @param holder whose place it takes */
  constructor(coding: Coding, holder: string, onText: (text: Buffer) => void) {
    this.#coding = coding;
    this.#slot = isLarge(coding) ? decoderSlots.ask(holder) : null;
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

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#settle('closed');
    if (!this.#decoder) this.#slot?.leave();
    this.#decoder?.destroy();
  }

  #open(): Decoder {
    const decoder = makeDecoder(this.#coding);
    decoder.on('data', (text: Buffer) => {
      if (!this.#closed) this.#onText(text);
    });
    decoder.once('end', () => this.#settle(this.#written - decoder.bytesWritten));
    decoder.once('error', (error) => this.#settle(judge(error)));
    decoder.once('close', () => this.#slot?.leave());
    return decoder;
  }
}

function judge(error: Error): Went {
  return isWindowTooLarge(error) ? 'too_large' : 'failed';
}

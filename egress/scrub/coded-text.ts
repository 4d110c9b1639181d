/**
 * The text of a compressed body, decoded within measure and looked at as it comes: several frames or members one behind
 * the other, and deflate with and without its header, are read as clients read them.
 */
import type { Transform } from 'node:stream';
import { type Coding, isWindowTooLarge, openDecoder } from './decoder.ts';
import { decoderBudget } from './decoder-budget.ts';
import type { Forms } from './forms.ts';
import { Search } from './search.ts';
import { ZstdBlocks } from './zstd-blocks.ts';

export class CodedText {
  readonly #search: Search;
  readonly #blocks: ZstdBlocks | null;
  #coding: Coding;
  #decoder: Transform | null = null;
  #settle: () => void = () => {};
  #state: 'open' | 'found' | 'failed' | 'closed' = 'open';
  #budget = FREE_BYTES;
  /** Coded bytes that came. */
  #came = 0;
  /** What came of a deflate that has given no text yet: it may have to be read again without a header. */
  #begun: Buffer | null;

  constructor(coding: Coding, forms: Forms) {
    this.#coding = coding;
    this.#search = new Search(forms);
    this.#blocks = coding === 'zstd' ? new ZstdBlocks() : null;
    this.#begun = coding === 'deflate' ? Buffer.alloc(0) : null;
  }

  /** `found`: a form is in it; `failed`: it cannot be decoded any further. */
  get state() {
    return this.#state;
  }

  /** How much text came. */
  get at(): number {
    return this.#search.at;
  }

  get settledTo(): number {
    return this.#search.settledTo;
  }

  /** Up to which of the coded bytes the decoder has given all text that is in them. */
  get readTo(): number {
    return this.#blocks?.readableTo ?? this.#came;
  }

  /** Resolves when all that the bytes decode to has been looked at. */
  async push(coded: Buffer): Promise<void> {
    this.#came += coded.length;
    for (let rest = coded; rest.length > 0 && this.#state === 'open'; ) {
      // A zstd decoder stops at the end of a frame, and begins the next with the next write.
      const length = this.#blocks?.read(rest) ?? rest.length;
      await this.#decode(rest.subarray(0, length));
      rest = rest.subarray(length);
    }
  }

  close(): void {
    this.#stop('closed');
  }

  async #decode(bytes: Buffer): Promise<void> {
    if (this.#begun) this.#begun = Buffer.concat([this.#begun, bytes]);
    this.#budget += bytes.length * MAX_RATIO;
    await this.#write(bytes);
    // Read as a zlib stream it failed at once: some servers send it bare, and clients take both.
    if (this.#begun && this.#state === 'failed' && this.#search.at === 0) {
      const begun = this.#begun;
      this.#begun = null;
      this.#coding = 'deflate-raw';
      this.#decoder = null;
      this.#state = 'open';
      await this.#write(begun);
    }
    if (this.#search.at > 0 || (this.#begun?.length ?? 0) > MAX_BEGUN_BYTES) this.#begun = null;
  }

  #write(bytes: Buffer): Promise<void> {
    this.#decoder ??= this.#open();
    const decoder = this.#decoder;
    if (!decoder) return Promise.resolve();
    return new Promise((resolve) => {
      this.#settle = resolve;
      // After its end a decoder may take bytes without a word: then `end` speaks.
      decoder.write(bytes, () => resolve());
    });
  }

  #open(): Transform | null {
    const decoder = openDecoder(this.#coding);
    if (!decoder) this.#giveUp();
    const unlessReplaced = (act: () => void) => {
      if (this.#decoder === decoder) act();
    };
    decoder?.on('data', (text: Buffer) => unlessReplaced(() => this.#look(text)));
    decoder?.on('end', () => unlessReplaced(() => this.#stop('failed')));
    decoder?.on('error', (error) => {
      unlessReplaced(() => (isWindowTooLarge(error) ? this.#giveUp() : this.#stop('failed')));
    });
    return decoder;
  }

  #look(text: Buffer): void {
    if (this.#state !== 'open') return;
    this.#budget -= text.length;
    if (this.#budget < 0) this.#giveUp();
    else if (this.#search.scan(text, 0, text.length).length > 0) this.#stop('found');
  }

  /** Others may well be able to decode what we do not. */
  #giveUp(): void {
    if (this.#state === 'open') decoderBudget.noteUnread();
    this.#begun = null;
    this.#stop('failed');
  }

  #stop(state: 'found' | 'failed' | 'closed'): void {
    if (this.#state === 'open' || state === 'closed') this.#state = state;
    this.#decoder?.destroy();
    this.#settle();
  }
}

/** Text compresses by less; what decodes to more is a bomb, and is not decoded to its end. */
const MAX_RATIO = 100;
const FREE_BYTES = 1024 * 1024;
/** What cannot be a header is known as such by far earlier. */
const MAX_BEGUN_BYTES = 256 * 1024;

/**
 * Looks for the forms of secrets in a compressed text body: a copy is decoded as it streams, and the bytes go on as they
 * came once what they decode to is settled. In compressed bytes nothing can be masked, so a form in them cuts the body off.
 * What is no such coding passes as plain text does, and so does what takes too much to decode: it is counted.
 */
import type { Transform } from 'node:stream';
import type { BodyScrubber, Tally } from './body-scrubber.ts';
import { type Coding, isWindowTooLarge, openDecoder } from './decoder.ts';
import { decoderBudget } from './decoder-budget.ts';
import type { Forms } from './forms.ts';
import { Search } from './search.ts';
import { TextBody } from './text-body.ts';

export class CodedBody implements BodyScrubber {
  readonly #coding: Coding;
  readonly #search: Search;
  /** What takes over where the body cannot be decoded. */
  readonly #text: TextBody;
  #decoder: Transform | null = null;
  #settle: () => void = () => {};
  #failed = false;
  #found = false;
  #closed = false;
  #budget = FREE_BYTES;
  #held: { readonly bytes: Buffer; readonly data: readonly number[]; readonly decodedTo: number }[] = [];
  #heldBytes = 0;

  constructor(coding: Coding, forms: Forms, tally: Tally) {
    this.#coding = coding;
    this.#search = new Search(forms);
    this.#text = new TextBody(forms, tally);
  }

  get mayLetGo(): boolean {
    return this.#failed ? this.#text.mayLetGo : this.#held.length > 0;
  }

  async push(bytes: Buffer, data: readonly number[]): Promise<readonly Buffer[] | 'cut'> {
    if (this.#closed) return 'cut';
    if (this.#failed) return this.#text.push(bytes, data);
    await this.#decode(joinData(bytes, data));
    // Closed, it cannot tell any more.
    if (this.#found || this.#closed) return 'cut';
    this.#held.push({ bytes, data, decodedTo: this.#search.at });
    this.#heldBytes += bytes.length;
    if (this.#failed) return this.#passHeldAsText();
    return this.#letGoTo(this.#heldBytes > MAX_HELD_BYTES ? this.#search.at : this.#search.settledTo);
  }

  letGo(): readonly Buffer[] {
    return this.#failed ? this.#text.letGo() : this.#letGoTo(this.#search.at);
  }

  end(): readonly Buffer[] {
    return this.letGo();
  }

  close(): void {
    this.#closed = true;
    this.#decoder?.destroy();
    this.#settle();
  }

  /** Resolves when all that the bytes decode to has been looked at. */
  #decode(bytes: Buffer): Promise<void> {
    if (bytes.length === 0) return Promise.resolve();
    this.#decoder ??= this.#open(bytes[0] as number);
    const decoder = this.#decoder;
    if (!decoder) return Promise.resolve();
    this.#budget += bytes.length * MAX_RATIO;
    return new Promise((resolve) => {
      this.#settle = resolve;
      // After its end a decoder may take bytes without a word: then `end` speaks.
      decoder.write(bytes, () => resolve());
    });
  }

  #open(first: number): Transform | null {
    const decoder = openDecoder(this.#coding, first);
    if (!decoder) this.#giveUp();
    decoder?.on('data', (text: Buffer) => this.#look(text));
    decoder?.on('end', () => this.#fail());
    decoder?.on('error', (error) => {
      if (isWindowTooLarge(error)) this.#giveUp();
      else this.#fail();
    });
    return decoder;
  }

  #look(text: Buffer): void {
    if (this.#failed || this.#found) return;
    this.#budget -= text.length;
    this.#found = this.#budget >= 0 && this.#search.scan(text, 0, text.length).length > 0;
    if (this.#budget < 0) this.#giveUp();
    else if (this.#found) this.#stop();
  }

  /** Others may well be able to decode what we do not. */
  #giveUp(): void {
    if (!this.#failed && !this.#found) decoderBudget.noteUnread();
    this.#fail();
  }

  #fail(): void {
    if (this.#found) return;
    this.#failed = true;
    this.#stop();
  }

  #stop(): void {
    this.#decoder?.destroy();
    this.#settle();
  }

  #passHeldAsText(): readonly Buffer[] {
    const held = this.#held;
    this.#held = [];
    return held.flatMap(({ bytes, data }) => this.#text.push(bytes, data));
  }

  /** @param until counted in decoded bytes */
  #letGoTo(until: number): readonly Buffer[] {
    const out: Buffer[] = [];
    for (let piece = this.#held[0]; piece && piece.decodedTo <= until; piece = this.#held[0]) {
      this.#heldBytes -= piece.bytes.length;
      out.push(piece.bytes);
      this.#held.shift();
    }
    return out;
  }
}

function joinData(bytes: Buffer, data: readonly number[]): Buffer {
  if (data.length <= 2) return bytes.subarray(data[0] ?? 0, data[1] ?? 0);
  return Buffer.concat(data.flatMap((at, i) => (i % 2 === 0 ? [bytes.subarray(at, data[i + 1])] : [])));
}

const MAX_HELD_BYTES = 1024 * 1024;
/** Text compresses by less; what decodes to more is a bomb, and is not decoded to its end. */
const MAX_RATIO = 100;
const FREE_BYTES = 1024 * 1024;

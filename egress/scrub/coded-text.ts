/**
 * The text of a compressed body, decoded within measure and looked at as it comes: several frames or members one behind
 * the other, with zeros between them, and codings under another's name, are read as clients read them.
 */

import type { Coding } from '../../core-lite/decoders.ts';
import { GrowingBuffer } from '../http1/growing-buffer.ts';
import type { Cut } from './body-scrubber.ts';
import { Decoding, type Went } from './decoding.ts';
import { FlushMarks } from './flush-marks.ts';
import type { Forms } from './forms.ts';
import { Search } from './search.ts';
import { mayBeCoded, nextMember, otherReading } from './sniff.ts';
import { ZstdBlocks } from './zstd-blocks.ts';

export class CodedText {
  readonly #search: Search;
  readonly #blocks: ZstdBlocks | null;
  readonly #marks = new FlushMarks();
  readonly #holder: string;
  readonly #isEvents: boolean;
  readonly #tried = new Set<Coding>();
  /** `null` where it came to its end. */
  #decoding: Decoding | null;
  /** With what it was tried last. */
  #failed = false;
  #state: 'open' | 'text' | 'closed' | Cut = 'open';
  #budget = FREE_BYTES;
  #coding: Coding;
  /** Coded bytes that came. */
  #came = 0;
  /** Of the coded bytes and of their text: what says nothing of what follows. */
  #closedAt = { coded: 0, text: 0 };
  /** What came before there was any text: it may have to be read again in another coding. */
  #begun: GrowingBuffer | null = new GrowingBuffer();

  constructor(coding: Coding, forms: Forms, holder: string, isEvents: boolean) {
    this.#holder = holder;
    this.#isEvents = isEvents;
    this.#coding = coding;
    this.#search = new Search(forms);
    this.#blocks = coding === 'zstd' ? new ZstdBlocks() : null;
    this.#decoding = this.#begin(coding);
  }

  /** `text`: it is in no known coding; a cut says why it is not decoded any further. */
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

  /**
   * What of the coded bytes may go on when their text is settled: the block that they belong to has ended, or no encoder
   * makes one that long. Its tables tell of all of its text, also of what comes last.
   * @returns up to where, and up to where their text goes; `null` where it is not known to end there
   */
  get readTo(): { readonly coded: number; readonly text: number | null } {
    if (!this.#decoding) return { coded: this.#came, text: this.at };
    const far = this.#came - this.#longestBlock();
    return far > this.#closedAt.coded ? { coded: far, text: null } : this.#closedAt;
  }

  /** Resolves when all that the bytes decode to has been looked at. */
  async push(coded: Buffer): Promise<void> {
    this.#budget += coded.length * MAX_RATIO;
    for (let rest = coded; rest.length > 0 && this.#state === 'open'; ) {
      // A zstd decoder stops at the end of a frame, and begins the next with the next write.
      const length = (this.#blocks ?? this.#marks).read(rest);
      await this.#decode(rest.subarray(0, length));
      if (this.#marks.marked && this.#state === 'open' && isDeflate(this.#coding)) this.#closeAt(0);
      rest = rest.subarray(length);
    }
  }

  /** All came. Resolves when it is known whether what is coded has come to its end too. */
  async end(): Promise<void> {
    if (!this.#decoding || this.#coding === 'zstd') return;
    // A decoder speaks of its end when something stands behind it.
    const went = await this.#decoding.write(Buffer.alloc(1));
    if (typeof went === 'number' && went > 0) this.#closeAt(0);
  }

  close(): void {
    this.#stop('closed');
  }

  /** @param behind bytes of those that came */
  #closeAt(behind: number): void {
    this.#closedAt = { coded: this.#came - behind, text: this.at };
  }

  /** For zstd: how much of its block is here. */
  #longestBlock(): number {
    if (this.#coding === 'zstd') return this.#came - (this.#blocks?.readableTo ?? 0);
    if (this.#coding === 'br') return this.#isEvents ? 0 : MAX_BR_BLOCK_BYTES;
    return MAX_DEFLATE_BLOCK_BYTES;
  }

  #begin(coding: Coding): Decoding {
    this.#coding = coding;
    this.#tried.add(coding);
    return new Decoding(coding, this.#holder, (text) => this.#look(text));
  }

  async #decode(bytes: Buffer): Promise<void> {
    this.#came += bytes.length;
    this.#begun?.push(bytes);
    for (let rest = bytes; rest.length > 0 && this.#state === 'open'; ) {
      if (!this.#decoding) rest = this.#failed ? this.#retry() : this.#beginNext(rest);
      const went = await this.#decoding?.write(rest);
      rest = this.#goOn(went ?? 'on', rest);
    }
    if (this.#search.at > 0 || (this.#begun?.length ?? 0) > MAX_BEGUN_BYTES) this.#begun = null;
  }

  /** Behind an end: zeros only fill up. @returns from where the next begins */
  #beginNext(bytes: Buffer): Buffer {
    const from = bytes.findIndex((byte) => byte !== 0);
    if (from < 0) return NOTHING;
    const coding = nextMember(bytes.subarray(from));
    this.#begun = null;
    if (coding) this.#decoding = this.#begin(coding);
    else this.#stop('broken');
    return bytes.subarray(from);
  }

  /** @returns what is to be written next */
  #goOn(went: Went, bytes: Buffer): Buffer {
    if (this.#state !== 'open' || went === 'on' || went === 'closed') return NOTHING;
    this.#decoding?.close();
    this.#decoding = null;
    if (typeof went === 'number') {
      this.#closeAt(went);
      return bytes.subarray(bytes.length - went);
    }
    if (went === 'too_large' || went === 'busy') {
      this.#stop(went === 'busy' ? went : 'overmuch');
      return NOTHING;
    }
    this.#failed = true;
    return this.#retry();
  }

  /** It failed. @returns all that came, where something else may decode it */
  #retry(): Buffer {
    const begun = this.#search.at === 0 ? (this.#begun?.bytes ?? null) : null;
    // Too little to know.
    if (begun && begun.length < MAGIC_BYTES) return NOTHING;
    const other = begun && otherReading(begun, this.#tried);
    if (other) {
      this.#failed = false;
      this.#decoding = this.#begin(other);
      return begun;
    }
    // Others may have read a part of it before it broke.
    this.#stop(begun && !mayBeCoded(begun, this.#tried) ? 'text' : 'broken');
    return NOTHING;
  }

  #look(text: Buffer): void {
    if (this.#state !== 'open') return;
    this.#budget -= text.length;
    if (this.#budget < 0) this.#stop('overmuch');
    else if (this.#search.scan(text, 0, text.length).length > 0) this.#stop('echoed');
  }

  #stop(state: 'text' | 'closed' | Cut): void {
    if (this.#state === 'open' || state === 'closed') this.#state = state;
    this.#decoding?.close();
  }
}

function isDeflate(coding: Coding): boolean {
  return coding !== 'br' && coding !== 'zstd';
}

const NOTHING = Buffer.alloc(0);
/** No common encoder makes a longer one. */
const MAX_DEFLATE_BLOCK_BYTES = 512 * 1024;
const MAX_BR_BLOCK_BYTES = 1024 * 1024;
/** No deflate decodes to more; what does is a bomb, and is not decoded to its end. */
const MAX_RATIO = 1040;
const FREE_BYTES = 4 * 1024 * 1024;
/** By then it is known what it looks like. */
const MAGIC_BYTES = 4;
/** What cannot be a header is known as such by far earlier. */
const MAX_BEGUN_BYTES = 256 * 1024;

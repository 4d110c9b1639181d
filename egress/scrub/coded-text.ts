/**
 * The text of a compressed body, decoded within measure and looked at as it comes: several frames or members one behind
 * the other, with zeros between them, and codings under another's name, are read as clients read them.
 */

import { type Coding, isLarge } from '../../core-lite/decoders.ts';
import { GrowingBuffer } from '../http1/growing-buffer.ts';
import type { Cut } from './body-scrubber.ts';
import { decoderSlots, type Slot } from './decoder-slots.ts';
import { Decoding, type Went } from './decoding.ts';
import { FlushMarks } from './flush-marks.ts';
import type { Forms } from './forms.ts';
import { GzipMembers } from './gzip-members.ts';
import { Search } from './search.ts';
import { mayBeCoded, nextMember, otherReading } from './sniff.ts';
import { ZstdBlocks } from './zstd-blocks.ts';

export class CodedText {
  readonly #search: Search;
  readonly #blocks = new ZstdBlocks();
  readonly #marks = new FlushMarks();
  readonly #members = new GzipMembers();
  /** For as long as what it decodes is held, also behind its end; `null` where it needs none. */
  #slot: Slot | null;
  readonly #isStream: boolean;
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
  /** Those of them that may still be taken in small pieces. */
  #pieceCredit = MOST_CREDIT;
  /** Of the coded bytes and of their text: what says nothing of what follows. */
  #closedAt = { coded: 0, text: 0 };
  /** What was settled before the form that was found. */
  #echoedBehind: number | null = null;
  /** What came before there was any text: it may have to be read again in another coding. */
  #begun: GrowingBuffer | null = new GrowingBuffer();

  constructor(coding: Coding, forms: Forms, holder: string, isStream: boolean) {
    this.#slot = isLarge(coding) ? decoderSlots.ask(holder) : null;
    this.#isStream = isStream;
    this.#coding = coding;
    this.#search = new Search(forms);
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

  /** Up to here no form is still to be completed, or was. */
  get settledTo(): number {
    return this.#echoedBehind ?? this.#search.settledTo;
  }

  /**
   * What of the coded bytes may go on when their text is settled: the block that they belong to has ended, or no encoder
   * makes one that long. Its tables tell of all of its text, also of what comes last.
   * @returns up to where, and up to where the text of their block goes, which may not have come yet; `null` where it is
   * not known to end there
   */
  get readTo(): { readonly coded: number; readonly text: number | null } {
    if (!this.#decoding && !this.#failed) return { coded: this.#came, text: this.at };
    const far = this.#came - this.#longestBlock();
    if (far <= this.#closedAt.coded) return { ...this.#closedAt, text: this.#closedAt.text + this.#untold };
    return { coded: far, text: this.#isBlockOfBr ? this.at + MAX_BR_BLOCK_TEXT : null };
  }

  /** How much text behind the end of a block its encoder has looked at to set it: where it ends tells of that. */
  get #untold(): number {
    const isInside = this.#coding === 'zstd' && !this.#isStream && !this.#blocks.hasFrameEnded;
    return isInside ? MAX_ZSTD_BLOCK_TEXT : 0;
  }

  /** How much may wait for its text: of what takes no place there may be any number. */
  get mostHeld(): number {
    return this.#slot && this.#isBlockOfBr ? MAX_HELD_OF_BR_BYTES : MAX_HELD_BYTES;
  }

  /**
   * Takes as much as may be a block, so that what comes of it depends on no border between what came.
   * @returns how many of the bytes it took, when all that they decode to has been looked at
   */
  async push(coded: Buffer): Promise<number> {
    const taken = this.#pieceOf(coded);
    const { length } = taken;
    this.#budget += length * MAX_RATIO;
    this.#members.enter(taken);
    await this.#decode(taken);
    this.#members.push(taken);
    if (this.#state === 'open' && this.#hasBlockEnded()) this.#closeAt(0);
    return length;
  }

  /** All came. Resolves when it is known whether what is coded has come to its end too. */
  async end(): Promise<void> {
    if (!this.#decoding) return;
    if (this.#coding === 'zstd') {
      if (this.#blocks.isBetweenFrames) this.#closeAt(0);
      return;
    }
    // A decoder speaks of its end when something stands behind it.
    const went = await this.#decoding.write(Buffer.alloc(1));
    if (typeof went === 'number' && went > 0) this.#closeAt(0);
  }

  close(): void {
    this.#stop('closed');
  }

  /** What may be a block, or more where there would be too many: then what ends in it is only not known to. */
  #pieceOf(coded: Buffer): Buffer {
    const within = coded.subarray(0, MAX_PIECE_BYTES);
    const mayStop = this.#pieceCredit >= BYTES_OF_PIECE;
    const piece = this.#coding === 'zstd' ? this.#zstdPiece(coded, mayStop) : this.#piece(within, mayStop);
    const spent = piece.length < within.length ? BYTES_OF_PIECE : 0;
    this.#pieceCredit = Math.min(Math.max(this.#pieceCredit - spent, 0) + piece.length, MOST_CREDIT);
    return piece;
  }

  /** A zstd decoder stops at the end of a frame, and begins the next with the next write. */
  #zstdPiece(coded: Buffer, mayStop: boolean): Buffer {
    return coded.subarray(0, this.#blocks.read(coded, !mayStop));
  }

  #piece(coded: Buffer, mayStop: boolean): Buffer {
    const next = this.#members.upToNext(this.#marks.upToMark(coded));
    const piece = mayStop ? next : coded;
    if (next.length < piece.length) this.#members.lose();
    this.#marks.read(piece);
    return piece;
  }

  /** Whether it has blocks that are only bounded in their text. */
  get #isBlockOfBr(): boolean {
    return this.#coding === 'br' && !this.#isStream;
  }

  #hasBlockEnded(): boolean {
    if (this.#coding === 'zstd') return this.#blocks.isReadable;
    const ended = this.#coding === 'gzip' && this.#members.takeEnd();
    return ended || (this.#coding !== 'br' && this.#marks.marked);
  }

  /** @param behind bytes of those that came */
  #closeAt(behind: number): void {
    this.#closedAt = { coded: this.#came - behind, text: this.at };
  }

  /** In coded bytes. A block of br is only bounded in its text, and of zstd it is known where each ends. */
  #longestBlock(): number {
    if (this.#coding === 'zstd') return Number.POSITIVE_INFINITY;
    return this.#coding === 'br' ? 0 : MAX_DEFLATE_BLOCK_BYTES;
  }

  #begin(coding: Coding): Decoding {
    this.#coding = coding;
    this.#tried.add(coding);
    this.#members.begin();
    return new Decoding(coding, this.#slot, (text) => this.#look(text));
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
    if (typeof went === 'number') {
      this.#decoding?.close(() => {});
      this.#decoding = null;
      this.#closeAt(went);
      return bytes.subarray(bytes.length - went);
    }
    this.#leave();
    this.#decoding = null;
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
    if (this.#coding === 'gzip') this.#members.look(text);
    if (this.#budget < 0) this.#stop('overmuch');
    else if (this.#search.scan(text, 0, text.length).length > 0) {
      this.#echoedBehind = this.#search.foundBehind;
      this.#stop('echoed');
    }
  }

  #stop(state: 'text' | 'closed' | Cut): void {
    if (this.#state === 'open' || state === 'closed') this.#state = state;
    this.#leave();
  }

  /** Gives its place back, when what took it is gone. */
  #leave(): void {
    const slot = this.#slot;
    this.#slot = null;
    if (this.#decoding) this.#decoding.close(() => slot?.leave());
    else slot?.leave();
  }
}

const NOTHING = Buffer.alloc(0);
/** No common encoder makes a longer one. */
const MAX_DEFLATE_BLOCK_BYTES = 512 * 1024;
/** What an encoder splits into blocks at once (RFC 8878 3.1.1.2.3). */
const MAX_ZSTD_BLOCK_TEXT = 128 * 1024;
/** RFC 7932 9.2. */
const MAX_BR_BLOCK_TEXT = 2 ** 24;
/** No deflate decodes to more; what does is a bomb, and is not decoded to its end. */
const MAX_RATIO = 1040;
/** A block of deflate, and what has no text, such as padding; more is somebody who wants us to hold it. */
const MAX_HELD_BYTES = MAX_DEFLATE_BLOCK_BYTES + 1024 * 1024;
/** A block that is not compressed, and what came with it. */
const MAX_HELD_OF_BR_BYTES = MAX_BR_BLOCK_TEXT + 64 * 1024;
const FREE_BYTES = 4 * 1024 * 1024;
/** Each write takes tens of microseconds, however little is in it: a KiB is not worth more than 16. */
const BYTES_OF_PIECE = 64;
const MOST_CREDIT = 64 * BYTES_OF_PIECE;
/** Of each piece as much is searched for where it ends. */
const MAX_PIECE_BYTES = 4096;
/** By then it is known what it looks like. */
const MAGIC_BYTES = 4;
/** What cannot be a header is known as such by far earlier. */
const MAX_BEGUN_BYTES = 256 * 1024;

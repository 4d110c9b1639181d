/**
 * Looks for the forms of secrets in a compressed text body: a copy is decoded as it streams, and the bytes go on as they
 * came once what they decode to is settled. In compressed bytes nothing can be masked, so a form in them cuts the body off.
 * What cannot be decoded within measure passes as plain text does: nobody else can read it either.
 */
import type { Transform } from 'node:stream';
import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
} from 'node:zlib';
import type { BodyScrubber, Tally } from './body-scrubber.ts';
import type { Forms } from './forms.ts';
import { Search } from './search.ts';
import { TextBody } from './text-body.ts';

export type Coding = 'gzip' | 'deflate' | 'br' | 'zstd';

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
    this.#budget += bytes.length * MAX_RATIO;
    return new Promise((resolve) => {
      this.#settle = resolve;
      // After its end a decoder may take bytes without a word: then `end` speaks.
      decoder.write(bytes, () => resolve());
    });
  }

  #open(first: number): Transform {
    const decoder = makeDecoder(this.#coding, first);
    decoder.on('data', (text: Buffer) => this.#look(text));
    decoder.on('end', () => this.#fail());
    decoder.on('error', () => this.#fail());
    return decoder;
  }

  #look(text: Buffer): void {
    if (this.#failed || this.#found) return;
    this.#budget -= text.length;
    this.#found = this.#budget >= 0 && this.#search.scan(text, 0, text.length).length > 0;
    if (this.#budget < 0) this.#fail();
    else if (this.#found) this.#stop();
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

function makeDecoder(coding: Coding, first: number): Transform {
  switch (coding) {
    case 'gzip':
      return createGunzip({ chunkSize: CHUNK_BYTES, flush: constants.Z_SYNC_FLUSH });
    case 'deflate':
      // Some servers send it bare, and clients take both: the first byte tells (RFC 1950 2.2).
      return (first & 0x0f) === 8
        ? createInflate({ chunkSize: CHUNK_BYTES, flush: constants.Z_SYNC_FLUSH })
        : createInflateRaw({ chunkSize: CHUNK_BYTES, flush: constants.Z_SYNC_FLUSH });
    case 'br':
      return createBrotliDecompress({ chunkSize: CHUNK_BYTES, flush: constants.BROTLI_OPERATION_FLUSH });
    case 'zstd':
      return createZstdDecompress({ chunkSize: CHUNK_BYTES, flush: constants.ZSTD_e_flush });
    default:
      return coding satisfies never;
  }
}

const CHUNK_BYTES = 64 * 1024;
const MAX_HELD_BYTES = 1024 * 1024;
/** Text compresses by less; what decodes to more is a bomb, and is not decoded to its end. */
const MAX_RATIO = 100;
const FREE_BYTES = 64 * 1024 * 1024;

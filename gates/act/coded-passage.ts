/**
 * What a compressed answer passes: a copy is decoded as it comes, and its bytes go on as they came once what they decode
 * to is settled, or in a pause. In compressed bytes nothing can be masked, so a secret in them breaks the answer off.
 * What cannot be decoded within measure passes as plain bytes do.
 */
import type { Decoder } from '../../core-lite/decoders.ts';
import { Pause } from '../../core-lite/pause.ts';
import { type Coding, makePlaces, openDecoder } from '../codings.ts';
import { PAUSE_MS, SecretSearch } from './mask.ts';
import { type Onward, type Passage, PlainPassage } from './passage.ts';

export class CodedPassage implements Passage {
  readonly #coding: Coding;
  readonly #session: string;
  readonly #search: SecretSearch;
  readonly #onward: Onward;
  /** What takes over where the copy cannot be decoded. */
  readonly #plain: PlainPassage;
  readonly #pause = new Pause(PAUSE_MS);
  #decoder: Decoder | null = null;
  /** How much went into it. */
  #given = 0;
  /** Came, but is not decoded. */
  #unread: Buffer[] = [];
  /** Is decoded, but its text is not settled. */
  #read: { readonly bytes: Buffer; readonly decodedTo: number }[] = [];
  #readBytes = 0;
  #state: 'decoding' | 'plain' | 'over' = 'decoding';
  #working: Promise<void> | null = null;

  /** @param session whose answer it is */
  constructor(coding: Coding, session: string, secrets: readonly Buffer[], onward: Onward) {
    this.#coding = coding;
    this.#session = session;
    this.#search = new SecretSearch(secrets);
    this.#onward = onward;
    this.#plain = new PlainPassage(secrets, false, onward);
  }

  get busy(): boolean {
    return this.#working !== null;
  }

  push(chunk: Buffer): void {
    if (this.#state === 'plain') this.#plain.push(chunk);
    if (this.#state !== 'decoding') return;
    this.#unread.push(chunk);
    this.#working ??= this.#work().catch(this.#onward.fault);
  }

  async end(last: Buffer): Promise<void> {
    if (last.length > 0) this.push(last);
    await this.#working;
    this.#pause.stop();
    if (this.#state === 'decoding') this.#letGoTo(this.#search.at);
    if (this.#state === 'plain') this.#plain.end(NOTHING);
    this.close();
  }

  close(): void {
    this.#state = 'over';
    this.#pause.stop();
    this.#plain.close();
    this.#decoder?.destroy();
  }

  async #work(): Promise<void> {
    while (this.#state === 'decoding' && this.#unread.length > 0) {
      const bytes = join(this.#unread);
      this.#unread = [];
      const decoded = await this.#decode(bytes);
      if (this.#state !== 'decoding') break;
      this.#read.push({ bytes, decodedTo: this.#search.at });
      this.#readBytes += bytes.length;
      // What stands behind the end may be read by others: nobody has looked at it.
      if (this.#search.found || decoded === 'ended') this.#breakOff();
      else if (decoded === 'unreadable' || this.#search.at > MAX_DECODED_BYTES) this.#turnPlain();
      else this.#settle();
    }
    this.#working = null;
    this.#onward.ready();
  }

  /** @returns whether it could be read, or stands behind the end of what is */
  #decode(bytes: Buffer): Promise<'read' | 'unreadable' | 'ended'> {
    this.#decoder ??= this.#open(bytes);
    const decoder = this.#decoder;
    if (!decoder || decoder.destroyed) return Promise.resolve('unreadable');
    this.#given += bytes.length;
    return new Promise((resolve) => {
      const onClose = (): void => resolve('unreadable');
      decoder.once('close', onClose);
      decoder.write(bytes, (error) => {
        decoder.off('close', onClose);
        const unread = this.#given - decoder.bytesWritten;
        if (error || decoder.destroyed) resolve('unreadable');
        else resolve(unread > 0 && !isPadding(bytes.subarray(-unread)) ? 'ended' : 'read');
      });
    });
  }

  #open(bytes: Buffer): Decoder | null {
    const decoder = openDecoder(this.#coding, bytes, { places: PLACES, session: this.#session });
    decoder?.on('data', (text: Buffer) => {
      try {
        if (this.#state === 'decoding') this.#search.scan(text);
      } catch (error) {
        this.#onward.fault(error);
      }
      // A bomb is not decoded to its end.
      if (this.#search.found || this.#search.at > MAX_DECODED_BYTES) decoder.destroy();
    });
    return decoder?.on('error', () => {}) ?? null;
  }

  #settle(): void {
    this.#letGoTo(this.#readBytes > MAX_HELD_BYTES ? this.#search.at : this.#search.settledTo);
    if (this.#read.length > 0) this.#pause.start(this.#onPause);
    else this.#pause.stop();
  }

  readonly #onPause = (): void => {
    try {
      this.#letGoTo(this.#search.at);
    } catch (error) {
      this.#onward.fault(error);
    }
  };

  /** @param until counted in decoded bytes */
  #letGoTo(until: number): void {
    for (let next = this.#read[0]; next && next.decodedTo <= until; next = this.#read[0]) {
      this.#read.shift();
      this.#readBytes -= next.bytes.length;
      this.#onward.pass(next.bytes);
    }
  }

  #breakOff(): void {
    this.close();
    this.#onward.breakOff();
  }

  #turnPlain(): void {
    this.#pause.stop();
    this.#state = 'plain';
    this.#decoder?.destroy();
    for (const bytes of [...this.#read.map((piece) => piece.bytes), ...this.#unread]) this.#plain.push(bytes);
    this.#read = [];
    this.#unread = [];
  }
}

/** Some writers of gzip fill a block with zeros. */
function isPadding(bytes: Buffer): boolean {
  return bytes.every((byte) => byte === 0);
}

function join(chunks: readonly Buffer[]): Buffer {
  return chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks);
}

const NOTHING = Buffer.alloc(0);
const PLACES = makePlaces();
/** More than the tail of a text takes in any coding. */
const MAX_HELD_BYTES = 256 * 1024;
/** Larger than any answer; what decodes to more is made to cost. */
const MAX_DECODED_BYTES = 64 * 1024 * 1024;

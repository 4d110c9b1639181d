/**
 * Looks for the forms of secrets in a compressed text body: a copy is decoded as it streams, and the bytes go on as they
 * came once what they decode to is settled. In compressed bytes nothing can be masked, so a form in them cuts the body off;
 * and so does what we cannot decode and others might. What is in no known coding from its beginning passes as a text does.
 */

import type { Coding } from '../../core-lite/decoders.ts';
import type { BodyScrubber, CutOff, Tally } from './body-scrubber.ts';
import { CodedText } from './coded-text.ts';
import type { Forms } from './forms.ts';
import { Held, joinSmall, type Piece } from './held.ts';
import { TextBody } from './text-body.ts';

export class CodedBody implements BodyScrubber {
  readonly mayCut = true;
  readonly #decoded: CodedText;
  /** What takes over where the body cannot be decoded. */
  readonly #text: TextBody;
  /** What its decoder has not given all of the text of, or whose block has not ended. */
  readonly #unread = new Held();
  /** What it has, but the text is not settled, or not all of the text of its block is here. */
  #read: { readonly piece: Piece; readonly decodedTo: number }[] = [];
  #readBytes = 0;

  /**
   * @param holder whose place among the decoders it takes
   * @param isStream whether it comes piece by piece as things happen: those cannot wait
   */
  constructor(coding: Coding, forms: Forms, tally: Tally, holder: string, isStream: boolean) {
    this.#decoded = new CodedText(coding, forms, holder, isStream);
    this.#text = new TextBody(forms, tally);
  }

  get mayLetGo(): boolean {
    return this.#read.length > 0 || this.#text.mayLetGo;
  }

  async push(bytes: Buffer, data: readonly number[]): Promise<readonly Buffer[] | CutOff> {
    const out: Buffer[] = [];
    this.#unread.push({ bytes, data });
    for (let rest = joinData(bytes, data); rest.length > 0 && this.#decoded.state === 'open'; ) {
      const before = this.#decoded.at;
      rest = rest.subarray(await this.#decoded.push(rest));
      if (this.#decoded.state === 'open') this.#takeRead(before);
      // Also of what was cut off then: else whoever sees it would know what came together.
      out.push(...this.#letGoTo(this.#decoded.settledTo));
    }
    const { state } = this.#decoded;
    if (state === 'text') return [...out, ...this.#passAsText()];
    if (state === 'closed') return [];
    if (state !== 'open') return { before: out, cut: state };
    return this.#readBytes + this.#unread.size > this.#decoded.mostHeld
      ? { before: out, cut: 'overmuch' }
      : out;
  }

  letGo(): readonly Buffer[] {
    if (this.#decoded.state === 'text') return [...this.#passAsText(), ...this.#text.letGo()];
    return this.#letGoTo(this.#decoded.at);
  }

  async end(): Promise<readonly Buffer[] | CutOff> {
    if (this.#decoded.state === 'open') await this.#decoded.end();
    const { state, readTo, at } = this.#decoded;
    if (state === 'text') return this.letGo();
    if (state === 'closed') return [];
    if (state !== 'open') return { before: [], cut: state };
    for (const piece of this.#unread.takeTo(readTo.coded)) this.#addRead(piece, at);
    // What was not read may be read by others: nobody has looked at it.
    const isWhole = this.#unread.size === 0 && (readTo.text ?? at) <= at;
    return isWhole ? this.#letGoTo(Number.POSITIVE_INFINITY) : { before: [], cut: 'broken' };
  }

  close(): void {
    this.#decoded.close();
  }

  /** @param before how much text there was before the last bytes were read */
  #takeRead(before: number): void {
    const { at, readTo } = this.#decoded;
    // What gave no text, such as a table of codes, tells of the text that follows.
    const decodedTo = readTo.text ?? (at > before ? at : at + 1);
    if (readTo.text !== null) this.#waitTo(readTo.text);
    for (const piece of this.#unread.takeTo(readTo.coded)) this.#addRead(piece, decodedTo);
  }

  /** What came before may have ended earlier than it could have. */
  #waitTo(text: number): void {
    for (let i = this.#read.length - 1; i >= 0; i--) {
      const { piece, decodedTo } = this.#read[i] as { piece: Piece; decodedTo: number };
      if (decodedTo <= text) return;
      this.#read[i] = { piece, decodedTo: text };
    }
  }

  #addRead(piece: Piece, decodedTo: number): void {
    this.#readBytes += piece.bytes.length;
    const last = this.#read.at(-1);
    // What waits for a block of text may wait for the next byte's too.
    const isNear = last && (last.decodedTo === decodedTo || last.decodedTo > this.#decoded.at + 1);
    const joined = isNear ? joinSmall(last.piece, piece) : null;
    if (joined) this.#read.pop();
    this.#read.push({ piece: joined ?? piece, decodedTo });
  }

  #passAsText(): readonly Buffer[] {
    const held = [...this.#read.map(({ piece }) => piece), ...this.#unread.takeAll()];
    this.#read = [];
    return held.flatMap(({ bytes, data }) => this.#text.push(bytes, data));
  }

  /** @param until counted in decoded bytes */
  #letGoTo(until: number): readonly Buffer[] {
    const out: Buffer[] = [];
    for (let next = this.#read[0]; next && next.decodedTo <= until; next = this.#read[0]) {
      this.#readBytes -= next.piece.bytes.length;
      out.push(next.piece.bytes);
      this.#read.shift();
    }
    return out;
  }
}

function joinData(bytes: Buffer, data: readonly number[]): Buffer {
  if (data.length <= 2) return bytes.subarray(data[0] ?? 0, data[1] ?? 0);
  return Buffer.concat(data.flatMap((at, i) => (i % 2 === 0 ? [bytes.subarray(at, data[i + 1])] : [])));
}

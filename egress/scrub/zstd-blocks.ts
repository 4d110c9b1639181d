/**
 * Follows the frames and blocks of zstd (RFC 8878 3.1). A block gives its text only when it is here as a whole, so a part of
 * one must not go on before: whoever has all but its last byte can read it.
 */

type State =
  | 'magic'
  | 'skip_size'
  | 'skipped'
  | 'descriptor'
  | 'header'
  | 'block'
  | 'content'
  | 'checksum'
  | 'broken';

export class ZstdBlocks {
  #state: State = 'magic';
  /** Bytes of the current field that are still to come, and its value, read little-endian. */
  #left = 4;
  #value = 0;
  #shift = 1;
  #isLast = false;
  #hasChecksum = false;
  #at = 0;
  /** Where the content of the current block began. */
  #contentAt = 0;

  /** Up to here a decoder gives all text that the bytes hold. Counted in all bytes that came. */
  get readableTo(): number {
    return this.#state === 'content' ? this.#contentAt : this.#at;
  }

  /** @returns how many of the bytes it took: to the end of a frame, or all */
  read(bytes: Uint8Array): number {
    let i = 0;
    while (i < bytes.length && this.#state !== 'broken') {
      const isNumber = this.#state !== 'content' && this.#state !== 'skipped';
      const taken = isNumber ? 1 : Math.min(this.#left, bytes.length - i);
      if (isNumber) this.#add(bytes[i] as number);
      i += taken;
      this.#at += taken;
      this.#left -= taken;
      if (this.#left === 0 && this.#endField()) return i;
    }
    this.#at += bytes.length - i;
    return bytes.length;
  }

  #add(byte: number): void {
    this.#value += byte * this.#shift;
    this.#shift *= 256;
  }

  /** @returns whether a frame has ended */
  #endField(): boolean {
    switch (this.#state) {
      case 'magic':
        return this.#beginFrame(this.#value);
      case 'skip_size':
        return this.#expect('skipped', this.#value) === 0 && this.#endFrame();
      case 'descriptor':
        return this.#readDescriptor(this.#value);
      case 'header':
        this.#expect('block', 3);
        return false;
      case 'block':
        return this.#beginBlock(this.#value);
      case 'content':
        return this.#endBlock();
      default:
        return this.#endFrame();
    }
  }

  #beginFrame(magic: number): boolean {
    if (magic === MAGIC) this.#expect('descriptor', 1);
    else if (magic >= FIRST_SKIPPABLE && magic <= FIRST_SKIPPABLE + 15) this.#expect('skip_size', 4);
    else this.#state = 'broken';
    return false;
  }

  #readDescriptor(flags: number): boolean {
    const isSingle = (flags >> 5) & 1;
    this.#hasChecksum = ((flags >> 2) & 1) === 1;
    const dictionary = [0, 1, 2, 4][flags & 3] as number;
    const size = [isSingle, 2, 4, 8][flags >> 6] as number;
    if (this.#expect('header', 1 - isSingle + dictionary + size) === 0) this.#expect('block', 3);
    return false;
  }

  #beginBlock(header: number): boolean {
    this.#isLast = (header & 1) === 1;
    const type = (header >> 1) & 3;
    this.#contentAt = this.#at;
    return this.#expect('content', type === RUN ? 1 : header >> 3) === 0 && this.#endBlock();
  }

  #endBlock(): boolean {
    if (!this.#isLast) this.#expect('block', 3);
    else if (this.#hasChecksum) this.#expect('checksum', 4);
    else return this.#endFrame();
    return false;
  }

  #endFrame(): boolean {
    this.#expect('magic', 4);
    return true;
  }

  #expect(state: State, bytes: number): number {
    this.#state = state;
    this.#left = bytes;
    this.#value = 0;
    this.#shift = 1;
    return bytes;
  }
}

const MAGIC = 0xfd2fb528;
const FIRST_SKIPPABLE = 0x184d2a50;
/** One byte, repeated. */
const RUN = 1;

/**
 * Follows the frames and blocks of zstd (RFC 8878 3.1). A block gives its text only when it is here as a whole, so nothing
 * of one must go on before: whoever has all but its last byte can read it, and its header tells how well it is compressed.
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
  #left = MAGIC_BYTES;
  #value = 0;
  #shift = 1;
  #isLast = false;
  #hasChecksum = false;
  #at = 0;
  /** Where the last block or its frame ended. Counted in all bytes that came. */
  #readableTo = 0;
  #frameEnded = true;

  /**
   * Whether a decoder gives all text that the bytes hold: a block has just ended, or its frame. What is skipped may tell
   * the size of the frame behind it.
   */
  get isReadable(): boolean {
    return this.#readableTo === this.#at;
  }

  /** Whether what was readable last was the end of a frame, and not of a block in it. */
  get hasFrameEnded(): boolean {
    return this.#frameEnded;
  }

  /** Whether nothing is there of a further frame. */
  get isBetweenFrames(): boolean {
    return this.#state === 'magic' && this.#left === MAGIC_BYTES;
  }

  /**
   * @param byFrame whether it does not stop at the end of a block
   * @returns how many of the bytes it took: to the end of a block that may have text, of a frame, or all
   */
  read(bytes: Uint8Array, byFrame = false): number {
    let i = 0;
    while (i < bytes.length && this.#state !== 'broken') {
      const isNumber = this.#state !== 'content' && this.#state !== 'skipped';
      const taken = isNumber ? 1 : Math.min(this.#left, bytes.length - i);
      if (isNumber) this.#add(bytes[i] as number);
      i += taken;
      this.#at += taken;
      this.#left -= taken;
      if (this.#left === 0 && this.#endField() && !(byFrame && !this.isBetweenFrames)) return i;
    }
    this.#at += bytes.length - i;
    return bytes.length;
  }

  #add(byte: number): void {
    this.#value += byte * this.#shift;
    this.#shift *= 256;
  }

  /** @returns whether a block or a frame has ended */
  #endField(): boolean {
    switch (this.#state) {
      case 'magic':
        return this.#beginFrame(this.#value);
      case 'skip_size':
        return this.#expect('skipped', this.#value) === 0 && this.#beginNext();
      case 'descriptor':
        return this.#readDescriptor(this.#value);
      case 'header':
        this.#expect('block', 3);
        return false;
      case 'block':
        return this.#beginBlock(this.#value);
      case 'content':
        return this.#endBlock();
      case 'skipped':
        return this.#beginNext();
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
    if (this.#expect('content', type === RUN ? 1 : header >> 3) > 0) return false;
    this.#endBlock();
    // Of nothing but empty blocks there may be many.
    return this.#state === 'magic';
  }

  #endBlock(): boolean {
    this.#readableTo = this.#at;
    this.#frameEnded = false;
    if (!this.#isLast) this.#expect('block', 3);
    else if (this.#hasChecksum) this.#expect('checksum', 4);
    else this.#endFrame();
    return true;
  }

  #endFrame(): boolean {
    this.#readableTo = this.#at;
    this.#frameEnded = true;
    return this.#beginNext();
  }

  #beginNext(): boolean {
    this.#expect('magic', MAGIC_BYTES);
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

const MAGIC_BYTES = 4;
const MAGIC = 0xfd2fb528;
const FIRST_SKIPPABLE = 0x184d2a50;
/** One byte, repeated. */
const RUN = 1;

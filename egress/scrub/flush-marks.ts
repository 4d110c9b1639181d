/**
 * Finds where an encoder of deflate has flushed: it ends its block there with an empty stored one (RFC 1951 3.2.4). What
 * stands before says nothing of what follows. Before the end of a block, its table of codes tells of all of its text.
 */

export class FlushMarks {
  /** The last bytes that came, newest lowest. */
  #last = 0xffffffff;
  #marked = false;

  /** Whether what was read last ends with a mark. */
  get marked(): boolean {
    return this.#marked;
  }

  /** @returns them to the end of the first mark in them, or all */
  upToMark(bytes: Buffer): Buffer {
    return bytes.subarray(0, this.#firstMark(bytes) || bytes.length);
  }

  read(bytes: Buffer): void {
    for (const byte of bytes.subarray(-4)) this.#last = (this.#last << 8) | byte;
    this.#marked = this.#last === MARK;
  }

  /** @returns where it ends; 0 where there is none */
  #firstMark(bytes: Buffer): number {
    // It may have begun in what came before.
    let last = this.#last;
    for (let i = 0; i < Math.min(3, bytes.length); i++) {
      last = (last << 8) | (bytes[i] as number);
      if (last === MARK) return i + 1;
    }
    const within = bytes.indexOf(MARK_BYTES);
    return within < 0 ? 0 : within + MARK_BYTES.length;
  }
}

const MARK = 0x0000ffff;
const MARK_BYTES = Buffer.from([0, 0, 0xff, 0xff]);

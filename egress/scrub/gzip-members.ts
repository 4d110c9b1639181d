/**
 * Finds where a member of gzip ends: with the checksum of its text and how much that was (RFC 1952 2.3.1). What stands
 * before says nothing of what follows. A decoder tells it only when something stands behind it, and reads on over it.
 */
import { crc32 } from 'node:zlib';

export class GzipMembers {
  /** The last bytes that came. */
  readonly #last = Buffer.alloc(TRAILER_BYTES);
  /** Of the text of the current member. */
  #sum = 0;
  #length = 0;
  /** Whether a member may have begun that was not seen to: then each that may begin counts as one that does. */
  #lost = false;

  /** @returns what stands before a further member may begin, at least a byte; or all */
  upToNext(bytes: Buffer): Buffer {
    for (let next = bytes.indexOf(MAGIC, 1); next > 0; next = bytes.indexOf(MAGIC, next + 1))
      if ((bytes[next + MAGIC.length] ?? 0) <= MOST_FLAGS) return bytes.subarray(0, next);
    for (const begun of [2, 1]) {
      const at = bytes.length - begun;
      if (at > 0 && MAGIC.subarray(0, begun).equals(bytes.subarray(at))) return bytes.subarray(0, at);
    }
    return bytes;
  }

  begin(): void {
    this.#sum = 0;
    this.#length = 0;
    this.#lost = false;
  }

  /** In what was read as one, a member may have begun. */
  lose(): void {
    this.#lost = true;
  }

  /** @param bytes whose text comes next */
  enter(bytes: Buffer): void {
    if (!this.#lost || !MAGIC.subarray(0, bytes.length).equals(bytes.subarray(0, MAGIC.length))) return;
    this.#sum = 0;
    this.#length = 0;
  }

  look(text: Buffer): void {
    this.#sum = crc32(text, this.#sum);
    this.#length = (this.#length + text.length) % 2 ** 32;
  }

  /** @param bytes whose text was looked at */
  push(bytes: Buffer): void {
    const kept = Math.max(TRAILER_BYTES - bytes.length, 0);
    this.#last.copy(this.#last, 0, TRAILER_BYTES - kept);
    bytes.copy(this.#last, kept, Math.max(bytes.length - TRAILER_BYTES, 0));
  }

  /** @returns whether a member has ended with the last byte that came; the next one begins then */
  takeEnd(): boolean {
    // Zeros may stand in a header too.
    const ended =
      this.#length > 0 &&
      this.#last.readUInt32LE(0) === this.#sum &&
      this.#last.readUInt32LE(4) === this.#length;
    if (ended) this.begin();
    return ended;
  }
}

const TRAILER_BYTES = 8;
/** With the one method that there is. */
const MAGIC = Buffer.from([0x1f, 0x8b, 8]);
/** The others are reserved: no decoder reads on (RFC 1952 2.3.1.2). */
const MOST_FLAGS = 0x1f;

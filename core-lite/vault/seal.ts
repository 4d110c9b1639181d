/**
 * Seals: AES-256-GCM with a class key. A ciphertext names its key and is bound to one place (table, row, field,
 * version) by its associated data, so a sealed value copied to another row, or an old one put back, does not open.
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { Fault } from '../errors.ts';
import { Secret } from '../secret.ts';

/** A 256-bit key that cannot be printed. */
export class SealKey {
  /** 8 hex digits; stands in every ciphertext that the key made. */
  readonly id: string;
  readonly #bytes: Buffer;

  constructor(id: string, bytes: Buffer) {
    if (!/^[0-9a-f]{8}$/.test(id)) throw new TypeError('a key id is 8 hex digits');
    if (bytes.length !== KEY_BYTES) throw new TypeError(`a key is ${KEY_BYTES} bytes`);
    this.id = id;
    this.#bytes = Buffer.from(bytes);
  }

  static make(): SealKey {
    return new SealKey(randomBytes(4).toString('hex'), randomBytes(KEY_BYTES));
  }

  /** @param place what the value is bound to, for example `credentials crd_… value 3` */
  seal(value: Secret, place: string): Buffer {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.#bytes, nonce);
    cipher.setAAD(Buffer.from(place));
    const body = Buffer.concat([cipher.update(value.reveal(), 'utf8'), cipher.final()]);
    return Buffer.concat([FORMAT, Buffer.from(this.id, 'hex'), nonce, cipher.getAuthTag(), body]);
  }

  /** Throws Fault `seal_broken` if it was sealed by another key, for another place, or changed since. */
  open(sealed: Buffer, place: string): Secret {
    if (sealed.length < HEAD_BYTES || sealed[0] !== FORMAT[0] || sealedKeyId(sealed) !== this.id) {
      throw new Fault('seal_broken', `what is sealed for ${place} was not sealed by this key`);
    }
    const decipher = createDecipheriv('aes-256-gcm', this.#bytes, sealed.subarray(5, 17));
    decipher.setAuthTag(sealed.subarray(17, HEAD_BYTES));
    decipher.setAAD(Buffer.from(place));
    try {
      const body = Buffer.concat([decipher.update(sealed.subarray(HEAD_BYTES)), decipher.final()]);
      return new Secret(body.toString('utf8'));
    } catch (error) {
      throw new Fault('seal_broken', `what is sealed for ${place} does not open`, error);
    }
  }

  /** The key as text, to be sealed by another key or written to a file that only its reader can open. */
  export(): Secret {
    return new Secret(this.#bytes.toString('base64'));
  }

  /** Another key, made from this one for one purpose. */
  derive(purpose: string): Buffer {
    return Buffer.from(hkdfSync('sha256', this.#bytes, Buffer.alloc(0), purpose, KEY_BYTES));
  }
}

/** The id of the key that made this ciphertext. */
export function sealedKeyId(sealed: Buffer): string {
  return sealed.subarray(1, 5).toString('hex');
}

/** Parses 32 bytes in base64; `null` for anything else. */
export function parseKeyBytes(text: string): Buffer | null {
  const bytes = Buffer.from(text.trim(), 'base64');
  return bytes.length === KEY_BYTES && bytes.toString('base64') === text.trim() ? bytes : null;
}

const KEY_BYTES = 32;
const NONCE_BYTES = 12;
/** format, key id, nonce, tag */
const HEAD_BYTES = 1 + 4 + NONCE_BYTES + 16;
const FORMAT = Buffer.from([1]);

/**
 * Masks a secret that an upstream gives back plainly, in a stream of bytes of the same length. Bytes are held back only
 * while they are the beginning of a secret. A help, not a promise: who is given a secret can return it in disguise.
 */
export class SecretMask {
  readonly #secrets: readonly Buffer[];
  #held: Buffer = EMPTY;

  constructor(secrets: readonly Buffer[]) {
    this.#secrets = secrets;
  }

  /** @returns what may go on now */
  write(chunk: Buffer): Buffer {
    if (this.#secrets.length === 0) return chunk;
    const data = maskSecrets(
      this.#held.length > 0 ? Buffer.concat([this.#held, chunk]) : chunk,
      this.#secrets,
    );
    const kept = Math.max(...this.#secrets.map((secret) => beginningAtEnd(data, secret)));
    this.#held = kept > 0 ? data.subarray(data.length - kept) : EMPTY;
    return kept > 0 ? data.subarray(0, data.length - kept) : data;
  }

  /** @returns what was held back, at the end of the stream */
  end(): Buffer {
    const rest = this.#held;
    this.#held = EMPTY;
    return rest;
  }
}

/** `data` with every secret in it masked; the same bytes where there is none. */
export function maskSecrets(data: Buffer, secrets: readonly Buffer[]): Buffer {
  let masked = data;
  for (const secret of secrets) {
    for (let at = masked.indexOf(secret); at >= 0; at = masked.indexOf(secret, at + secret.length)) {
      // The chunk is not ours to change.
      if (masked === data) masked = Buffer.from(data);
      masked.fill('*', at, at + secret.length);
    }
  }
  return masked;
}

/** Raw headers with every secret in them masked; almost always the very same ones. */
export function maskHeaders(raw: readonly string[], secrets: readonly Buffer[]): readonly string[] {
  if (secrets.length === 0) return raw;
  const all = Buffer.from(raw.join('\n'), 'latin1');
  if (!secrets.some((secret) => all.includes(secret))) return raw;
  return raw.map((text) => maskSecrets(Buffer.from(text, 'latin1'), secrets).toString('latin1'));
}

/** How many bytes at the end of `data` are the beginning of `secret`. */
function beginningAtEnd(data: Buffer, secret: Buffer): number {
  const first = secret[0] ?? 0;
  let at = data.indexOf(first, Math.max(0, data.length - secret.length + 1));
  while (at >= 0) {
    const length = data.length - at;
    if (data.compare(secret, 0, length, at) === 0) return length;
    at = data.indexOf(first, at + 1);
  }
  return 0;
}

const EMPTY = Buffer.alloc(0);

/**
 * Masks a secret that an upstream gives back plainly, in a stream of bytes of the same length. The end of what came waits,
 * behind its last line end, for as long as a secret is, or for a pause, whatever stands there: how long bytes wait must
 * say nothing of a secret. A help, not a promise: who is given a secret can return it in disguise.
 */
export class SecretMask {
  readonly #secrets: readonly Buffer[];
  /** How much of a secret may stand at the end before it is whole. */
  readonly #most: number;
  #held: Buffer = EMPTY;
  /** The end of what went on in a pause: a secret may have begun in it. */
  #before: Buffer = EMPTY;

  constructor(secrets: readonly Buffer[]) {
    this.#secrets = secrets.filter((secret) => secret.length > 0);
    this.#most = Math.max(1, ...secrets.map((secret) => secret.length)) - 1;
  }

  /** Whether something is held that goes out if the upstream pauses. */
  get mayLetGo(): boolean {
    return this.#held.length > 0;
  }

  /** @returns what may go on now */
  write(chunk: Buffer): Buffer {
    if (this.#secrets.length === 0) return chunk;
    const data = this.#look(chunk);
    const cut = settledTo(data, this.#most);
    this.#held = cut < data.length ? data.subarray(cut) : EMPTY;
    return cut < data.length ? data.subarray(0, cut) : data;
  }

  /** Nothing more comes. @returns all that is left */
  end(chunk: Buffer): Buffer {
    const data = this.#look(chunk);
    this.#held = EMPTY;
    return data;
  }

  /** The upstream pauses. @returns what was held back; what follows is still looked at */
  letGo(): Buffer {
    const rest = this.#held;
    this.#held = EMPTY;
    this.#before = Buffer.concat([this.#before, rest]).subarray(-this.#most);
    return rest;
  }

  #look(chunk: Buffer): Buffer {
    if (this.#held.length === 0 && this.#before.length === 0) return maskSecrets(chunk, this.#secrets);
    const before = this.#before.length;
    const all = Buffer.concat([this.#before, this.#held, chunk]);
    const data = maskSecrets(all, this.#secrets).subarray(before);
    if (data.length >= this.#most || settledTo(data, data.length) > 0) this.#before = EMPTY;
    return data;
  }
}

/** Looks for secrets in a text that streams, and says how much of it is settled: as the mask, by length and line ends alone. */
export class SecretSearch {
  readonly #secrets: readonly Buffer[];
  readonly #most: number;
  #before: Buffer = EMPTY;
  /** How many bytes came. */
  at = 0;
  /** Up to here no secret is still to be completed. */
  settledTo = 0;
  found = false;

  /** @param secrets at least one, none empty */
  constructor(secrets: readonly Buffer[]) {
    this.#secrets = secrets;
    this.#most = Math.max(...secrets.map((secret) => secret.length)) - 1;
  }

  scan(text: Buffer): void {
    const all = this.#before.length > 0 ? Buffer.concat([this.#before, text]) : text;
    this.found ||= this.#secrets.some((secret) => all.includes(secret));
    this.at += text.length;
    this.settledTo = Math.max(this.settledTo, this.at - all.length + settledTo(all, this.#most));
    // The text is not ours to keep.
    this.#before = Buffer.from(all.subarray(Math.max(0, all.length - this.#most)));
  }
}

/** Up to here no secret is still to be completed: none is longer, and none has a line end in it. */
function settledTo(data: Buffer, most: number): number {
  const from = Math.max(0, data.length - most);
  const tail = data.subarray(from);
  return from + Math.max(tail.lastIndexOf(LF), tail.lastIndexOf(CR)) + 1;
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

/** Longer than between two packets of one write, shorter than anybody notices. */
export const PAUSE_MS = 300;
const EMPTY = Buffer.alloc(0);
const LF = 0x0a;
const CR = 0x0d;

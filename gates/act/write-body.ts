/** The body as one provider gets it: the caller's own bytes, but for the model's name and a wish for the usage. */
import { findProvider } from '../../core-lite/providers/catalogue.ts';
import type { ModelFacts } from '../../core-lite/state/model.ts';
import { applyEdits, type Edit } from '../read/edit.ts';
import { type ModelBody, makeNameEdit } from '../read/model-call.ts';

export interface ModelBytes {
  readonly body: Buffer;
  /** It was written anew from a compressed one. */
  readonly plain: boolean;
  /** It was made to ask for the usage, which its caller does not. */
  readonly hidesUsage: boolean;
}

/** The body of one call. It lets go of all that nobody will read again. */
export class CallBody {
  #body: Buffer;
  readonly #encoding: string;
  #plain: Buffer;

  /**
   * @param body as it came
   * @param encoding its content encoding, empty for none
   * @param plain the same in plain JSON
   */
  constructor(body: Buffer, encoding: string, plain: Buffer) {
    this.#body = body;
    this.#encoding = encoding;
    this.#plain = plain;
  }

  /** Empty when it was written for the last time. */
  get plain(): Buffer {
    return this.#plain;
  }

  /** @param more whether it may be written for another model */
  write(read: ModelBody, model: ModelFacts, more: boolean): ModelBytes {
    const bytes = this.#edit(read, makeEdits(read, model));
    if (!more) this.#body = this.#plain = EMPTY;
    return bytes;
  }

  #edit(read: ModelBody, edits: readonly Edit[]): ModelBytes {
    // What is not edited goes on as it came, compressed too.
    if (edits.length === 0) return { body: this.#body, plain: false, hidesUsage: false };
    const hidesUsage = read.usageEdit !== null && edits.includes(read.usageEdit);
    return { body: applyEdits(this.#plain, edits), plain: this.#encoding !== '', hidesUsage };
  }
}

/** What of a body is not the provider's to read as it came. */
function makeEdits(read: ModelBody, { upstreamName, provider }: ModelFacts): Edit[] {
  const asks = findProvider(provider)?.streamUsage === 'on_request';
  return [makeNameEdit(read, upstreamName), asks ? read.usageEdit : null].filter((edit) => edit !== null);
}

const EMPTY = Buffer.alloc(0);

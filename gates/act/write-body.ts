/** The body as one provider gets it: the caller's own bytes, but for the model's name and a wish for the usage. */
import { findProvider } from '../../core-lite/providers/catalogue.ts';
import type { ModelFacts } from '../../core-lite/state/model.ts';
import { applyEdits, type Edit } from '../read/edit.ts';
import { type ModelBody, makeNameEdit } from '../read/model-call.ts';

export interface SentBody {
  /** As it came. */
  readonly body: Buffer;
  /** Its content encoding, empty for none. */
  readonly encoding: string;
  /** The same in plain JSON. */
  readonly plain: Buffer;
  readonly read: ModelBody;
}

export interface ModelBytes {
  readonly body: Buffer;
  /** It was written anew from a compressed one. */
  readonly plain: boolean;
  /** It was made to ask for the usage, which its caller does not. */
  readonly hidesUsage: boolean;
}

export function writeBody({ body, encoding, plain, read }: SentBody, model: ModelFacts): ModelBytes {
  const edits = makeEdits(read, model);
  // What is not edited goes on as it came, compressed too.
  if (edits.length === 0) return { body, plain: false, hidesUsage: false };
  const hidesUsage = read.usageEdit !== null && edits.includes(read.usageEdit);
  return { body: applyEdits(plain, edits), plain: encoding !== '', hidesUsage };
}

/** What of a body is not the provider's to read as it came. */
function makeEdits(read: ModelBody, { upstreamName, provider }: ModelFacts): Edit[] {
  const asks = findProvider(provider)?.streamUsage === 'on_request';
  return [makeNameEdit(read, upstreamName), asks ? read.usageEdit : null].filter((edit) => edit !== null);
}

/**
 * The forms in which an origin may give secrets back: as they are, and in base64 at each of its three alignments. Every
 * character of a form may also stand escaped, as in a URL or in JSON, which is the finder's business. Where the bytes of a
 * secret are compared with what comes from an origin; they never go on from here.
 */
import type { Secret } from '../../core-lite/secret.ts';
import { type Endings, endingsOf } from './endings.ts';
import { readingsOf } from './readings.ts';
import { MAX_SPELLING_BYTES, PLUS_OR_DASH, SLASH_OR_UNDERSCORE, SPACE_OR_PLUS } from './symbols.ts';

export interface Forms {
  /** The symbols of each. */
  readonly forms: readonly (readonly number[])[];
  /** How many bytes the longest form takes at most, in whatever spelling. */
  readonly longest: number;
  readonly endings: Endings;
}

/** Made once for the same secrets: it costs more than the search of a short answer. @param secrets at least one */
export function formsOf(secrets: readonly Secret[]): Forms {
  const [first] = secrets;
  if (!first) throw new Error('there is no secret to look for');
  const kept = made.get(first);
  if (kept && kept.of.length === secrets.length && kept.of.every((secret, i) => secret === secrets[i]))
    return kept.forms;
  const forms = makeForms(secrets);
  made.set(first, { of: secrets, forms });
  return forms;
}

function makeForms(secrets: readonly Secret[]): Forms {
  const forms = secrets.flatMap((secret) => formsOfOne(Buffer.from(secret.reveal(), 'utf8')));
  const longest = Math.max(...forms.map((form) => form.length)) * MAX_SPELLING_BYTES;
  return { forms, longest, endings: endingsOf(forms, forms.map(readingsOf)) };
}

function formsOfOne(secret: Buffer): number[][] {
  const plain = [...secret].map((byte) => (byte === SPACE ? SPACE_OR_PLUS : byte));
  return [plain, ...[0, 1, 2].map((before) => base64Form(secret, before))];
}

/** The characters that the secret alone decides, when `before` bytes of something else stand before it in its group. */
function base64Form(secret: Buffer, before: number): number[] {
  const text = Buffer.concat([Buffer.alloc(before), secret]).toString('base64');
  const first = Math.ceil((before * 8) / 6);
  const last = Math.floor(((before + secret.length) * 8) / 6);
  return [...text.slice(first, last)].map((char) => {
    if (char === '+') return PLUS_OR_DASH;
    return char === '/' ? SLASH_OR_UNDERSCORE : char.charCodeAt(0);
  });
}

const made = new WeakMap<Secret, { readonly of: readonly Secret[]; readonly forms: Forms }>();
const SPACE = 0x20;

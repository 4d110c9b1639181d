/**
 * The forms in which an origin may give secrets back: as they are, and in base64 at each of its three alignments. Every
 * character of a form may also stand escaped, as in a URL or in JSON, which is the finder's business. Where the bytes of a
 * secret are compared with what comes from an origin; they never go on from here.
 */
import type { Secret } from '../../core-lite/secret.ts';
import { makeSieve, type Sieve } from './sieve.ts';
import {
  END,
  fits,
  MAX_SPELLING_BYTES,
  PLUS_OR_DASH,
  SLASH_OR_UNDERSCORE,
  SPACE_OR_PLUS,
} from './symbols.ts';

export interface Forms {
  /** The symbols of all forms, each form closed by `END`. */
  readonly symbols: Uint16Array;
  /** Where each form begins in `symbols`. */
  readonly starts: readonly number[];
  /** By byte: whether a form may begin with it. */
  readonly beginners: Uint8Array;
  /** How many bytes the longest form takes at most, in whatever spelling. */
  readonly longest: number;
  readonly sieve: Sieve;
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
  const symbols = Uint16Array.from(forms.flatMap((form) => [...form, END]));
  const longest = Math.max(...forms.map((form) => form.length)) * MAX_SPELLING_BYTES;
  const starts: number[] = [];
  let at = 0;
  for (const form of forms) {
    starts.push(at);
    at += form.length + 1;
  }
  return { symbols, starts, beginners: beginnersOf(forms), longest, sieve: makeSieve(forms) };
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

function beginnersOf(forms: readonly (readonly number[])[]): Uint8Array {
  const begins = (byte: number) => forms.some(([first]) => first !== undefined && fits(first, byte));
  const escapes = [...'%\\'].map((char) => char.charCodeAt(0));
  return Uint8Array.from({ length: 256 }, (_, byte) => (escapes.includes(byte) || begins(byte) ? 1 : 0));
}

const made = new WeakMap<Secret, { readonly of: readonly Secret[]; readonly forms: Forms }>();
const SPACE = 0x20;

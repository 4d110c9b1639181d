/**
 * About how many tokens a body holds, from its bytes: what is reserved before a call, never what is charged. Text counts
 * by its bytes, on the high side, and so does any text that has no spaces. Only what stands where its dialect takes an
 * image, a sound or a document, is said to be one and is written like one, counts as one: in doubt it is text.
 */
import type { MediaForm } from './body-parts.ts';
import { foldCase } from './fold.ts';
import { parseText, type Span, visitObject } from './json-bytes.ts';

/** Adds up one body. */
export class InputEstimate {
  readonly #body: Buffer;
  #textBytes: number;
  #mediaTokens = 0;

  constructor(body: Buffer) {
    this.#body = body;
    this.#textBytes = body.length;
  }

  /** Takes a long text out of the count by bytes where it is no text. @param object that it is a field of */
  media(form: MediaForm, [from, to]: Span, object: Span): void {
    const start = mediaStart(this.#body, form, from + 1, object);
    const end = to - 1;
    if (start === null || !looksLikeBase64(this.#body, start, end)) return;
    this.#textBytes -= end - start;
    this.#mediaTokens += Math.max(TOKENS_OF_AN_IMAGE, Math.ceil((end - start) / MEDIA_BYTES_A_TOKEN));
  }

  get tokens(): number {
    return Math.ceil(this.#textBytes / TEXT_BYTES_A_TOKEN) + this.#mediaTokens;
  }
}

/** Where the base64 begins of a text that is said to be media; `null` where it is not. */
function mediaStart(body: Buffer, form: MediaForm, from: number, object: Span): number | null {
  switch (form) {
    case 'audio':
      return from;
    case 'url': {
      const found = DATA_URL.exec(body.toString('latin1', from, from + MAX_PREFIX_BYTES));
      return found && MEDIA_TYPE.test(found[1] ?? '') ? from + found[0].length : null;
    }
    case 'typed':
      return isBase64Source(body, object) && MEDIA_TYPE.test(oneText(body, object, TYPE_NAMES) ?? '')
        ? from
        : null;
    case 'result':
      return oneText(body, object, ['type']) === 'image_generation_call' ? from : null;
    default:
      return form satisfies never;
  }
}

/** Anthropic's says so, Google's has no type. */
function isBase64Source(body: Buffer, object: Span): boolean {
  const type = oneText(body, object, ['type']);
  return type === undefined || type === 'base64';
}

/** The text of the one field of these names; `undefined` for none, `null` where there are more, in any letters. */
function oneText(body: Buffer, object: Span, names: readonly string[]): string | null | undefined {
  const found: Span[] = [];
  let strange = false;
  visitObject(body, object, {
    field: (name, value) => {
      if (names.includes(name)) found.push(value);
      else strange ||= names.some((each) => foldCase(each) === foldCase(name));
      return true;
    },
  });
  const [one] = found;
  if (!one && !strange) return undefined;
  const isPlain = one !== undefined && found.length === 1 && one[1] - one[0] <= MAX_PREFIX_BYTES;
  return isPlain && !strange ? parseText(body, one) : null;
}

/** Looks at the beginning and at places all over it: a text of megabytes is not walked through. */
function looksLikeBase64(body: Buffer, from: number, to: number): boolean {
  const step = Math.max(WINDOW_BYTES, Math.floor((to - from) / WINDOWS));
  if (!isBase64(body, from, Math.min(to, from + HEAD_BYTES))) return false;
  for (let at = from + HEAD_BYTES; at < to; at += step) {
    if (!isBase64(body, at, Math.min(to, at + WINDOW_BYTES))) return false;
  }
  return true;
}

function isBase64(body: Buffer, from: number, to: number): boolean {
  for (let at = from; at < to; at += 1) if (BASE64[body[at] as number] === 0) return false;
  return true;
}

/** English takes about four bytes, code and other scripts about three. */
const TEXT_BYTES_A_TOKEN = 3;
/** A large image, as Anthropic and OpenAI count it. */
const TOKENS_OF_AN_IMAGE = 1_600;
/** A photograph of a megabyte comes to this; what a document or a sound comes to, its bytes do not tell. */
const MEDIA_BYTES_A_TOKEN = 600;
const MAX_PREFIX_BYTES = 128;
const HEAD_BYTES = 1024;
const WINDOW_BYTES = 64;
const WINDOWS = 64;
const DATA_URL = /^data:([\w.+/-]+)(?:;[\w=.-]+)*;base64,/;
/** What a provider does not read as a text. */
const MEDIA_TYPE = /^(?:(?:image|audio|video)\/[\w.+-]+|application\/pdf)$/;
/** Anthropic's name, and Google's in both spellings. */
const TYPE_NAMES = ['media_type', 'mimeType', 'mime_type'];
/** Both alphabets, and the slash as some writers of JSON escape it. */
const BASE64 = new Uint8Array(256);
for (const byte of Buffer.from('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/_=-\\')) {
  BASE64[byte] = 1;
}

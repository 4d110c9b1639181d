/**
 * About how many tokens a body holds, from its bytes: what is reserved before a call, never what is charged. Text counts
 * by its bytes, on the high side. A long unbroken base64 text is an image or a document and counts as one.
 */
import type { Span } from './json-bytes.ts';

/** Adds up one body. */
export class InputEstimate {
  #textBytes: number;
  #mediaTokens = 0;

  /** @param bytes of the whole body */
  constructor(bytes: number) {
    this.#textBytes = bytes;
  }

  /** Takes a long text out of the count by bytes where it is no text. */
  readonly longText = (body: Buffer, [from, to]: Span): void => {
    const start = from + 1 + prefixLength(body, from + 1);
    const end = to - 1;
    if (!looksLikeBase64(body, start, end)) return;
    this.#textBytes -= end - start;
    this.#mediaTokens += Math.max(TOKENS_OF_AN_IMAGE, Math.ceil((end - start) / MEDIA_BYTES_A_TOKEN));
  };

  get tokens(): number {
    return Math.ceil(this.#textBytes / TEXT_BYTES_A_TOKEN) + this.#mediaTokens;
  }
}

/** Of `data:image/png;base64,`, or 0. */
function prefixLength(body: Buffer, from: number): number {
  const start = body.toString('latin1', from, from + MAX_PREFIX_BYTES);
  return DATA_URL.exec(start)?.[0].length ?? 0;
}

/** Looks at the beginning and at places all over it: a text of megabytes is not walked through. */
function looksLikeBase64(body: Buffer, from: number, to: number): boolean {
  const step = Math.max(WINDOW_BYTES, Math.floor((to - from) / WINDOWS));
  for (let at = from; at < to; at += step) {
    const bytes = body.toString('latin1', at, Math.min(to, at + (at === from ? HEAD_BYTES : WINDOW_BYTES)));
    if (!BASE64.test(bytes)) return false;
  }
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
const DATA_URL = /^data:[\w.+/-]+(?:;[\w=.-]+)*;base64,/;
/** Both alphabets, and the slash as some writers of JSON escape it. */
const BASE64 = /^(?:[A-Za-z0-9+/_=-]|\\\/)*\\?$/;

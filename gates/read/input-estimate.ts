/**
 * About how many tokens a body holds, from its bytes: what is reserved before a call, never what is charged. Text counts
 * by its bytes, on the high side, and so does any text that has no spaces. Only what stands where clients put an image
 * or a document, and is written like one, counts as one.
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
    const name = nameBefore(body, from);
    const prefix = prefixLength(body, from + 1);
    if (!(prefix > 0 ? URL_FIELDS : DATA_FIELDS).has(name)) return;
    const start = from + 1 + prefix;
    const end = to - 1;
    if (!looksLikeBase64(body, start, end)) return;
    this.#textBytes -= end - start;
    this.#mediaTokens += Math.max(TOKENS_OF_AN_IMAGE, Math.ceil((end - start) / MEDIA_BYTES_A_TOKEN));
  };

  get tokens(): number {
    return Math.ceil(this.#textBytes / TEXT_BYTES_A_TOKEN) + this.#mediaTokens;
  }
}

/** The name of the field whose value begins there; empty where it is no field, or far away. */
function nameBefore(body: Buffer, from: number): string {
  const before = body.toString('latin1', Math.max(0, from - MAX_NAME_BYTES), from);
  return NAME_BEFORE.exec(before)?.[1] ?? '';
}

/** Of `data:image/png;base64,`, or 0. */
function prefixLength(body: Buffer, from: number): number {
  const start = body.toString('latin1', from, from + MAX_PREFIX_BYTES);
  return DATA_URL.exec(start)?.[0].length ?? 0;
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
const MAX_NAME_BYTES = 48;
const HEAD_BYTES = 1024;
const WINDOW_BYTES = 64;
const WINDOWS = 64;
const DATA_URL = /^data:[\w.+/-]+(?:;[\w=.-]+)*;base64,/;
const NAME_BEFORE = /(?<!\\)"(\w{1,24})"\s{0,16}:\s{0,16}$/;
/** Where the dialects take bytes as they are. */
const DATA_FIELDS: ReadonlySet<string> = new Set([
  'data',
  'b64_json',
  'file_data',
  'inline_data',
  'inlineData',
]);
/** Where they take a URL, or bytes with their type before them. */
const URL_FIELDS: ReadonlySet<string> = new Set([
  ...DATA_FIELDS,
  'url',
  'image_url',
  'file_url',
  'audio_url',
  'video_url',
]);
/** Both alphabets, and the slash as some writers of JSON escape it. */
const BASE64 = new Uint8Array(256);
for (const byte of Buffer.from('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/_=-\\')) {
  BASE64[byte] = 1;
}

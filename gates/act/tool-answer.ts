/** Reads a tool's answer: JSON or text, with the secrets masked that it gives back, as JSON for the caller. */
import { HTTP_OUTCOMES, type HttpOutcome } from '../http-outcomes.ts';
import { isTooDeep } from '../json-depth.ts';
import { maskSecrets } from './mask.ts';
import { decodeAnswer } from './tool-decode.ts';
import { type Collected, MAX_ANSWER_BYTES } from './tool-exchange.ts';

/** What a tool said. */
interface ToolOutput {
  /** For a schema to judge. */
  readonly value: unknown;
  /** The same as it is given on: with every digit of its numbers. */
  readonly json: string;
}

export type ToolAnswer = { readonly output: ToolOutput } | ToolFailure;

export interface ToolFailure {
  readonly failure: HttpOutcome;
  /** What may be added to the outcome's text; nothing of the answer's. */
  readonly detail?: string;
  /** http.status: what the tool said, so that its caller can mend the input. */
  readonly status?: number;
  readonly output?: ToolOutput;
}

/** The answer's text for the caller. */
export function formToolAnswer(answer: ToolAnswer): string {
  if (!('failure' in answer)) return `{"ok":true,"output":${answer.output.json}}`;
  const { failure: code, detail, status, output } = answer;
  const message = detail ? `${HTTP_OUTCOMES[code]}: ${detail}` : HTTP_OUTCOMES[code];
  const error = JSON.stringify({ code, message, status }).slice(0, -1);
  return `{"ok":false,"error":${error}${output ? `,"output":${output.json}` : ''}}}`;
}

export async function readAnswer(collected: Collected, secrets: readonly Buffer[]): Promise<ToolAnswer> {
  const { status, contentType } = collected;
  const body = await plainBody(collected);
  const read = Buffer.isBuffer(body) ? readBody(contentType, maskSecrets(body, secrets)) : body;
  if (status < 400) return read;
  const said = 'output' in read && read.output ? { output: read.output } : {};
  return { failure: 'http.status', detail: `status ${status}`, status, ...said };
}

async function plainBody({ coding, body }: Collected): Promise<Buffer | ToolFailure> {
  if (coding === null || body.length === 0) return body;
  const plain = await decodeAnswer(body, coding, MAX_ANSWER_BYTES);
  if (plain === 'too_large') return { failure: 'http.too-large' };
  return plain === 'broken' ? { failure: 'http.invalid-response', detail: 'it cannot be decoded' } : plain;
}

function readBody(contentType: string, body: Buffer): ToolAnswer {
  if (body.length === 0) return { output: { value: null, json: 'null' } };
  const text = decode(body);
  if (text === null) return { failure: 'http.invalid-response', detail: 'it is not UTF-8' };
  if (JSON_TYPE.test(contentType)) return readJson(text);
  if (!TEXT_TYPE.test(contentType)) return { failure: 'http.invalid-response' };
  return { output: { value: text, json: JSON.stringify(text) } };
}

function readJson(text: string): ToolAnswer {
  if (isTooDeep(text)) return { failure: 'http.invalid-response', detail: 'it is nested too deep' };
  try {
    const value: unknown = JSON.parse(text);
    // Written anew, so that what was judged is what is given on: a name that stands there twice is there once.
    return { output: { value, json: JSON.stringify(LONG_NUMBER.test(text) ? parseExactly(text) : value) } };
  } catch {
    return { failure: 'http.invalid-response', detail: 'it says it is JSON and is not' };
  }
}

/** Numbers that would change as numbers of ours, such as long ids, stay as they are written. */
function parseExactly(text: string): unknown {
  return JSON.parse(text, (_name, value: unknown, context?: { source?: string }) => {
    const source = context?.source;
    return typeof value === 'number' && source !== undefined && String(value) !== source
      ? raw(source)
      : value;
  });
}

/** ECMAScript's `JSON.rawJSON`, which the compiler does not know yet. */
const raw = (JSON as unknown as { rawJSON(source: string): unknown }).rawJSON;

function decode(bytes: Buffer): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}

const JSON_TYPE = /^application\/(?:[a-z0-9.+-]+\+)?json(?:\s*;|$)/;
const TEXT_TYPE = /^(?:text\/|application\/(?:[a-z0-9.+-]+\+)?xml(?:\s*;|$))/;
/** More digits than a number of ours keeps, or more range. */
const LONG_NUMBER = /\d{16}|\d[.\d]*[eE]|\.\d{16}/;

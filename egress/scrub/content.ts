/**
 * What a body is, by the headers of its answer: text that may be masked, coded text that may be read, or neither.
 * A coding that nobody knows hides no text from those who do not look at it, so it is looked at as it is.
 */

import type { Coding } from '../../core-lite/decoders.ts';
import { type HeaderLine, headerValues } from '../http1/head.ts';

export type Content = 'text' | Coding | 'other';

export function contentOf(status: number, headers: readonly HeaderLine[]): Content {
  const types = headerValues(headers, 'content-type');
  if (types.length > 0 && !types.some(isText)) return 'other';
  const codings = headerValues(headers, 'content-encoding')
    .flatMap((value) => value.toLowerCase().split(','))
    .flatMap((name) => CODINGS[name.trim()] ?? []);
  const [coding] = codings;
  // A range begins in the middle of what was coded as a whole. What cannot be decoded may still be no such coding.
  return coding === undefined || codings.length > 1 || status === 206 ? 'text' : coding;
}

/** Whether it comes piece by piece as things happen, so that none may wait for the next. */
export function isStreamed(headers: readonly HeaderLine[]): boolean {
  return headerValues(headers, 'content-type').some((value) => STREAMED.test(typeOf(value) ?? ''));
}

/** A type that cannot be read is nobody's promise that the body is no text. */
function isText(value: string): boolean {
  const type = typeOf(value);
  return type === undefined || TEXT.test(type);
}

function typeOf(value: string): string | undefined {
  return /^\s*([^\s;,]+\/[^\s;,]+)/.exec(value.toLowerCase())?.[1];
}

const STREAMED =
  /^(?:text\/event-stream|application\/(?:json-seq|jsonl|jsonlines|x-jsonlines|ndjson|x-ndjson|stream\+json)|multipart\/(?:mixed|x-mixed-replace))$/;

const TEXT =
  /^(?:text\/.+|multipart\/.+|message\/.+|.+\+(?:json|xml|yaml)|application\/(?:json|json-seq|jsonl|jsonlines|x-jsonlines|ndjson|x-ndjson|xml|yaml|x-yaml|toml|javascript|x-javascript|ecmascript|graphql|sql|x-www-form-urlencoded))$/;
const CODINGS: Readonly<Record<string, Coding>> = {
  gzip: 'gzip',
  'x-gzip': 'gzip',
  deflate: 'deflate',
  br: 'br',
  zstd: 'zstd',
};

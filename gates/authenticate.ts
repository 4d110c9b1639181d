/**
 * Stage 2: who asks. The run token comes where each client puts its key, in some at two places at once. It is read from
 * the raw headers: Node keeps only the first of some doubled ones, and two different credentials are one too many.
 */
import { queryKeys } from './read/query.ts';
import type { RefusalReason } from './reasons.ts';

/** The token's text, or why there is none to be read without guessing. @param query begins with its `?` */
export function readToken(
  rawHeaders: readonly string[],
  query = '',
): { readonly text: string } | RefusalReason {
  const texts: (string | undefined)[] = [];
  for (const { name, pattern } of TOKEN_HEADERS) {
    const values = rawHeaders.filter((_, i) => i % 2 === 1 && rawHeaders[i - 1]?.toLowerCase() === name);
    if (values.length > 1) return 'request_malformed';
    if (values[0] !== undefined) texts.push(pattern.exec(values[0])?.[1]);
  }
  if (query.length > 1) texts.push(...queryKeys(query).map((value) => KEY.exec(value)?.[1]));
  const [text] = texts;
  if (texts.length === 0) return 'token_missing';
  if (text === undefined || texts.includes(undefined)) return 'token_malformed';
  return texts.every((each) => each === text) ? { text } : 'request_malformed';
}

const KEY = /^([A-Za-z0-9._~+/-]{1,8192}=*)$/;
/** RFC 6750 2.1: a scheme in any case, one b64token and nothing behind it. */
const BEARER = /^bearer +([A-Za-z0-9._~+/-]{1,8192}=*)$/i;
const TOKEN_HEADERS: readonly { readonly name: string; readonly pattern: RegExp }[] = [
  { name: 'authorization', pattern: BEARER },
  { name: 'x-api-key', pattern: KEY },
  { name: 'x-goog-api-key', pattern: KEY },
];

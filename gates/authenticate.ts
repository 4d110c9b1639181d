/**
 * Stage 2: who asks. The run token comes where each client puts its key. It is read from the raw headers: Node keeps
 * only the first of some doubled ones, and two credentials are one too many.
 */
import type { RefusalReason } from './reasons.ts';

/** Headers that may hold the run token, the first one that is there counts. */
const TOKEN_HEADERS = ['authorization', 'x-api-key', 'x-goog-api-key'] as const;

/** The token's text, or why there is none to be read without guessing. */
export function readToken(rawHeaders: readonly string[]): { readonly text: string } | RefusalReason {
  for (const name of TOKEN_HEADERS) {
    const values = rawHeaders.filter((_, i) => i % 2 === 1 && rawHeaders[i - 1]?.toLowerCase() === name);
    if (values.length > 1) return 'request_malformed';
    if (values[0] === undefined) continue;
    const text = name === 'authorization' ? BEARER.exec(values[0])?.[1] : KEY.exec(values[0])?.[0];
    return text === undefined ? 'token_malformed' : { text };
  }
  return 'token_missing';
}

/** RFC 6750 2.1: a scheme in any case, one b64token and nothing behind it. */
const BEARER = /^bearer +([A-Za-z0-9._~+/-]{1,8192}=*)$/i;
const KEY = /^[A-Za-z0-9._~+/-]{1,8192}=*$/;

/**
 * The error event that ends a stream which was answered in part: a clean end would look like a whole answer. Each dialect
 * has the shape that its SDKs throw on.
 */
import type { Dialect } from '../core-lite/state/dialect.ts';
import { formatError } from './answer.ts';

/** Why a stream ends early, as far as its caller is told. */
export type StreamError = keyof typeof TEXTS;

export function isStreamError(reason: string | null): reason is StreamError {
  return reason !== null && Object.hasOwn(TEXTS, reason);
}

/** Whole, with the empty line that ends it. */
export function formatErrorEvent(dialect: Dialect, reason: StreamError): string {
  const text = TEXTS[reason];
  switch (dialect) {
    case 'openai':
    case 'embeddings':
      return `data: ${formatError('openai', reason, 500, text)}\n\n`;
    case 'responses':
      return `event: error\ndata: ${formatResponsesError(reason, text)}\n\n`;
    case 'anthropic':
      return `event: error\ndata: ${formatError('anthropic', reason, 500, text)}\n\n`;
    case 'gemini':
      return `data: ${formatError('gemini', reason, 500, text)}\n\n`;
    default:
      return dialect satisfies never;
  }
}

/** OpenAI documents the flat fields; its SDK throws on `error` alone. */
function formatResponsesError(code: StreamError, message: string): string {
  const fields = { code, message, param: null };
  return JSON.stringify({
    type: 'error',
    ...fields,
    sequence_number: 0,
    error: { type: 'server_error', ...fields },
  });
}

const TEXTS = {
  provider_died: 'the provider broke off in the middle of its answer; ask again',
  provider_timeout: 'the provider said nothing for too long; ask again',
  run_stale: 'the run is over: its turn ended or was cancelled, or a newer lease took it over; stop',
  token_untrusted: 'the key that signed the run token was revoked; get a fresh one',
  facts_unavailable: 'the state of the run could not be read any more; ask again',
  shutting_down: 'the gate is shutting down; ask again',
} as const;

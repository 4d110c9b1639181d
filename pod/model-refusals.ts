/**
 * What the relay itself refuses on the way to the gates, in the shape of the dialect that was spoken, as the gates
 * refuse: the word stands in the body and in `Sallyport-Reason`. No token and no secret ever stands in one.
 */
import type { ServerResponse } from 'node:http';

/** Why the relay did not hand a call on. */
export const MODEL_REFUSALS = {
  host_unknown: {
    status: 421,
    type: 'invalid_request_error',
    google: 'INVALID_ARGUMENT',
    text: 'the relay answers to its own address only',
    remedy: 'use the base URL as the run has it',
  },
  browser_refused: {
    status: 403,
    type: 'permission_error',
    google: 'PERMISSION_DENIED',
    text: 'the relay does not serve browsers',
    remedy: 'call it from a program of the run',
  },
  secret_wrong: {
    status: 401,
    type: 'authentication_error',
    google: 'UNAUTHENTICATED',
    text: 'the relay asks for the secret of the run',
    remedy: 'use OPENAI_API_KEY, ANTHROPIC_API_KEY or GEMINI_API_KEY as the run has it',
  },
  gates_unreachable: {
    status: 502,
    type: 'api_error',
    google: 'INTERNAL',
    text: 'the gates cannot be reached from the relay',
    remedy: 'look whether they run',
  },
} as const;

export type ModelRefusal = keyof typeof MODEL_REFUSALS;

/** @param target what was asked for, as it is written in the request */
export function sendModelRefusal(response: ServerResponse, why: ModelRefusal, target: string): void {
  const { status } = MODEL_REFUSALS[why];
  const body = JSON.stringify(formatRefusal(why, target));
  response.writeHead(status, {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(body),
    'Sallyport-Reason': why,
    // SDKs send an error again that a second try may mend.
    ...(status < 500 ? { 'x-should-retry': 'false' } : {}),
  });
  response.end(body);
}

function formatRefusal(why: ModelRefusal, target: string): object {
  const { status, type, google, text, remedy } = MODEL_REFUSALS[why];
  const message = `${text}; ${remedy}`;
  if (GEMINI.test(target)) {
    const details = [{ '@type': ERROR_INFO, reason: why, domain: 'sallyport' }];
    return { error: { code: status, message, status: google, details } };
  }
  if (ANTHROPIC.test(target)) return { type: 'error', error: { type, message, code: why } };
  const openai = status < 500 ? 'invalid_request_error' : 'server_error';
  if (OPENAI.test(target)) return { error: { message, type: openai, param: null, code: why } };
  // Where the path does not tell, in a shape that both of the others read.
  return { type: 'error', error: { message, type, param: null, code: why } };
}

const GEMINI = /^\/v1(?:alpha|beta)\//;
const ANTHROPIC = /^(?:\/v1)?\/messages(?:[/?]|$)/;
const OPENAI = /^(?:\/v1)?\/(?:chat\/completions|responses|embeddings|models)(?:[/?]|$)/;
const ERROR_INFO = 'type.googleapis.com/google.rpc.ErrorInfo';

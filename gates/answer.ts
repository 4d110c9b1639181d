/**
 * How a refusal looks: in the shape of the dialect that was spoken, so that SDKs read it, with our word in it. Where a
 * re-send cannot mend anything it says so, since SDKs send a 409 and every 5xx again by themselves.
 */
import type { ServerResponse } from 'node:http';
import type { Family } from '../core-lite/state/dialect.ts';
import { REFUSALS, type RefusalReason } from './reasons.ts';

/** In which shape a route answers: a model dialect's, that of MCP, or the product's own. */
export type Surface = Family | 'mcp' | 'own';

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** What a refusal can say beside its reason. */
export interface RefusalDetail {
  /** One line without a full stop, safe to show: which, how much, until when. */
  readonly text: string;
  /** What to do about this one, in place of what mends most. */
  readonly remedy?: string;
  /** After how many seconds the same call may fare better. */
  readonly retryAfterSeconds?: number;
}

export interface RefusalOptions {
  readonly userAgent?: string | undefined;
  readonly detail?: RefusalDetail | undefined;
}

export function formatRefusal(
  surface: Surface,
  reason: RefusalReason,
  { userAgent = '', detail }: RefusalOptions = {},
): Answer {
  const { status, text, remedy, again } = REFUSALS[reason];
  const advice = detail?.remedy ?? (detail && SAY_ENOUGH.has(reason) ? '' : remedy);
  const message = `${text}${detail ? `: ${detail.text}` : ''}${advice ? `; ${advice}` : ''}`;
  // In MCP a status is part of the protocol, and no client of it sends a refused message again.
  const shown = again || surface === 'mcp' ? status : finalStatus(reason, status, userAgent);
  const seconds = detail?.retryAfterSeconds ?? RETRY_AFTER[reason];
  return {
    status: shown,
    headers: {
      'content-type': 'application/json',
      'sallyport-reason': reason,
      ...(again ? {} : { 'x-should-retry': 'false' }),
      ...(seconds === undefined ? {} : { 'retry-after': String(Math.max(1, Math.ceil(seconds))) }),
      ...(shown === 401 ? { 'www-authenticate': CHALLENGE } : {}),
    },
    body: formatError(surface, reason, shown, message),
  };
}

/** The status of a refusal that no re-send can mend, for clients that know no `x-should-retry`. */
function finalStatus(reason: RefusalReason, status: number, userAgent: string): number {
  const deaf = DEAF_CLIENTS.find(({ agent }) => agent.test(userAgent));
  return deaf?.resends(status, reason) ? 400 : status;
}

/** Sends a whole answer on a response whose head is still to come. */
export function send(response: ServerResponse, { status, headers, body }: Answer): void {
  if (response.destroyed || response.headersSent) return;
  response.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(body) });
  response.end(body);
}

/** The body of an error in the shape of `surface`. */
export function formatError(surface: Surface, code: string, status: number, message: string): string {
  switch (surface) {
    case 'anthropic':
      return JSON.stringify({ type: 'error', error: { type: anthropicType(status), message, code } });
    case 'openai':
      return JSON.stringify({ error: { message, type: openaiType(status), param: null, code } });
    case 'gemini':
      return JSON.stringify({
        error: { code: status, message, status: geminiStatus(status), details: [geminiInfo(code)] },
      });
    case 'mcp':
      return JSON.stringify({
        jsonrpc: '2.0',
        id: null,
        error: { code: status, message, data: { reason: code } },
      });
    case 'own':
      return JSON.stringify({ error: { code, message } });
    default:
      return surface satisfies never;
  }
}

function anthropicType(status: number): string {
  return ANTHROPIC_TYPES[status] ?? (status < 500 ? 'invalid_request_error' : 'api_error');
}

/** As google.rpc.ErrorInfo is written in JSON: the place for a word of one's own. */
function geminiInfo(reason: string): object {
  return { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason, domain: 'sallyport' };
}

/** The names of google.rpc.Code. */
function geminiStatus(status: number): string {
  return GEMINI_STATUSES[status] ?? (status < 500 ? 'INVALID_ARGUMENT' : 'INTERNAL');
}

function openaiType(status: number): string {
  return status < 500 ? 'invalid_request_error' : 'server_error';
}

/** Whose detail says what is wrong, each with a remedy of its own: none fits all. */
const SAY_ENOUGH: ReadonlySet<RefusalReason> = new Set([
  'request_malformed',
  'body_malformed',
  'body_too_large',
]);
const ANTHROPIC_TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  504: 'timeout_error',
};
const GEMINI_STATUSES: Readonly<Record<number, string>> = {
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  409: 'ABORTED',
  429: 'RESOURCE_EXHAUSTED',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
};

interface DeafClient {
  readonly agent: RegExp;
  readonly resends: (status: number, reason: RefusalReason) => boolean;
}

const DEAF_CLIENTS: readonly DeafClient[] = [
  // Sends everything but a 400 again, up to thirty times. On an expired token it asks its token command for a new one.
  { agent: /\bcodex/i, resends: (_status, reason) => reason !== 'token_expired' },
  // Takes a 404 for a server that has no streams, and asks again without one.
  { agent: /^claude-cli\//, resends: (status) => status === 404 },
  { agent: /\bai-sdk[-/]/, resends: (status) => status === 409 || status === 429 || status >= 500 },
];
/** Where nobody can tell it better, seconds. */
const RETRY_AFTER: Partial<Record<RefusalReason, number>> = { gate_busy: 1 };
/** RFC 6750 section 3. */
const CHALLENGE = 'Bearer realm="sallyport-gates"';

/** Stage 6 of a model call: sends it to its provider with the vault's credential, and passes the answer on. */
import type { ServerResponse } from 'node:http';
import type { UpstreamUrl } from '../../core-lite/network/upstream-url.ts';
import type { Dialect } from '../../core-lite/state/dialect.ts';
import type { ModelFacts } from '../../core-lite/state/model.ts';
import type { RefusalDetail } from '../answer.ts';
import type { Call } from '../calls.ts';
import type { Candidate } from '../decide/model-call.ts';
import type { Metered } from '../meter.ts';
import { quoteName } from '../quote-name.ts';
import type { RefusalReason, StopReason } from '../reasons.ts';
import { type ModelEnding, NO_TOKENS } from '../record.ts';
import { headerNames, type PutOn, putOn } from './credential.ts';
import { FirstLook, type PassedOver } from './first-look.ts';
import { type RawHeaders, requestHeaders } from './headers.ts';
import { providerPath } from './provider-path.ts';
import { AnswerRelay, type RelayEnd } from './relay-answer.ts';
import type { Unreachable, Upstreams } from './upstream.ts';
import type { ModelBytes } from './write-body.ts';

export interface ModelRequest {
  readonly dialect: Dialect;
  /** The caller's own, with everything that must not pass. */
  readonly headers: RawHeaders;
  /** The caller's token. */
  readonly token: string;
  /** What stands behind the dialect's own path, as `/count_tokens`; empty for none. */
  readonly operation: string;
  /** Begins with its `?`; empty where there is none. */
  readonly query: string;
  /** The body as this model's provider gets it. @param more whether it may be written for another one */
  readonly write: (model: ModelFacts, more: boolean) => ModelBytes;
  /** How long a stream may be silent. */
  readonly streamIdleMs: number;
}

/** What a call is made with. */
export interface Means {
  readonly upstreams: Upstreams;
  readonly call: Call;
  readonly request: ModelRequest;
  readonly response: ServerResponse;
}

/** Why nothing of an answer went out: the caller is still to be told. */
export interface Unanswered {
  readonly refusal: RefusalReason;
  readonly detail?: RefusalDetail | undefined;
}

/**
 * Calls one candidate.
 * @param more whether another one is left, so that this one may be passed over
 */
export async function callModel(
  candidate: Candidate,
  more: boolean,
  means: Means,
): Promise<ModelEnding | Unanswered | PassedOver> {
  const { proof, url, service, credential, model } = candidate;
  const { upstreams, call, request } = means;
  const pool = await upstreams.reach(proof, url, credential, call.signal).catch((error: unknown) => {
    if (call.stopped) return null;
    throw error;
  });
  if (pool === null) return unsent(call.stopped);
  if (typeof pool === 'string')
    return more ? { passedOver: pool, retryAfter: '' } : explainUnreachable(pool, url);
  const credentials = putOn(proof, credential, service.key);
  const bytes = request.write(model, more);
  const relay = openRelay(means, credentials, bytes);
  const look = more ? new FirstLook(relay) : null;
  const handler = look ?? relay;
  const headers = [...passedHeaders(request, credentials, bytes), ...credentials.headers];
  const { operation, query } = request;
  const path = providerPath(url, service, { model: model.upstreamName, operation, query });
  try {
    // After the caller's bytes are read, nothing between here and the provider waits.
    call.sent ||= !call.stopped;
    if (!call.stopped) pool.dispatch({ path, method: 'POST', headers, body: bytes.body }, handler);
  } catch (error) {
    handler.refuse(error);
  }
  const end = await relay.ended;
  if (end.fault) throw end.fault.error;
  return look?.passed ?? conclude(end, relay, means);
}

/** Names the host, and what an operator would write to open a network for it. */
function explainUnreachable(refusal: Unreachable, { target: { host } }: UpstreamUrl): Unanswered {
  const text = quoteName(host);
  if (refusal === 'resolve_failed') return { refusal, detail: { text } };
  const https = refusal === 'plaintext_refused' ? 'use https, or ' : '';
  const entry = `${host}=CIDR, as in ${host}=10.0.0.0/8`;
  const remedy = `${https}have an operator open its network: SALLYPORT_OPEN_NETWORKS with ${entry}`;
  return { refusal, detail: { text, remedy } };
}

function openRelay(
  { call, request, response }: Means,
  { secrets }: PutOn,
  { hidesUsage }: ModelBytes,
): AnswerRelay {
  return new AnswerRelay({
    response,
    dialect: request.dialect,
    session: call.token.claims.sub,
    secrets,
    hidesUsage,
    signal: call.signal,
    stopped: () => call.stopped,
    wholeLimitMs: WHOLE_LIMIT_MS,
    idleLimitMs: request.streamIdleMs,
    now: Date.now,
  });
}

/** The caller's headers, without those that do not hold any more. */
function passedHeaders(
  { headers, token }: ModelRequest,
  credentials: PutOn,
  { plain, hidesUsage }: ModelBytes,
): string[] {
  const dropped = headerNames(credentials);
  if (plain) dropped.push('content-encoding');
  // What is compressed has no event that could be left out.
  if (hidesUsage) dropped.push('accept-encoding');
  return requestHeaders(headers, token, dropped);
}

async function conclude(
  end: RelayEnd,
  relay: AnswerRelay,
  { call, request: { dialect } }: Means,
): Promise<ModelEnding | Unanswered> {
  const { failure, status, meter } = end;
  if (failure !== null && status === null) return concludeUnanswered(failure, end.redirectHost);
  // Only an answer that may have been cut off waits for what the meter says of its end.
  if (failure === null && end.framed) relay.complete();
  const firstByteMs = end.firstByteAt === null ? null : end.firstByteAt - call.at.getTime();
  const metered = await meter?.read();
  const told = {
    status,
    tokens: metered?.tokens ?? NO_TOKENS,
    firstByteMs,
    ...describePassed(metered, false),
  };
  const cut = { ...told, ...describePassed(metered, true) };
  if (failure !== null) {
    const outcome = failure in STREAM_ENDS ? (failure as keyof typeof STREAM_ENDS) : 'provider_died';
    return { outcome, ...cut };
  }
  if (isCut(end, metered)) {
    relay.cutShort();
    return { outcome: 'provider_died', ...cut };
  }
  if (!end.framed) relay.complete();
  const failed = (status ?? 0) >= 400 || metered?.failed === true;
  if (failed) return { outcome: 'provider_error', ...told, ...describeFailed(metered, status) };
  // Some servers of the other dialects leave their last event out; there, what was told is the whole, if all was read.
  return { outcome: 'completed', ...(dialect === 'anthropic' || metered?.unread ? cut : told) };
}

function describePassed(metered: Metered | undefined, mayBeCut: boolean): Pick<ModelEnding, 'passed'> {
  if (!metered) return {};
  const { passedTokens, outputTold, finished, unread, tokens } = metered;
  // Of an answer of which nothing was read nobody knows how much of it there was.
  const untold = unread && tokens.output === null;
  return { passed: { tokens: passedTokens, outputTold, cut: mayBeCut && !finished && !untold } };
}

function describeFailed(
  metered: Metered | undefined,
  status: number | null,
): Pick<ModelEnding, 'passed' | 'unbegun'> {
  if (status === null || status < 400) {
    return metered?.begun === false ? { unbegun: true } : describePassed(metered, true);
  }
  // Some give back what the model wrote where that was not as it should be.
  if (!metered?.wordsInError) return { unbegun: true };
  return { passed: { tokens: metered.passedTokens, outputTold: false, cut: true, whole: true } };
}

function concludeUnanswered(
  failure: NonNullable<RelayEnd['failure']>,
  redirectHost: string | null,
): ModelEnding | Unanswered {
  if (failure === 'provider_died') return { refusal: 'provider_failed' };
  if (redirectHost === null) return unsent(failure);
  return { refusal: 'redirect_refused', detail: { text: `it leads to the host ${quoteName(redirectHost)}` } };
}

/** The end of a call of which nothing went out. */
function unsent(reason: RefusalReason | StopReason | null): ModelEnding | Unanswered {
  if (reason !== null && reason !== 'client_left') return { refusal: reason };
  return { outcome: 'client_left', status: null, tokens: NO_TOKENS, firstByteMs: null };
}

/** A stream whose end only its connection told, without the dialect's last event: it was cut off. */
function isCut(end: RelayEnd, metered: Metered | undefined): boolean {
  return !end.framed && metered?.finished === false && !metered.failed;
}

/** The design's figure for a whole call that is no stream. */
const WHOLE_LIMIT_MS = 600_000;
const STREAM_ENDS = {
  client_left: true,
  run_stale: true,
  token_untrusted: true,
  facts_unavailable: true,
  provider_timeout: true,
  shutting_down: true,
} as const;

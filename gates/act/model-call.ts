/** Stage 6 of a model call: sends it to its provider with the vault's credential, and passes the answer on. */
import type { ServerResponse } from 'node:http';
import type { Allow } from '../../core-lite/decision.ts';
import type { UpstreamUrl } from '../../core-lite/network/upstream-url.ts';
import type { Service } from '../../core-lite/providers/provider.ts';
import type { Dialect } from '../../core-lite/state/dialect.ts';
import type { GateCredential } from '../../core-lite/vault/gate-credentials.ts';
import type { Call } from '../calls.ts';
import type { Metered } from '../meter.ts';
import type { RefusalReason, StopReason } from '../reasons.ts';
import { type ModelEnding, NO_TOKENS } from '../record.ts';
import { headerNames, type PutOn, putOn } from './credential.ts';
import { type RawHeaders, requestHeaders } from './headers.ts';
import { providerPath } from './provider-path.ts';
import { AnswerRelay, type RelayEnd } from './relay-answer.ts';
import type { Upstreams } from './upstream.ts';

export interface ModelRequest {
  readonly dialect: Dialect;
  readonly url: UpstreamUrl;
  readonly service: Service;
  /** The provider's name for the model. */
  readonly upstreamName: string;
  readonly credential: GateCredential | null;
  /** The caller's own, with everything that must not pass. */
  readonly headers: RawHeaders;
  /** The caller's token. */
  readonly token: string;
  /** What stands behind the dialect's own path, as `/count_tokens`; empty for none. */
  readonly operation: string;
  /** Begins with its `?`; empty where there is none. */
  readonly query: string;
  readonly body: Buffer;
  /** How long a stream may be silent. */
  readonly streamIdleMs: number;
  /** The body was written anew from a compressed one. */
  readonly plain: boolean;
  /** Whether the body was made to ask for the usage, which its caller does not. */
  readonly hidesUsage: boolean;
}

/** Why nothing of an answer went out: the caller is still to be told. */
export interface Unanswered {
  readonly refusal: RefusalReason;
}

/** @param proof that the call was allowed; without it nothing leaves */
export async function callModel(
  proof: Allow<string>,
  upstreams: Upstreams,
  call: Call,
  request: ModelRequest,
  response: ServerResponse,
): Promise<ModelEnding | Unanswered> {
  const { dialect, url, service, credential } = request;
  const pool = await upstreams.reach(proof, url, credential, call.signal).catch((error: unknown) => {
    if (call.stopped) return null;
    throw error;
  });
  if (pool === null) return unsent(call.stopped);
  if (typeof pool === 'string') return { refusal: pool };
  const credentials = putOn(proof, credential, service.key);
  const relay = new AnswerRelay({
    response,
    dialect,
    secrets: credentials.secrets,
    hidesUsage: request.hidesUsage,
    signal: call.signal,
    stopped: () => call.stopped,
    wholeLimitMs: WHOLE_LIMIT_MS,
    idleLimitMs: request.streamIdleMs,
    now: Date.now,
  });
  const headers = [...passedHeaders(request, credentials), ...credentials.headers];
  const { upstreamName: model, operation, query } = request;
  const path = providerPath(url, service, { model, operation, query });
  try {
    // After the caller's bytes are read, nothing between here and the provider waits.
    if (!call.stopped) pool.dispatch({ path, method: 'POST', headers, body: request.body }, relay);
  } catch (error) {
    relay.refuse(error);
  }
  return conclude(await relay.ended, relay, call);
}

/** The caller's headers, without those that do not hold any more. */
function passedHeaders({ headers, token, plain, hidesUsage }: ModelRequest, credentials: PutOn): string[] {
  const dropped = headerNames(credentials);
  if (plain) dropped.push('content-encoding');
  // What is compressed has no event that could be left out.
  if (hidesUsage) dropped.push('accept-encoding');
  return requestHeaders(headers, token, dropped);
}

async function conclude(end: RelayEnd, relay: AnswerRelay, call: Call): Promise<ModelEnding | Unanswered> {
  const { failure, status, meter } = end;
  if (failure !== null && status === null) {
    return failure === 'provider_died' ? { refusal: 'provider_failed' } : unsent(failure);
  }
  // Only an answer that may have been cut off waits for what the meter says of its end.
  if (failure === null && end.framed) relay.complete();
  const firstByteMs = end.firstByteAt === null ? null : end.firstByteAt - call.at.getTime();
  const metered = await meter?.read();
  const tokens = metered?.tokens ?? NO_TOKENS;
  if (failure !== null) {
    const outcome = failure in STREAM_ENDS ? (failure as keyof typeof STREAM_ENDS) : 'provider_died';
    return { outcome, status, tokens, firstByteMs };
  }
  if (isCut(end, metered)) {
    relay.cutShort();
    return { outcome: 'provider_died', status, tokens, firstByteMs };
  }
  if (!end.framed) relay.complete();
  const failed = (status ?? 0) >= 400 || metered?.failed === true;
  return { outcome: failed ? 'provider_error' : 'completed', status, tokens, firstByteMs };
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

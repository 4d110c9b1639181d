/**
 * The way of a model call, the only file that knows all its stages: facts, decide, start, act, record. It comes here
 * listened to and authenticated. Each refusal is a value that ends the way; a fault never lets anything through.
 */
import type { ServerResponse } from 'node:http';
import { Allow } from '../core-lite/decision.ts';
import { parseUpstreamUrl, type UpstreamUrl } from '../core-lite/network/upstream-url.ts';
import { findProvider, findService } from '../core-lite/providers/catalogue.ts';
import { FAMILIES } from '../core-lite/state/dialect.ts';
import type { ModelFacts } from '../core-lite/state/model.ts';
import { decideRunStaleness, type SessionFacts } from '../core-lite/state/session.ts';
import type { GateCredential } from '../core-lite/vault/gate-credentials.ts';
import { answerEcho } from './act/answer-echo.ts';
import type { RawHeaders } from './act/headers.ts';
import { callModel, type Unanswered } from './act/model-call.ts';
import { formatRefusal, send } from './answer.ts';
import type { Call, RunToken } from './calls.ts';
import { decideModelCall } from './decide/model-call.ts';
import type { Operation } from './dialects/operations.ts';
import type { Gate } from './gate.ts';
import { readBody } from './read/body.ts';
import { applyEdits, type Edit } from './read/edit.ts';
import { type ModelBody, makeNameEdit, readModelBody } from './read/model-call.ts';
import type { RefusalReason } from './reasons.ts';
import { type ModelCallNames, type ModelEnding, NO_TOKENS } from './record.ts';
import { startCall } from './start.ts';

/** A model call that was read off its connection and authenticated. */
export interface ModelArrival {
  readonly operation: Operation;
  /** The model that the path names; `null` where the body does. */
  readonly pathModel: string | null;
  readonly token: RunToken;
  /** The token as it came. */
  readonly tokenText: string;
  readonly source: string;
  readonly headers: RawHeaders;
  readonly userAgent: string;
  readonly encoding: string;
  /** As it may go on; begins with its `?`, empty where there is none. */
  readonly query: string;
  readonly body: Buffer;
  readonly maxBytes: number;
}

/** Serves one call. Never rejects. */
export async function handleModelCall(
  gate: Gate,
  arrival: ModelArrival,
  response: ServerResponse,
): Promise<void> {
  const call = gate.calls.begin(arrival.token, gate.now(), response);
  try {
    const refusal = await serve(gate, arrival, call, response);
    if (refusal) gate.record.refusal(refusal, arrival.source);
    if (refusal) refuse(arrival, response, refusal);
  } catch (error) {
    gate.record.failure(error);
    refuse(arrival, response, 'internal');
  } finally {
    gate.calls.end(call);
  }
}

/** @returns why there is no row for it */
async function serve(
  gate: Gate,
  arrival: ModelArrival,
  call: Call,
  response: ServerResponse,
): Promise<RefusalReason | null> {
  const session = await gate.facts.session(call.token.claims.sub).catch(() => undefined);
  if (session === undefined) return 'facts_unavailable';
  // What was minted here names a session that is there, if only as an ended one.
  if (!session) return 'token_untrusted';
  if (decideRunStaleness(call.token.claims, session)) return 'run_stale';
  const plain = await readBody(arrival.body, arrival.encoding, arrival.maxBytes);
  if (typeof plain === 'string') return plain;
  const read = readModelBody(plain, arrival.operation, arrival.pathModel);
  if (typeof read === 'string') return read;
  const facts = await loadFacts(gate, read.model).catch((error: unknown) => gate.record.failure(error));
  if (!facts) return 'facts_unavailable';
  const names = nameCall(arrival, read, facts.model);
  const ending = await decideAndAct(gate, { arrival, call, session, plain, read, facts }, response);
  gate.record.modelCall(call, names, 'refusal' in ending ? refused(arrival, response, ending) : ending);
  return null;
}

interface Way {
  readonly arrival: ModelArrival;
  readonly call: Call;
  readonly session: SessionFacts;
  readonly plain: Buffer;
  readonly read: ModelBody;
  readonly facts: ModelWay;
}

async function decideAndAct(
  gate: Gate,
  way: Way,
  response: ServerResponse,
): Promise<ModelEnding | Unanswered> {
  const { arrival, call, session, plain, read, facts } = way;
  const { operation, headers, tokenText, query, body, encoding } = arrival;
  const { dialect } = operation;
  const { model, url, credential } = facts;
  const decision = decideModelCall({ name: read.model, dialect, session, model, url, credential });
  if (!(decision instanceof Allow)) return { refusal: decision.reason };
  const unstarted = await startCall(gate.facts, call);
  if (unstarted === 'client_left') return LEFT;
  if (unstarted) return { refusal: unstarted };
  const service = model && findService(model.provider, dialect);
  if (!model || !url || !service)
    return answerEcho(decision, { call, dialect, body: plain, streamed: read.streamed }, response);
  const edits = makeEdits(read, model);
  // What is not edited goes on as it came, compressed too.
  const same = edits.length === 0;
  const { streamIdleMs } = gate;
  const { upstreamName } = model;
  const target = { dialect, url, service, upstreamName, credential, operation: operation.suffix, query };
  const request = { ...target, headers, token: tokenText, streamIdleMs };
  return callModel(
    decision,
    gate.upstreams,
    call,
    {
      ...request,
      body: same ? body : applyEdits(plain, edits),
      plain: !same && encoding !== '',
      hidesUsage: read.usageEdit !== null && edits.includes(read.usageEdit),
    },
    response,
  );
}

/** What of a body is not the provider's to read as it came. */
function makeEdits(read: ModelBody, { upstreamName, provider }: ModelFacts): Edit[] {
  const asks = findProvider(provider)?.streamUsage === 'on_request';
  return [makeNameEdit(read, upstreamName), asks ? read.usageEdit : null].filter((edit) => edit !== null);
}

/** What is known of the model that was asked for. */
interface ModelWay {
  readonly model: ModelFacts | null;
  readonly url: UpstreamUrl | null;
  readonly credential: GateCredential | null;
}

async function loadFacts(gate: Gate, name: string): Promise<ModelWay> {
  const model = await gate.facts.model(name);
  const url = model?.baseUrl ? parseUpstreamUrl(model.baseUrl) : null;
  const credential = model?.credentialId ? await gate.credentials.read(model.credentialId) : null;
  return { model, url: typeof url === 'string' ? null : url, credential };
}

function nameCall(
  { operation: { dialect } }: ModelArrival,
  read: ModelBody,
  model: ModelFacts | null,
): ModelCallNames {
  // A name that nobody declared is the caller's text: it is kept short.
  const name = read.model.slice(0, MAX_NAME_CHARS);
  const { upstreamName = name, provider = null } = model ?? {};
  return { model: name, upstreamName, provider, dialect, streamed: read.streamed };
}

function refused(arrival: ModelArrival, response: ServerResponse, { refusal }: Unanswered): ModelEnding {
  const status = refuse(arrival, response, refusal);
  return { outcome: refusal, status, tokens: NO_TOKENS, firstByteMs: null };
}

function refuse(
  { operation, userAgent }: ModelArrival,
  response: ServerResponse,
  reason: RefusalReason,
): number {
  const answer = formatRefusal(FAMILIES[operation.dialect], reason, { userAgent });
  send(response, answer);
  return answer.status;
}

const LEFT: ModelEnding = { outcome: 'client_left', status: null, tokens: NO_TOKENS, firstByteMs: null };
const MAX_NAME_CHARS = 128;

/**
 * The way of a model call, the only file that knows all its stages: facts, decide, start, act, record. It comes here
 * listened to and authenticated. Each refusal is a value that ends the way; a fault never lets anything through.
 */
import type { ServerResponse } from 'node:http';
import { Deny } from '../core-lite/decision.ts';
import { type Dialect, FAMILIES } from '../core-lite/state/dialect.ts';
import type { ModelFacts } from '../core-lite/state/model.ts';
import type { SessionFacts } from '../core-lite/state/session.ts';
import { callCandidates } from './act/fallbacks.ts';
import type { RawHeaders } from './act/headers.ts';
import type { ModelRequest, Unanswered } from './act/model-call.ts';
import { CallBody } from './act/write-body.ts';
import { formatRefusal, type RefusalDetail, send } from './answer.ts';
import type { BodyHold } from './body-room.ts';
import type { Call, RunToken } from './calls.ts';
import { type AskedFacts, loadAsked } from './candidates.ts';
import { type Candidate, decideModelCall, type Plan } from './decide/model-call.ts';
import { DIALECT_ROUTES, type Operation } from './dialects/operations.ts';
import { estimateSpend, type Reserved } from './estimate.ts';
import { readRun } from './facts.ts';
import { answerFixture, MAX_FIXTURE_BYTES } from './fixture/answer.ts';
import type { Gate } from './gate.ts';
import { quoteName } from './quote-name.ts';
import { readBody } from './read/body.ts';
import { readClientHints } from './read/client-hints.ts';
import { describeNoCount, type ModelBody, readModelBody } from './read/model-call.ts';
import { judgeGoogleHead } from './read/model-request.ts';
import type { RefusalReason } from './reasons.ts';
import { type ModelCallNames, type ModelEnding, NO_TOKENS } from './record.ts';

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
  /** Let go of when it was read. */
  body: Buffer;
  readonly hold: BodyHold;
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
    const unserved = await serve(gate, arrival, call, response);
    if (unserved) gate.record.refusal(unserved.refusal, arrival.source);
    if (unserved) refuse(arrival, response, unserved.refusal, unserved.detail);
  } catch (error) {
    gate.record.failure(error);
    refuse(arrival, response, 'internal');
  } finally {
    arrival.hold.release();
    gate.calls.end(call);
  }
}

/** @returns why there is no row for it */
async function serve(
  gate: Gate,
  arrival: ModelArrival,
  call: Call,
  response: ServerResponse,
): Promise<Unanswered | null> {
  const session = await readRun(gate.facts, call.token);
  if (typeof session === 'string') return { refusal: session };
  const body = await takeBody(gate, arrival, call);
  // Nobody is left to be told, and no model to name in a row.
  if (body === 'client_left') return null;
  if ('refusal' in body) return body;
  const read = readModelBody(body.plain, arrival.operation, arrival.pathModel);
  if ('refusal' in read) return read;
  const known = await loadKnown(gate, read.model).catch((error: unknown) => gate.record.failure(error));
  if (!known) return { refusal: 'facts_unavailable' };
  const way = { arrival, call, session, body, read, ...known };
  const { ending, by } = await decideAndAct(gate, way, response).catch((error: unknown): Acted => {
    // It may have started: what it reserved is settled like any other's.
    gate.record.failure(error);
    return { ending: { refusal: 'internal' } };
  });
  const names = nameCall(arrival, read, by ?? known.asked.model);
  gate.record.modelCall(call, names, 'refusal' in ending ? refused(arrival, response, ending) : ending);
  return null;
}

async function takeBody(
  { decoding }: Gate,
  arrival: ModelArrival,
  call: Call,
): Promise<CallBody | Unanswered | 'client_left'> {
  const { body, encoding, maxBytes, hold } = arrival;
  arrival.body = EMPTY;
  const coded = encoding !== '' && encoding !== 'identity';
  const decode = () => readBody(body, encoding, maxBytes);
  const plain = await (coded ? decoding.decode(call.token.claims.sub, call.signal, decode) : decode());
  if (plain === 'stopped') {
    const { stopped } = call;
    return stopped === null || stopped === 'client_left' ? 'client_left' : { refusal: stopped };
  }
  if (typeof plain === 'string') return { refusal: plain, detail: explainUnread(plain, encoding) };
  const refusal = hold.set(plain.length + (coded ? body.length : 0));
  return refusal ? { refusal } : new CallBody(body, encoding, plain);
}

function explainUnread(reason: RefusalReason, encoding: string): RefusalDetail | undefined {
  if (reason !== 'body_malformed') return undefined;
  return { text: `it is not the ${encoding} that its Content-Encoding says, or not all of it` };
}

interface Way extends Known {
  readonly arrival: ModelArrival;
  readonly call: Call;
  readonly session: SessionFacts;
  readonly body: CallBody;
  readonly read: ModelBody;
}

interface Acted {
  readonly ending: ModelEnding | Unanswered;
  /** Who answered, or was called last; none where nobody was. */
  readonly by?: ModelFacts;
}

async function decideAndAct(gate: Gate, way: Way, response: ServerResponse): Promise<Acted> {
  const { arrival, call, session, body, read, asked, fixture } = way;
  const { dialect } = arrival.operation;
  const plan = decideModelCall({ dialect, session, asked, fixture });
  if (plan instanceof Deny) {
    return { ending: { refusal: plan.reason, detail: explain(plan.reason, asked) } };
  }
  const models = modelsOf(plan);
  const unfit = judgeFit(way, plan, models);
  if (unfit) return { ending: unfit };
  if ('builtIn' in plan && body.plain.length > MAX_FIXTURE_BYTES) return { ending: TOO_LARGE };
  const unstarted = await gate.starter.start(call, estimate(way, models));
  if (unstarted) {
    const { refusal, detail } = unstarted;
    return { ending: refusal === 'client_left' ? LEFT : { refusal, detail } };
  }
  if ('builtIn' in plan) {
    const { proof, model } = plan.builtIn;
    const { operation, query } = arrival;
    const { streamed, usageEdit } = read;
    const request = {
      call,
      model,
      operation,
      query,
      body: body.plain,
      streamed,
      hidesUsage: usageEdit !== null,
    };
    return { ending: await answerFixture(proof, request, response), by: model };
  }
  const means = { upstreams: gate.upstreams, call, request: writeRequest(gate, way), response };
  const { ending, by } = await callCandidates(plan.candidates, means, gate.record.passedOver(call));
  return { ending, by: by.model };
}

/** What of the call only those refuse, or read otherwise, who may be called. */
function judgeFit({ arrival, read: { negative } }: Way, plan: Plan, models: Models): Unanswered | null {
  // A server of one's own may take it for no limit.
  if (negative !== null && models.some(({ provider }) => provider !== 'custom')) {
    return { refusal: 'body_malformed', detail: { text: describeNoCount(negative) } };
  }
  const google = 'candidates' in plan && plan.candidates.some(isGoogle);
  const text = google ? judgeGoogleHead(arrival.headers, arrival.query) : null;
  return text === null ? null : { refusal: 'request_malformed', detail: { text } };
}

function isGoogle({ model, url }: Candidate): boolean {
  return model.provider === 'google' || GOOGLE_HOST.test(url.target.host);
}

type Models = readonly [ModelFacts, ...ModelFacts[]];

/** Whichever may answer, the first one first. */
function modelsOf(plan: Plan): Models {
  if ('builtIn' in plan) return [plan.builtIn.model];
  const [first, ...others] = plan.candidates;
  return [first.model, ...others.map(({ model }) => model)];
}

/** What only counts tokens owes nothing. */
function estimate({ arrival, call, read }: Way, models: Models): Reserved | null {
  const { dialect, counts } = arrival.operation;
  if (counts) return null;
  return estimateSpend({ name: shorten(read.model), dialect, body: read, models, at: call.at });
}

function writeRequest({ streamIdleMs }: Gate, { arrival, body, read }: Way): ModelRequest {
  const { operation, headers, tokenText: token, query } = arrival;
  const asked = { dialect: operation.dialect, operation: operation.suffix, query };
  return { ...asked, headers, token, streamIdleMs, write: (model, more) => body.write(read, model, more) };
}

/** What is known of the model that was asked for, and of what may answer in its place. */
interface Known {
  readonly asked: AskedFacts;
  /** The built-in model that every call is answered from. */
  readonly fixture: ModelFacts | null;
}

async function loadKnown({ facts, credentials }: Gate, name: string): Promise<Known> {
  const { fixtureModel } = await facts.settings();
  const asked = await loadAsked(facts, credentials, name);
  if (fixtureModel === null) return { asked, fixture: null };
  const fixture = await facts.model(fixtureModel);
  // One that a newer program has set, or a hand: whoever set it wants no provider called.
  if (fixture?.baseUrl !== null) throw new Error('the fixture model is none that this gate has');
  return { asked, fixture };
}

function nameCall(
  { operation: { dialect, counts }, headers }: ModelArrival,
  read: ModelBody,
  model: ModelFacts | null,
): ModelCallNames {
  const name = shorten(read.model);
  const { upstreamName = name, provider = null } = model ?? {};
  const hints = readClientHints(headers);
  return { model: name, upstreamName, provider, dialect, streamed: read.streamed, counts, ...hints };
}

/** A name that nobody declared is the caller's text: it is kept short, and such as the database takes. */
function shorten(name: string): string {
  return name.slice(0, MAX_NAME_CHARS).replaceAll('\0', '\ufffd');
}

/** What a refusal alone does not tell: of which model it is, and what it would take. */
function explain(reason: RefusalReason, { name, model }: AskedFacts): RefusalDetail | undefined {
  switch (reason) {
    case 'model_unknown':
    case 'model_undeclared':
      return { text: quoteName(name) };
    case 'dialect_unserved':
      return { text: `${quoteName(name)} speaks ${(model?.dialects ?? []).map(nameDialect).join(', ')}` };
    default:
      return undefined;
  }
}

function nameDialect(dialect: Dialect): string {
  return `${dialect} (${DIALECT_ROUTES[dialect]})`;
}

function refused(
  arrival: ModelArrival,
  response: ServerResponse,
  { refusal, detail }: Unanswered,
): ModelEnding {
  const status = refuse(arrival, response, refusal, detail);
  return { outcome: refusal, status, tokens: NO_TOKENS, firstByteMs: null };
}

function refuse(
  { operation, userAgent }: ModelArrival,
  response: ServerResponse,
  reason: RefusalReason,
  detail?: RefusalDetail,
): number {
  const answer = formatRefusal(FAMILIES[operation.dialect], reason, { userAgent, detail });
  // What went out in part must not look whole.
  if (response.headersSent) response.destroy();
  else send(response, answer);
  return answer.status;
}

const EMPTY = Buffer.alloc(0);
const LEFT: ModelEnding = { outcome: 'client_left', status: null, tokens: NO_TOKENS, firstByteMs: null };
const TOO_LARGE: Unanswered = {
  refusal: 'body_too_large',
  detail: { text: 'a built-in model reads at most 1 MiB' },
};
const GOOGLE_HOST = /(?:^|\.)googleapis\.com$/;
const MAX_NAME_CHARS = 128;

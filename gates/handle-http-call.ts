/**
 * The way of an HTTP tool's call, the only file that knows all its stages: facts, read, decide, start, act, record.
 * What goes wrong with the tool is an outcome, 200 with `ok: false`; what goes wrong with the call is an HTTP error.
 */
import type { ServerResponse } from 'node:http';
import { Allow } from '../core-lite/decision.ts';
import type { Outcome } from '../core-lite/record/crossing.ts';
import type { SessionFacts } from '../core-lite/state/session.ts';
import { callTool, type ToolCall } from './act/http-call.ts';
import { formToolAnswer, type ToolAnswer, type ToolFailure } from './act/tool-answer.ts';
import type { Trace } from './act/tool-identity.ts';
import { formatError, formatRefusal, send } from './answer.ts';
import { type CallerToken, mayAsk } from './caller-token.ts';
import type { AnyCall } from './calls.ts';
import { crossTool, nameOutcome } from './crossing/http-call.ts';
import type { Run } from './crossing/run.ts';
import { decideHttpCall } from './decide/http-call.ts';
import { readRun } from './facts.ts';
import type { Gate } from './gate.ts';
import { UNDECLARED } from './http-outcomes.ts';
import { readInput } from './read/http-call.ts';
import { makeToolRequest } from './read/tool-request.ts';
import type { RefusalReason } from './reasons.ts';
import type { ToolCallFacts } from './record.ts';
import type { ToolSchemas } from './tool-schemas.ts';

/** A tool call that was read off its connection and authenticated. */
export interface HttpArrival {
  readonly token: CallerToken;
  /** The tool's name as the path has it. */
  readonly tool: string;
  readonly trace: Trace;
  /** Its `Idempotency-Key`; `null` for a call that ends with its caller. */
  readonly key: string | null;
  readonly source: string;
  readonly userAgent: string;
  readonly body: Buffer;
}

/** Serves one call. Never rejects. */
export async function handleHttpCall(
  gate: Gate,
  schemas: ToolSchemas,
  arrival: HttpArrival,
  response: ServerResponse,
): Promise<void> {
  const call = gate.calls.begin(arrival.token, gate.now(), response);
  try {
    const served = await serve(gate, schemas, arrival, call);
    if (typeof served === 'string') refuse(gate, arrival, response, served);
    else answer(gate, arrival, call, response, served);
  } catch (error) {
    gate.record.failure(error);
    refuse(gate, arrival, response, 'internal');
  } finally {
    gate.calls.end(call);
  }
}

type Served = ToolAnswer | Outcome | typeof UNDECLARED | { readonly malformed: string };

async function serve(
  gate: Gate,
  schemas: ToolSchemas,
  arrival: HttpArrival,
  call: AnyCall,
): Promise<Served | RefusalReason> {
  const session = await readRun(gate.facts, call.token);
  if (typeof session === 'string') return session;
  if (!mayAsk(call.token, 'tool', arrival.tool)) return 'token_scope';
  const { httpTools } = session.manifest;
  const tool = Object.hasOwn(httpTools, arrival.tool) ? httpTools[arrival.tool] : undefined;
  if (!tool) return UNDECLARED;
  const read = readInput(arrival.body);
  if (typeof read === 'string') return { malformed: read };
  const misfit = schemas.judge(tool.inputSchema, 'input', read.input);
  if (misfit) return { failure: 'tool.invalid-input', detail: misfit };
  const request = makeToolRequest(tool, read.input);
  if (typeof request === 'string') return { failure: 'tool.invalid-input', detail: request };
  const { key, trace } = arrival;
  const caller = { token: call.token, key, trace };
  const decided = await decide(gate, session, { tool, request, caller, schemas });
  if (typeof decided === 'string') return decided;
  const { credentialId } = decided;
  call.credentialId = credentialId;
  if (key === null) return startAndAct(gate, call, decided);
  const keyed = { key, tool: arrival.tool, input: read.input, credentialId };
  return crossTool(gate.crosser, call, keyed, (run) => act(gate, decided, run.signal, run));
}

/** What is called and how, or why it is not. */
interface Decided {
  readonly credentialId: string | null;
  readonly way: { readonly decision: Allow<string>; readonly call: ToolCall } | ToolFailure;
}

/** Before anything starts: what a keyed call gave before is answered whatever is decided now. */
async function decide(
  gate: Gate,
  session: SessionFacts,
  asked: Omit<ToolCall, 'url' | 'credential'>,
): Promise<Decided | RefusalReason> {
  const { tool, request } = asked;
  const { url } = request;
  const named = tool.credential;
  const credential = named === null ? null : await gate.credentials.read(named).catch(gate.record.failure);
  if (credential === undefined) return 'facts_unavailable';
  const credentialId = credential?.id ?? null;
  const { openNetworks } = gate;
  const decision = decideHttpCall({ tool, url, credential, user: session.user, openNetworks });
  if (!(decision instanceof Allow)) return { credentialId, way: { failure: decision.reason } };
  if (!url) return { credentialId, way: { failure: 'http.refused' } };
  return { credentialId, way: { decision, call: { ...asked, url, credential } } };
}

async function startAndAct(gate: Gate, call: AnyCall, decided: Decided): Promise<ToolAnswer | RefusalReason> {
  if ('failure' in decided.way) return decided.way;
  const unstarted = (await gate.starter.start(call, null))?.refusal;
  if (unstarted) return unstarted === 'client_left' ? { failure: 'http.stopped' } : unstarted;
  const answered = await act(gate, decided, call.signal, null);
  const { stopped } = call;
  return 'failure' in answered && answered.failure === 'http.stopped' && stopped && stopped !== 'client_left'
    ? stopped
    : answered;
}

/** @param run of a keyed call: without its word nothing is written */
async function act(gate: Gate, { way }: Decided, signal: AbortSignal, run: Run | null): Promise<ToolAnswer> {
  return 'failure' in way ? way : callTool(way.decision, gate.upstreams, way.call, signal, run);
}

function answer(
  gate: Gate,
  arrival: HttpArrival,
  call: AnyCall,
  response: ServerResponse,
  served: Served,
): void {
  if ('malformed' in served) {
    gate.record.refusal('body_malformed', arrival.source);
    sendJson(
      response,
      400,
      formatError('own', 'body_malformed', 400, `${served.malformed}; send {"input": {…}}`),
    );
    return;
  }
  if ('body' in served) {
    gate.record.toolCall(call, arrival.tool, nameOutcome(served), factsOf(arrival, served.body));
    sendJson(response, 200, served.body);
    return;
  }
  if ('code' in served) {
    const body = formatError('own', served.code, served.status, served.message);
    gate.record.toolCall(call, 'undeclared', served.code, factsOf(arrival, body));
    sendJson(response, served.status, body);
    return;
  }
  const body = formToolAnswer(served);
  const outcome = 'failure' in served ? served.failure : 'completed';
  gate.record.toolCall(call, arrival.tool, outcome, factsOf(arrival, body));
  sendJson(response, 200, body);
}

function factsOf({ trace, body }: HttpArrival, result: string): ToolCallFacts {
  return { trace: trace.id, inputBytes: body.length, resultBytes: Buffer.byteLength(result) };
}

function refuse(gate: Gate, arrival: HttpArrival, response: ServerResponse, reason: RefusalReason): void {
  gate.record.refusal(reason, arrival.source);
  send(response, formatRefusal('own', reason, arrival));
}

function sendJson(response: ServerResponse, status: number, body: string): void {
  const final: Record<string, string> = status >= 400 ? { 'x-should-retry': 'false' } : {};
  send(response, { status, headers: { 'content-type': 'application/json', ...final }, body });
}

/**
 * The way of an HTTP tool's call, the only file that knows all its stages: facts, read, decide, start, act, record.
 * What goes wrong with the tool is an outcome, 200 with `ok: false`; what goes wrong with the call is an HTTP error.
 */
import type { ServerResponse } from 'node:http';
import { Allow } from '../core-lite/decision.ts';
import { decideRunStaleness, type SessionFacts } from '../core-lite/state/session.ts';
import { callTool, type ToolCall } from './act/http-call.ts';
import { formToolAnswer, type ToolAnswer } from './act/tool-answer.ts';
import type { Trace } from './act/tool-identity.ts';
import { formatError, formatRefusal, send } from './answer.ts';
import type { Call, RunToken } from './calls.ts';
import { decideHttpCall } from './decide/http-call.ts';
import type { Gate } from './gate.ts';
import { UNDECLARED } from './http-outcomes.ts';
import { readInput } from './read/http-call.ts';
import { makeToolRequest } from './read/tool-request.ts';
import type { RefusalReason } from './reasons.ts';
import type { ToolCallFacts } from './record.ts';
import type { ToolSchemas } from './tool-schemas.ts';

/** A tool call that was read off its connection and authenticated. */
export interface HttpArrival {
  readonly token: RunToken;
  /** The tool's name as the path has it. */
  readonly tool: string;
  readonly trace: Trace;
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

type Served = ToolAnswer | typeof UNDECLARED | { readonly malformed: string };

async function serve(
  gate: Gate,
  schemas: ToolSchemas,
  arrival: HttpArrival,
  call: Call,
): Promise<Served | RefusalReason> {
  const session = await gate.facts.session(call.token.claims.sub).catch(() => undefined);
  if (session === undefined) return 'facts_unavailable';
  // What was minted here names a session that is there, if only as an ended one.
  if (!session) return 'token_untrusted';
  if (decideRunStaleness(call.token.claims, session)) return 'run_stale';
  const { httpTools } = session.manifest;
  const tool = Object.hasOwn(httpTools, arrival.tool) ? httpTools[arrival.tool] : undefined;
  if (!tool) return UNDECLARED;
  const read = readInput(arrival.body);
  if (typeof read === 'string') return { malformed: read };
  const misfit = schemas.judge(tool.inputSchema, 'input', read.input);
  if (misfit) return { failure: 'tool.invalid-input', detail: misfit };
  const request = makeToolRequest(tool, read.input);
  if (typeof request === 'string') return { failure: 'tool.invalid-input', detail: request };
  const caller = { token: call.token, key: null, trace: arrival.trace };
  return decideAndAct(gate, call, session, { tool, request, caller, schemas });
}

async function decideAndAct(
  gate: Gate,
  call: Call,
  session: SessionFacts,
  asked: Omit<ToolCall, 'url' | 'credential'>,
): Promise<ToolAnswer | RefusalReason> {
  const { tool, request } = asked;
  const { url } = request;
  const named = tool.credential;
  const credential = named === null ? null : await gate.credentials.read(named).catch(gate.record.failure);
  if (credential === undefined) return 'facts_unavailable';
  call.credentialId = credential?.id ?? null;
  const { openNetworks } = gate;
  const decision = decideHttpCall({ tool, url, credential, user: session.user, openNetworks });
  if (!(decision instanceof Allow)) return { failure: decision.reason };
  if (!url) return { failure: 'http.refused' };
  const unstarted = (await gate.starter.start(call, null))?.refusal;
  if (unstarted) return unstarted === 'client_left' ? { failure: 'http.stopped' } : unstarted;
  const toCall = { ...asked, url, credential };
  const answered = await callTool(decision, gate.upstreams, toCall, call.signal, null);
  const { stopped } = call;
  return 'failure' in answered && answered.failure === 'http.stopped' && stopped && stopped !== 'client_left'
    ? stopped
    : answered;
}

function answer(
  gate: Gate,
  arrival: HttpArrival,
  call: Call,
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

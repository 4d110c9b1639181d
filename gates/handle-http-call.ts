/**
 * The way of an HTTP tool's call, the only file that knows all its stages: facts, read, decide, start, act, record.
 * What goes wrong with the tool is an outcome, 200 with `ok: false`; what goes wrong with the call is an HTTP error.
 */
import type { ServerResponse } from 'node:http';
import { Allow } from '../core-lite/decision.ts';
import { parseUpstreamUrl } from '../core-lite/network/upstream-url.ts';
import type { HttpTool } from '../core-lite/state/manifest.ts';
import type { SessionFacts } from '../core-lite/state/session.ts';
import { callTool, type ToolAnswer } from './act/http-call.ts';
import { formatError, formatRefusal, send } from './answer.ts';
import type { Call, RunToken } from './calls.ts';
import { decideHttpCall } from './decide/http-call.ts';
import { readRun } from './facts.ts';
import type { Gate } from './gate.ts';
import { HTTP_OUTCOMES, UNDECLARED } from './http-outcomes.ts';
import { readInput } from './read/http-call.ts';
import type { RefusalReason } from './reasons.ts';
import type { ToolSchemas } from './tool-schemas.ts';

/** A tool call that was read off its connection and authenticated. */
export interface HttpArrival {
  readonly token: RunToken;
  /** The tool's name as the path has it. */
  readonly tool: string;
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
  const session = await readRun(gate.facts, call.token.claims);
  if (typeof session === 'string') return session;
  const { httpTools } = session.manifest;
  const tool = Object.hasOwn(httpTools, arrival.tool) ? httpTools[arrival.tool] : undefined;
  if (!tool) return UNDECLARED;
  const read = readInput(arrival.body);
  if (typeof read === 'string') return { malformed: read };
  const misfit = schemas.judge(tool.inputSchema, read.input);
  if (misfit) return { failure: 'tool.invalid-input', detail: misfit };
  return decideAndAct(gate, call, session, tool, read.input);
}

async function decideAndAct(
  gate: Gate,
  call: Call,
  session: SessionFacts,
  tool: HttpTool,
  input: Readonly<Record<string, unknown>>,
): Promise<ToolAnswer | RefusalReason> {
  const parsed = parseUpstreamUrl(tool.url);
  const url = typeof parsed === 'string' ? null : parsed;
  const named = tool.credential;
  const credential = named === null ? null : await gate.credentials.read(named).catch(gate.record.failure);
  if (credential === undefined) return 'facts_unavailable';
  const { openNetworks } = gate;
  const decision = decideHttpCall({ tool, url, credential, user: session.user, openNetworks });
  if (!(decision instanceof Allow)) return { failure: decision.reason };
  if (!url) return { failure: 'http.refused' };
  const unstarted = (await gate.starter.start(call, null))?.refusal;
  if (unstarted) return unstarted === 'client_left' ? { failure: 'http.stopped' } : unstarted;
  const answered = await callTool(decision, gate.upstreams, { tool, url, credential, input }, call.signal);
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
    gate.record.toolCall(call, 'undeclared', 'http.undeclared');
    sendJson(response, served.status, formatError('own', served.code, served.status, served.message));
    return;
  }
  gate.record.toolCall(call, arrival.tool, 'failure' in served ? served.failure : 'completed');
  sendJson(response, 200, JSON.stringify(formOutcome(served)));
}

function formOutcome(served: ToolAnswer): object {
  if (!('failure' in served)) return { ok: true, output: served.output };
  const { failure, detail, ...said } = served;
  const message = detail ? `${HTTP_OUTCOMES[failure]}: ${detail}` : HTTP_OUTCOMES[failure];
  return { ok: false, error: { code: failure, message, ...said } };
}

function refuse(gate: Gate, arrival: HttpArrival, response: ServerResponse, reason: RefusalReason): void {
  gate.record.refusal(reason, arrival.source);
  send(response, formatRefusal('own', reason, arrival));
}

function sendJson(response: ServerResponse, status: number, body: string): void {
  const final: Record<string, string> = status >= 400 ? { 'x-should-retry': 'false' } : {};
  send(response, { status, headers: { 'content-type': 'application/json', ...final }, body });
}

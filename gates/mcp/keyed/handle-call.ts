/**
 * The way of a tool's call on the product's own route: facts, read, start, act, record. With a key it is a crossing: it
 * runs at most once, outlives its caller, and what it gave is kept.
 */
import type { Outcome } from '../../../core-lite/record/crossing.ts';
import { mayAsk } from '../../caller-token.ts';
import type { AnyCall } from '../../calls.ts';
import type { Run } from '../../crossing/run.ts';
import { readRun } from '../../facts.ts';
import type { Gate } from '../../gate.ts';
import { writeCanonical } from '../../read/canonical-json.ts';
import type { RefusalReason } from '../../reasons.ts';
import { type DeclaredServer, type DeclaredServers, findDeclared } from '../middle/declared-servers.ts';
import type { Said } from '../middle/server-talk.ts';
import { startAndAsk } from '../middle/start-and-ask.ts';
import { ownRequest, ownWay } from './own-asking.ts';
import { readToolCall, type ToolAsked } from './read-body.ts';
import type { KeyedArrival, Malformed } from './serve.ts';
import { isToolCode } from './tool-codes.ts';
import { formOutcome } from './tool-outcome.ts';

/** Rejects with a Fault only. */
export async function serveToolCall(
  gate: Gate,
  servers: DeclaredServers,
  arrival: KeyedArrival,
  call: AnyCall,
): Promise<{ readonly body: string } | Malformed | RefusalReason> {
  const session = await readRun(gate.facts, call.token);
  if (typeof session === 'string') return session;
  const asked = readToolCall(arrival.body);
  if (typeof asked === 'string') return { malformed: asked };
  if (!mayAsk(call.token, 'server', asked.server)) return 'token_scope';
  const at = findDeclared(session, asked.server);
  if (!at) return 'server_undeclared';
  const began = performance.now();
  const { key } = arrival;
  const outcome =
    key === null
      ? await callOnce(gate, servers, call, at, asked)
      : await cross(gate, servers, call, at, asked, key);
  if (typeof outcome === 'string') return outcome;
  gate.record.mcpRequest(call, {
    server: at.name,
    method: 'tools/call',
    tool: asked.tool,
    outcome: isToolCode(outcome.code) ? outcome.code : 'completed',
    inputBytes: arrival.body.length,
    resultBytes: Buffer.byteLength(outcome.body),
    ms: Math.round(performance.now() - began),
  });
  return outcome;
}

async function callOnce(
  gate: Gate,
  servers: DeclaredServers,
  call: AnyCall,
  at: DeclaredServer,
  asked: ToolAsked,
): Promise<Outcome | RefusalReason> {
  const ask = (): Promise<Said> => reachAndAsk(servers, call, at, asked, call.signal, null);
  const said = await startAndAsk(gate, call, { now: false }, ask);
  if (!('refusal' in said)) return formOutcome(said);
  // Nobody is there to read it.
  return said.refusal === 'client_left' ? INTERRUPTED : said.refusal;
}

async function cross(
  gate: Gate,
  servers: DeclaredServers,
  call: AnyCall,
  at: DeclaredServer,
  asked: ToolAsked,
  key: string,
): Promise<Outcome | RefusalReason> {
  const judged = await servers.judge(at);
  const credentialId = typeof judged === 'string' ? judged : null;
  const { server, tool } = asked;
  const request = Buffer.from(writeCanonical(asked.arguments));
  const crossed = await gate.crosser.cross(
    call,
    { key, kind: 'mcp', server, tool, credentialId, request },
    async (run) => formOutcome(await reachAndAsk(servers, call, at, asked, run.signal, run)),
  );
  if (typeof crossed === 'string') return crossed;
  if (!('refusal' in crossed)) return crossed;
  return crossed.refusal === 'client_left' ? INTERRUPTED : crossed.refusal;
}

/** @param run of a keyed call: without its word nothing of the call is written */
async function reachAndAsk(
  servers: DeclaredServers,
  call: AnyCall,
  at: DeclaredServer,
  { tool, arguments: args }: ToolAsked,
  signal: AbortSignal,
  run: Run | null,
): Promise<Said> {
  const talk = await servers.open(call, at, signal);
  if ('failure' in talk) return talk;
  const way = ownWay(signal);
  const request = ownRequest('tools/call', { name: tool, arguments: args });
  return talk.ask(request, run ? { ...way, beforeSend: () => run.send() } : way);
}

const INTERRUPTED = formOutcome({ failure: 'stopped', mayHaveRun: false, detail: null });

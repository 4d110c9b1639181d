/** What is kept of a request to a server: one log line and counts, of names that the session was shown alone. */
import type { AnyCall } from '../../calls.ts';
import type { Gate } from '../../gate.ts';
import { sizeOf } from '../see/result-limit.ts';
import type { Asked } from '../upstream/server.ts';
import type { McpRefusal } from '../way.ts';
import { type McpOutcome, nameMethod, nameOutcome } from './outcomes.ts';
import type { Said, ServerTalk } from './server-talk.ts';

/** Whom it went to, and which tools of its the session was shown. */
export interface Recorded {
  readonly name: string;
  readonly tools: Pick<ServerTalk['tools'], 'find'>;
}

export interface RequestEnd {
  readonly asked: Pick<Asked, 'method' | 'params'>;
  readonly end: Said | McpRefusal;
  /** When it came, by `performance.now()`. */
  readonly at: number;
}

export function recordRequest(
  { record }: Pick<Gate, 'record'>,
  call: AnyCall,
  { name: server, tools }: Recorded,
  { asked: { method, params }, end, at }: RequestEnd,
): void {
  const named = params['name'];
  const known = typeof named === 'string' && tools.find(named) !== null;
  const outcome = 'denied' in end ? end.answer : end;
  record.mcpRequest(call, {
    server,
    method: nameMethod(method),
    tool: method === 'tools/call' ? (known ? named : 'undeclared') : null,
    outcome: 'denied' in end ? end.denied : nameOutcome(method, outcome),
    inputBytes: sizeOf(params),
    resultBytes: 'result' in outcome ? sizeOf(outcome.result) : 0,
    ms: Math.round(performance.now() - at),
  });
}

/** A server that could not be asked anything. */
export function recordUnopened(
  { record }: Pick<Gate, 'record'>,
  call: AnyCall,
  server: string,
  outcome: McpOutcome,
): void {
  const none = { tool: null, inputBytes: 0, resultBytes: 0, ms: 0 };
  record.mcpRequest(call, { server, method: 'connect', outcome, ...none });
}

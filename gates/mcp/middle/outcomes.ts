/** What a request to an MCP server is logged and counted as: one closed list, whoever ended it. */
import type { RefusalReason, StopReason } from '../../reasons.ts';
import type { ToolCode } from '../keyed/tool-codes.ts';
import type { McpDenial } from '../see/denials.ts';
import type { UpstreamFailure } from '../upstream/failures.ts';
import type { PeerOutcome } from '../way.ts';

/** How the gate itself answers for a server, beside failures and refusals. */
const MCP_ENDINGS = {
  completed: 'the server answered',
  error: 'the server answered with an error',
  tool_error: 'the tool answered that it failed',
  input_required: 'the server asks for more before it answers',
} as const;

type McpEnding = keyof typeof MCP_ENDINGS;
export type McpOutcome = McpEnding | McpDenial | ToolCode | UpstreamFailure | RefusalReason | StopReason;

export function nameOutcome(method: string, outcome: PeerOutcome): McpOutcome {
  if ('refusal' in outcome) return outcome.refusal;
  if ('failure' in outcome) return outcome.failure;
  if ('error' in outcome) return 'error';
  const { resultType, isError } = outcome.result;
  if (resultType === 'input_required') return 'input_required';
  return method === 'tools/call' && isError === true ? 'tool_error' : 'completed';
}

/** The methods that are counted by name; a label from a caller could grow without bound. */
export function nameMethod(method: string): string {
  return METHODS.has(method) ? method : 'other';
}

const METHODS: ReadonlySet<string> = new Set([
  'connect',
  'tools/list',
  'tools/call',
  'prompts/list',
  'prompts/get',
  'resources/list',
  'resources/read',
  'resources/templates/list',
  'completion/complete',
  'tasks/get',
  'tasks/update',
  'tasks/cancel',
  'tasks/list',
  'tasks/result',
]);

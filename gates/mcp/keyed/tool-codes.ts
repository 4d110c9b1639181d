/**
 * The closed list of how a call on the product's own routes fails, and what is kept of it under its key. `failed` is what
 * we ended before it reached the tool; a failure of the tool's own is its answer, and completed.
 */
import type { EndStatus } from '../../../core-lite/record/crossing.ts';
import type { McpDenial } from '../see/denials.ts';
import type { UpstreamFailure } from '../upstream/failures.ts';

export const TOOL_CODES = {
  'tool.disabled': 'the session may call no such tool, or its server has none of that name',
  'tool.denied': 'the tool is not what the session was first shown',
  'tool.unavailable': 'the server could not be asked: the tool has not run',
  'tool.interrupted': 'the call was ended before anything was sent',
  'tool.cancelled': 'the call was cancelled',
  'tool.uncertain': 'the call may have run, and nobody can tell',
  'tool.invalid-input': 'the arguments do not fit the tool’s input schema',
  'tool.error': 'the server answered with an error',
  'tool.invalid-response': 'what the server answered is not MCP, or an HTTP error',
  'tool.too-large': 'the tool ran, and its result is too large',
} as const;

export type ToolCode = keyof typeof TOOL_CODES;

export interface CodedEnd {
  readonly code: ToolCode;
  readonly status: EndStatus;
}

export const CODES_OF_DENIALS: Readonly<Record<McpDenial, ToolCode>> = {
  tool_undeclared: 'tool.disabled',
  tool_changed: 'tool.denied',
  arguments_invalid: 'tool.invalid-input',
};

/** @param mayHaveRun whether bytes of the call may have reached the server, and nothing says that it was not carried out */
export function codeFailure(failure: UpstreamFailure, mayHaveRun: boolean): CodedEnd {
  if (!mayHaveRun)
    return { code: failure === 'stopped' ? 'tool.interrupted' : 'tool.unavailable', status: 'failed' };
  switch (failure) {
    case 'too_large':
      return { code: 'tool.too-large', status: 'completed' };
    case 'malformed':
    case 'status':
    case 'redirected':
      return { code: 'tool.invalid-response', status: 'completed' };
    default:
      return { code: 'tool.uncertain', status: 'uncertain' };
  }
}

export function isToolCode(code: string | null): code is ToolCode {
  return code !== null && Object.hasOwn(TOOL_CODES, code);
}

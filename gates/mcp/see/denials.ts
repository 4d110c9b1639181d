/** The closed list of why the gate itself answers for a server, and how: the call of a tool that is not made. */
import { type Answer, RPC } from '../messages.ts';

export const MCP_DENIALS = {
  tool_undeclared: 'the session may call no such tool, or its server has none of that name',
  tool_changed:
    'the tool is not what the session was first shown, and its server is declared to be refused then',
  arguments_invalid: 'the arguments do not fit the tool’s input schema',
} as const;

export type McpDenial = keyof typeof MCP_DENIALS;

export interface Denied {
  readonly denied: McpDenial;
  readonly text: string;
  readonly answer: Answer;
}

/** @param detail what may be shown: nothing of the arguments */
export function deny(reason: McpDenial, detail: string): Denied {
  const text = `${MCP_DENIALS[reason]}: ${detail}`;
  switch (reason) {
    case 'tool_undeclared':
    case 'tool_changed':
      return {
        denied: reason,
        text,
        answer: { error: { code: RPC.invalidParams, message: text, data: { reason } } },
      };
    case 'arguments_invalid':
      // What a model can mend, it is to see: as a result of the tool's (2025-11-25, Tools, Error Handling).
      return {
        denied: reason,
        text,
        answer: { result: { content: [{ type: 'text', text }], isError: true } },
      };
    default:
      return reason satisfies never;
  }
}

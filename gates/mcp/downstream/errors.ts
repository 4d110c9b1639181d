/**
 * How the gate's own word looks in a message: a refusal, or what it has to say of a server that gave no answer. The
 * codes are those of HTTP, outside the range that JSON-RPC keeps for itself; the reason's word stands in `data`.
 */

import { formatRefusal } from '../../answer.ts';
import { REFUSALS } from '../../reasons.ts';
import type { RpcError } from '../messages.ts';
import { type Failed, UPSTREAM_FAILURES } from '../upstream/failures.ts';
import type { McpRefusal } from '../way.ts';

/** An error, and the HTTP status and headers of an answer that is nothing else. */
export interface Told {
  readonly error: RpcError;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
}

/** What came of asking, where it is no answer of the server's. */
export function tellUnanswered(outcome: Failed | McpRefusal, userAgent: string): Told {
  return 'failure' in outcome ? tellFailure(outcome) : tellRefusal(outcome, userAgent);
}

function tellFailure({ failure, mayHaveRun, detail }: Failed): Told {
  const code = failure === 'timeout' ? 504 : 502;
  const text = UPSTREAM_FAILURES[failure];
  return {
    error: {
      code,
      message: detail === null ? text : `${text}: ${detail}`,
      data: { reason: failure, mayHaveRun },
    },
    // A client takes an HTTP error for one of the whole connection.
    status: 200,
    headers: {},
  };
}

export function tellRefusal({ refusal, detail }: McpRefusal, userAgent: string): Told {
  const reason = refusal === 'client_left' ? 'shutting_down' : refusal;
  const { status, headers } = formatRefusal('mcp', reason, { userAgent, detail });
  const { text, remedy } = REFUSALS[reason];
  const message = `${text}${detail ? `: ${detail.text}` : ''}; ${remedy}`;
  return { error: { code: status, message, data: { reason } }, status, headers };
}

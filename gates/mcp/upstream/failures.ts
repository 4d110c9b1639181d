/** The closed list of how a request to an MCP server fails without an answer of its own. An answer with an error is none. */
import type { RpcError } from '../messages.ts';

export const UPSTREAM_FAILURES = {
  unreachable: 'the server could not be reached',
  refused: 'the server’s URL, port or address is not one that is called',
  backoff: 'the server could not be reached a moment ago, and is not asked again yet',
  credential: 'the server’s credential is gone, or may not be used for it',
  credential_rejected: 'the server does not take its credential; rotate it',
  redirected: 'the server answered with a redirect, which is not followed',
  status: 'the server answered with an HTTP error',
  malformed: 'what the server answered is not MCP',
  too_large: 'the server’s answer is too large',
  timeout: 'the server did not answer in time',
  lost: 'the connection broke off; the request may have been carried out',
  session_lost:
    'the server has forgotten the session, and with it what came before; ask again to begin a new one',
  stopped: 'the call was ended',
} as const;

export type UpstreamFailure = keyof typeof UPSTREAM_FAILURES;

/** A request that has no answer. */
export interface Failed {
  readonly failure: UpstreamFailure;
  /** Bytes of it may have reached the server, and nothing says that it was not carried out. */
  readonly mayHaveRun: boolean;
  /** What may be added to the failure's text: a status, a credential's name. Nothing of the answer's. */
  readonly detail: string | null;
  /** Of an HTTP error, and the error that its body held, which is of the server's transport, not of what was asked. */
  readonly http?: { readonly status: number; readonly error: RpcError | null };
}

export function fail(failure: UpstreamFailure, mayHaveRun: boolean, detail: string | null = null): Failed {
  return { failure, mayHaveRun, detail };
}

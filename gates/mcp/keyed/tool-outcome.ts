/** What came of a tool's call as the product's own routes answer it: `{"ok":true,"result":…}` or `{"ok":false,"error":…}`. */
import { bareOutcome, type Outcome } from '../../../core-lite/record/crossing.ts';
import type { RpcError } from '../messages.ts';
import type { Said } from '../middle/server-talk.ts';
import { type Failed, UPSTREAM_FAILURES } from '../upstream/failures.ts';
import { CODES_OF_DENIALS, codeFailure, type ToolCode } from './tool-codes.ts';

export function formOutcome(said: Said): Outcome {
  if ('denied' in said) {
    const code = CODES_OF_DENIALS[said.denied];
    return { status: 'failed', code, body: formError(code, said.text), unsent: true };
  }
  if ('failure' in said) return ofFailure(said);
  if ('error' in said) return { status: 'completed', code: 'tool.error', body: ofError(said.error) };
  return { status: 'completed', code: null, body: formResult(said.result) };
}

export function formResult(result: unknown): string {
  return JSON.stringify({ ok: true, result });
}

export function formError(code: string, message: string, more: object = {}): string {
  return JSON.stringify({ ok: false, error: { code, message, ...more } });
}

/** What is wrong with a server, for those who only talk to it. */
export function formFailure({ failure, detail }: Failed): string {
  return formError('tool.unavailable', tell(failure, detail), { reason: failure });
}

function ofFailure({ failure, mayHaveRun, detail }: Failed): Outcome {
  const { code, status } = codeFailure(failure, mayHaveRun);
  if (status === 'uncertain') return bareOutcome(status, code);
  const body = formError(code, tell(failure, detail), { reason: failure });
  return { status, code, body, ...(mayHaveRun ? {} : { unsent: true }) };
}

function ofError({ code, message, data }: RpcError): string {
  const told: ToolCode = 'tool.error';
  return formError(told, message, { rpc: { code, ...(data === undefined ? {} : { data }) } });
}

function tell(failure: Failed['failure'], detail: string | null): string {
  const text = UPSTREAM_FAILURES[failure];
  return detail === null ? text : `${text}: ${detail}`;
}

/** One request of a modern client while it is served, and how it is answered with an error. */
import type { ServerResponse } from 'node:http';
import type { Call } from '../../calls.ts';
import { type RequestId, RPC, type RpcError, type RpcRequest } from '../messages.ts';
import { readModernClient } from './asked.ts';
import type { Told } from './errors.ts';
import type { Exchange } from './exchange.ts';
import { toModernError } from './translate.ts';

export interface ModernServing {
  readonly call: Call;
  /** Of the call. */
  readonly end: () => void;
  readonly request: RpcRequest;
  readonly exchange: Exchange;
  readonly response: ServerResponse;
  /** Set where the call outlives this answer to it. */
  readonly keep: { held: boolean };
}

/** Answers with an error of the gate's own. */
export function tell(exchange: Exchange, id: RequestId, { error, status, headers }: Told): void {
  exchange.finish({ jsonrpc: '2.0', id, error }, status, headers);
}

/** Answers with an error of the server's. */
export function tellServerError(
  exchange: Exchange,
  { id, method, params }: RpcRequest,
  error: RpcError,
): void {
  const { client } = readModernClient(params);
  const shown = toModernError(method, error, client.capabilities);
  exchange.finish({ jsonrpc: '2.0', id, error: shown }, STATUS_OF_CODE.get(shown.code) ?? 200);
}

/** Of 2026-07-28: what a code that the protocol defines makes of the answer's status. */
const STATUS_OF_CODE: ReadonlyMap<number, number> = new Map([
  [RPC.methodNotFound, 404],
  [RPC.missingCapability, 400],
]);

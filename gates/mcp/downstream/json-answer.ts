/** An error that is an HTTP answer of its own, and no request's. */
import type { ServerResponse } from 'node:http';
import { send } from '../../answer.ts';
import type { RequestId, RpcError } from '../messages.ts';

export function sendJson(
  response: ServerResponse,
  status: number,
  error: RpcError,
  headers: Readonly<Record<string, string>> = {},
  id: RequestId | null = null,
): void {
  const body = JSON.stringify({ jsonrpc: '2.0', id, error });
  send(response, { status, headers: { 'content-type': 'application/json', ...headers }, body });
}

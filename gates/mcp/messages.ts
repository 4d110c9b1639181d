/**
 * JSON-RPC as MCP speaks it, on both sides of the gate. Messages are kept as they came: what a schema of today does not
 * know goes through as it is, so nothing here is parsed into less than it was.
 */

import { MAX_DEPTH } from '../json-depth.ts';

export type JsonObject = Readonly<Record<string, unknown>>;
export type RequestId = string | number;

export interface RpcRequest {
  readonly jsonrpc: '2.0';
  readonly id: RequestId;
  readonly method: string;
  readonly params?: JsonObject;
}

export interface RpcNotification {
  readonly jsonrpc: '2.0';
  readonly method: string;
  readonly params?: JsonObject;
}

export interface RpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/** How a request is answered, without its id. */
export type Answer = { readonly result: JsonObject } | { readonly error: RpcError };

export type RpcResponse = { readonly jsonrpc: '2.0'; readonly id: RequestId } & Answer;

export type RpcMessage = RpcRequest | RpcNotification | RpcResponse;

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** How deep a message is nested, told without recursion: whoever writes it out again must not be the limit. */
export function isTooDeep(message: unknown): boolean {
  let level: unknown[] = [message];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > MAX_DEPTH) return true;
    level = level.flatMap((each) =>
      typeof each === 'object' && each !== null ? Object.values(each).filter(isNested) : [],
    );
  }
  return false;
}

function isNested(value: unknown): boolean {
  return typeof value === 'object' && value !== null;
}

/** The codes that are used here (JSON-RPC 2.0 section 5.1, and the revision 2026-07-28 of MCP). */
export const RPC = {
  parse: -32_700,
  invalidRequest: -32_600,
  methodNotFound: -32_601,
  invalidParams: -32_602,
  internal: -32_603,
  headerMismatch: -32_020,
  missingCapability: -32_021,
  unsupportedVersion: -32_022,
} as const;

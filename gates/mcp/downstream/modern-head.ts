/**
 * What a modern request's headers must say. They are there for those on the way who cannot read bodies, so the body is
 * the truth, and a head that says something else than its body is refused.
 */
import type { JsonObject, RpcError, RpcRequest } from '../messages.ts';
import { RPC } from '../messages.ts';
import { readHeader } from './head.ts';
import { decodeHeaderText, findHeaderParams, readPath } from './header-params.ts';

/** Beside what classification has compared; `null` where all is said. @param headers raw */
export function judgeModernHead(request: RpcRequest, headers: readonly string[]): RpcError | null {
  if (readHeader(headers, 'mcp-protocol-version') === undefined)
    return mismatch('MCP-Protocol-Version is missing');
  if (readHeader(headers, 'mcp-method') === undefined) return mismatch('Mcp-Method is missing');
  const source = Object.hasOwn(NAMED_BY, request.method) ? NAMED_BY[request.method] : undefined;
  const name = source === undefined ? undefined : request.params?.[source];
  if (typeof name !== 'string') return null;
  const said = readHeader(headers, 'mcp-name');
  if (said === undefined) return mismatch(`Mcp-Name is missing: the body has params.${source}`);
  const decoded = decodeHeaderText(said);
  if (decoded === null) return mismatch('Mcp-Name is not well-formed Base64');
  return decoded === name ? null : mismatch(`Mcp-Name is not the params.${source} of the body`);
}

/** Whether the arguments of a call that the tool wants in the head too are there. @param schema the tool's input schema */
export function judgeHeaderParams(
  schema: object,
  params: JsonObject,
  headers: readonly string[],
): RpcError | null {
  for (const { path, header, numeric } of findHeaderParams(schema)) {
    const value = readPath(params['arguments'], path);
    if (!['string', 'number', 'boolean'].includes(typeof value)) continue;
    const said = readHeader(headers, header.toLowerCase());
    if (said === undefined) return mismatch(`${header} is missing: the body has ${path.join('.')}`);
    const decoded = decodeHeaderText(said);
    if (decoded === null) return mismatch(`${header} is not well-formed Base64`);
    const same =
      numeric && typeof value === 'number' && DECIMAL.test(decoded)
        ? Number(decoded) === value
        : decoded === String(value);
    if (!same) return mismatch(`${header} is not the ${path.join('.')} of the body`);
  }
  return null;
}

function mismatch(what: string): RpcError {
  return { code: RPC.headerMismatch, message: `the headers and the body disagree: ${what}` };
}

/** Which parameter names what a method is for. */
const NAMED_BY: Readonly<Record<string, 'name' | 'uri' | 'taskId'>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
  // SEP-2663
  'tasks/get': 'taskId',
  'tasks/update': 'taskId',
  'tasks/cancel': 'taskId',
};
const DECIMAL = /^-?\d+(?:\.\d+)?$/;

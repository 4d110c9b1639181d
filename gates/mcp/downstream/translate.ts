/**
 * What an answer must become for a client of the other era: fields that one era requires and the other does not know,
 * and codes that changed. Everything else of an answer stays as it came.
 */
import { isJsonObject, type JsonObject, RPC, type RpcError } from '../messages.ts';
import type { PeerAbout } from '../way.ts';
import { META } from './names.ts';

/** A result of either era, as a modern client takes it. */
export function toModern(method: string, result: JsonObject, about: PeerAbout): JsonObject {
  const resultType = result['resultType'] ?? 'complete';
  const cacheable = resultType === 'complete' && CACHEABLE.has(method);
  // What one session is shown is not for another one's cache.
  const cached = cacheable ? { ttlMs: wholeTime(result['ttlMs']), cacheScope: 'private' } : {};
  const meta = isJsonObject(result['_meta']) ? result['_meta'] : {};
  return { ...result, resultType, ...cached, _meta: { [META.serverInfo]: about.serverInfo, ...meta } };
}

/** A whole result of either era, as a legacy client takes it. */
export function toLegacy(method: string, result: JsonObject): JsonObject {
  const { resultType: _type, ...rest } = result;
  if (CACHEABLE.has(method)) {
    const { ttlMs: _ttl, cacheScope: _scope, ...lasting } = rest;
    return method === 'tools/list' ? withObjectSchemas(lasting) : lasting;
  }
  return method === 'tools/call' ? withObjectContent(rest) : rest;
}

/** An error of a server of either era, for a modern client. @param declared what this client says that it can */
export function toModernError(method: string, error: RpcError, declared: JsonObject): RpcError {
  if (error.code === RPC.missingCapability) return ofCapability(error, declared);
  if (error.code === LEGACY_NO_RESOURCE && method === 'resources/read')
    return { ...error, code: RPC.invalidParams };
  return ofOtherHop(error);
}

export function toLegacyError(error: RpcError): RpcError {
  return error.code === RPC.missingCapability ? { ...error, code: RPC.internal } : ofOtherHop(error);
}

/** The server was told less than the client can, where the session does not let it ask for more. */
function ofCapability(error: RpcError, declared: JsonObject): RpcError {
  const required = isJsonObject(error.data) ? error.data['requiredCapabilities'] : undefined;
  const lacks = isJsonObject(required) && Object.keys(required).some((name) => declared[name] === undefined);
  if (lacks) return error;
  return {
    code: RPC.internal,
    message: `the session does not let the server ask the client: ${error.message}`,
  };
}

/** These speak of the headers and versions between the gate and the server, which the client has no part in. */
function ofOtherHop(error: RpcError): RpcError {
  const others: readonly number[] = [RPC.headerMismatch, RPC.unsupportedVersion];
  return others.includes(error.code) ? { ...error, code: RPC.internal } : error;
}

/** What a modern client sees of a server's capabilities. */
export function capabilitiesForModern(capabilities: JsonObject): JsonObject {
  // The experiment of 2025-11-25; its successor is an extension.
  const { tasks: _tasks, ...rest } = capabilities;
  return rest;
}

/** Up to 2025-11-25 an output schema is one of an object; without one, nothing is checked. */
function withObjectSchemas(result: JsonObject): JsonObject {
  const { tools } = result;
  if (!Array.isArray(tools)) return result;
  return { ...result, tools: tools.map(withObjectSchema) };
}

function withObjectSchema(tool: unknown): unknown {
  if (!isJsonObject(tool) || !isJsonObject(tool['outputSchema'])) return tool;
  if (tool['outputSchema']['type'] === 'object') return tool;
  const { outputSchema: _schema, ...rest } = tool;
  return rest;
}

/** So is its structured content, and a client that reads only text shall see it too. */
function withObjectContent(result: JsonObject): JsonObject {
  const { structuredContent: structured, content } = result;
  if (structured === undefined || isJsonObject(structured)) return result;
  const told = Array.isArray(content) && content.length > 0;
  const text = [{ type: 'text', text: JSON.stringify(structured) }];
  return { ...result, content: told ? content : text, structuredContent: { result: structured } };
}

function wholeTime(value: unknown): number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 ? value : 0;
}

const CACHEABLE: ReadonlySet<string> = new Set([
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'server/discover',
]);
const LEGACY_NO_RESOURCE = -32_002;

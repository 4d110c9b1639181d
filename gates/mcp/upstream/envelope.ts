/** A request as a server of either era reads it: what is said of the client, of progress and of logs beside its params. */
import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  LOG_LEVEL_META_KEY,
  PROTOCOL_VERSION_META_KEY,
} from '@modelcontextprotocol/client';
import { VERSION } from '../../../core-lite/version.ts';
import type { JsonObject, RequestId, RpcRequest } from '../messages.ts';
import type { Asked, AskedMeta, ClientFacts } from './server.ts';

/** @param version of a modern server; `null` for a legacy one, which knows it from its handshake */
export function formRequest(
  id: RequestId,
  { method, params, meta }: Asked,
  version: string | null,
): RpcRequest {
  const said = { ...meta.rest, ...(version === null ? {} : aboutClient(meta, version)) };
  const all = meta.wantsProgress ? { ...said, progressToken: id } : said;
  const _meta = Object.keys(all).length > 0 ? { _meta: all } : {};
  return { jsonrpc: '2.0', id, method, params: { ...params, ..._meta } };
}

function aboutClient({ client, logLevel }: AskedMeta, version: string): JsonObject {
  return {
    [PROTOCOL_VERSION_META_KEY]: version,
    [CLIENT_INFO_META_KEY]: client.info ?? OURSELVES,
    [CLIENT_CAPABILITIES_META_KEY]: client.capabilities,
    ...(logLevel === null ? {} : { [LOG_LEVEL_META_KEY]: logLevel }),
  };
}

/** What nobody asked for but us: no progress, no logs. */
export function ownAsking(method: string, params: JsonObject, client: ClientFacts): Asked {
  return { method, params, meta: { client, logLevel: null, wantsProgress: false, rest: {} } };
}

export const OURSELVES: JsonObject = { name: 'sallyport', version: VERSION };
/** The revision of the modern era that is spoken here. */
export const MODERN_VERSION = '2026-07-28';

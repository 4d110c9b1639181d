/**
 * A client's request, as it is put to a peer: its parameters apart from what its `_meta` says of the client, of log
 * messages and of progress. What else stands there goes on as it is, trace context above all.
 */

import { isJsonObject, type JsonObject, type RequestId, type RpcRequest } from '../messages.ts';
import type { Asked, ClientFacts } from '../upstream/server.ts';
import { readHeader } from './head.ts';
import { META, PROGRESS } from './names.ts';

export interface ReadRequest {
  readonly asked: Asked;
  /** By which the client knows the progress of this request; `null` where it asks for none. */
  readonly progressToken: RequestId | null;
}

export interface AskedBy {
  readonly client: ClientFacts;
  readonly logLevel: string | null;
  /** Raw, of the request that brought it. */
  readonly headers: readonly string[];
}

export function readRequest({ method, params = {} }: RpcRequest, by: AskedBy): ReadRequest {
  const { _meta, ...rest } = params;
  const meta = isJsonObject(_meta) ? _meta : {};
  const token = meta[META.progressToken];
  const progressToken = typeof token === 'string' || typeof token === 'number' ? token : null;
  const { client, logLevel, headers } = by;
  return {
    asked: {
      method,
      params: rest,
      meta: { client, logLevel, wantsProgress: progressToken !== null, rest: restOf(meta, headers) },
    },
    progressToken,
  };
}

/** Who asks, as a modern request tells it. */
export function readModernClient(params: JsonObject | undefined): Omit<AskedBy, 'headers'> {
  const meta = isJsonObject(params?.['_meta']) ? params['_meta'] : {};
  const { [META.clientInfo]: info, [META.clientCapabilities]: capabilities, [META.logLevel]: level } = meta;
  return {
    client: {
      info: isJsonObject(info) ? info : null,
      capabilities: isJsonObject(capabilities) ? capabilities : {},
    },
    logLevel: typeof level === 'string' ? level : null,
  };
}

/** `notifications/progress` as the client knows it. */
export function progressFor(token: RequestId, params: JsonObject) {
  return { jsonrpc: '2.0', method: PROGRESS, params: { ...params, progressToken: token } } as const;
}

function restOf(meta: JsonObject, headers: readonly string[]): JsonObject {
  const rest = Object.entries(meta).filter(([name]) => !OURS.has(name));
  const traced = TRACE.flatMap((name) => {
    const value = name in meta ? undefined : readHeader(headers, name);
    return value === undefined ? [] : [[name, value] as const];
  });
  return Object.fromEntries([...rest, ...traced]);
}

const OURS: ReadonlySet<string> = new Set([
  META.protocolVersion,
  META.clientInfo,
  META.clientCapabilities,
  META.logLevel,
  META.progressToken,
]);
/** W3C Trace Context and Baggage: the names are the same in a head and in `_meta`. */
const TRACE = ['traceparent', 'tracestate', 'baggage'] as const;

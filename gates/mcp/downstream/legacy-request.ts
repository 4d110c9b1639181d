/** One request of a legacy session: what its era keeps in the session is answered here, everything else by the peer. */
import { RPC, type RpcRequest } from '../messages.ts';
import type { Way } from '../upstream/server.ts';
import type { McpPeer, PeerOutcome } from '../way.ts';
import { progressFor, readRequest } from './asked.ts';
import { type Asking, askClient } from './legacy-answers.ts';
import { requestInRounds } from './legacy-rounds.ts';
import { has } from './listen.ts';
import { isLogLevel } from './log-level.ts';
import { LOG_MESSAGE } from './names.ts';

export interface LegacyAsking extends Asking {
  /** Raw. */
  readonly headers: readonly string[];
}

export async function runLegacyRequest(
  peer: McpPeer,
  asking: LegacyAsking,
  request: RpcRequest,
): Promise<PeerOutcome> {
  const own = answerOwn(peer, asking, request);
  if (own) return own;
  const { session, memory, headers, exchange } = asking;
  const client = { info: session.clientInfo, capabilities: session.clientCapabilities };
  const { asked, progressToken } = readRequest(request, { client, logLevel: memory.logLevel, headers });
  const way: Way = {
    signal: asking.signal,
    onProgress: (params) => {
      if (progressToken !== null) exchange.send(progressFor(progressToken, params));
    },
    onLog: (params) => exchange.send({ jsonrpc: '2.0', method: LOG_MESSAGE, params }),
    onRequest: (question) => askClient(asking, question),
  };
  return requestInRounds(peer, asked, way);
}

/** `null` for what is the peer's to answer. */
function answerOwn(
  { about: { capabilities } }: McpPeer,
  { memory }: LegacyAsking,
  { method, params = {} }: RpcRequest,
): PeerOutcome | null {
  const { uri, level } = params;
  switch (method) {
    case 'ping':
      return DONE;
    case 'logging/setLevel':
      if (capabilities['logging'] === undefined) return unknown(method);
      if (!isLogLevel(level)) return wrong('level is none of RFC 5424');
      memory.logLevel = level;
      return DONE;
    case 'resources/subscribe':
    case 'resources/unsubscribe':
      if (!has(capabilities, 'resources', 'subscribe')) return unknown(method);
      if (typeof uri !== 'string') return wrong('uri is not a text');
      if (method === 'resources/unsubscribe') memory.subscribed.delete(uri);
      else if (memory.subscribed.size < MAX_SUBSCRIBED) memory.subscribed.add(uri);
      else return wrong('too many resources are subscribed to');
      memory.stream?.restart();
      return DONE;
    case 'initialize':
      return { error: { code: RPC.invalidRequest, message: 'the session is initialized already' } };
    case 'server/discover':
    case 'subscriptions/listen':
      return unknown(method);
    default:
      return null;
  }
}

function unknown(method: string): PeerOutcome {
  return { error: { code: RPC.methodNotFound, message: `Method not found: ${method}` } };
}

function wrong(what: string): PeerOutcome {
  return { error: { code: RPC.invalidParams, message: what } };
}

const DONE: PeerOutcome = { result: {} };
const MAX_SUBSCRIBED = 1_000;

/** One request of a legacy session: what its era keeps in the session is answered here, everything else by the peer. */

import { ALL_GATES } from '../letters.ts';
import { RPC, type RpcRequest } from '../messages.ts';
import type { Way } from '../upstream/server.ts';
import type { McpPeer, PeerOutcome } from '../way.ts';
import { progressFor, readRequest } from './asked.ts';
import type { Downstream } from './context.ts';
import { type Asking, askClient } from './legacy-answers.ts';
import { requestInRounds } from './legacy-rounds.ts';
import { has } from './listen.ts';
import { isLogLevel } from './log-level.ts';
import { LOG_MESSAGE } from './names.ts';
import type { SessionSettings } from './session-store.ts';

export interface LegacyAsking extends Asking {
  /** Aborted when the request is over. */
  readonly signal: AbortSignal;
  /** Raw. */
  readonly headers: readonly string[];
}

export async function runLegacyRequest(
  down: Pick<Downstream, 'memory' | 'letters'>,
  peer: McpPeer,
  asking: LegacyAsking,
  request: RpcRequest,
): Promise<PeerOutcome> {
  const own = await answerOwn(down, peer, asking, request);
  if (own) return own;
  const { session, memory, headers, exchange } = asking;
  const client = { info: session.clientInfo, capabilities: session.clientCapabilities };
  const { asked, progressToken } = readRequest(request, {
    client,
    logLevel: memory.settings?.logLevel ?? null,
    headers,
  });
  const way: Way = {
    signal: asking.signal,
    onProgress: (params) => {
      if (progressToken !== null) exchange.send(progressFor(progressToken, params));
    },
    onLog: (params) => exchange.send({ jsonrpc: '2.0', method: LOG_MESSAGE, params }),
    onRequest: (question, signal = asking.signal) => askClient(asking, question, signal),
  };
  return requestInRounds(peer, asked, way);
}

/** `null` for what is the peer's to answer. */
async function answerOwn(
  down: Pick<Downstream, 'memory' | 'letters'>,
  { about: { capabilities } }: McpPeer,
  { session: { key, session }, memory: { settings } }: LegacyAsking,
  { method, params = {} }: RpcRequest,
): Promise<PeerOutcome | null> {
  const set = async (change: Partial<SessionSettings>): Promise<PeerOutcome> => {
    await down.memory.set(key, session, change);
    await down.letters.send(ALL_GATES, { kind: 'changed', session: key });
    return DONE;
  };
  const { uri, level } = params;
  const others = (settings?.subscribed ?? []).filter((each) => each !== uri);
  switch (method) {
    case 'ping':
      return DONE;
    case 'logging/setLevel':
      if (capabilities['logging'] === undefined) return unknown(method);
      return isLogLevel(level) ? set({ logLevel: level }) : wrong('level is none of RFC 5424');
    case 'resources/subscribe':
      if (!has(capabilities, 'resources', 'subscribe')) return unknown(method);
      if (typeof uri !== 'string' || uri.length > MAX_URI_LENGTH) return wrong('uri is no text, or too long');
      if (others.length >= MAX_SUBSCRIBED) return wrong('too many resources are subscribed to');
      return set({ subscribed: [...others, uri] });
    case 'resources/unsubscribe':
      return has(capabilities, 'resources', 'subscribe') ? set({ subscribed: others }) : unknown(method);
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
const MAX_SUBSCRIBED = 200;
const MAX_URI_LENGTH = 4_096;

/**
 * Serves one message of a modern client: nothing is remembered between two of them, and a client that leaves has
 * cancelled. What belongs to the era alone is answered here; everything else is the peer's.
 */
import type { ServerResponse } from 'node:http';
import { RPC, type RpcError, type RpcNotification, type RpcRequest } from '../messages.ts';
import type { McpPeer } from '../way.ts';
import { readModernClient, readRequest } from './asked.ts';
import { type Arrival, beginCall, type Downstream, openPeer } from './context.ts';
import { tellRefusal, tellUnanswered } from './errors.ts';
import { Exchange } from './exchange.ts';
import { serveListen } from './listen.ts';
import { type ModernServing, tell } from './modern-answer.ts';
import { judgeHeaderParams } from './modern-head.ts';
import { runModernRequest } from './modern-rounds.ts';
import { META, MODERN_VERSION } from './names.ts';
import { capabilitiesForModern, toModern } from './translate.ts';

/** Serves a request whose head was judged. Never rejects. */
export async function serveModern(
  down: Downstream,
  arrival: Arrival,
  request: RpcRequest,
  response: ServerResponse,
): Promise<void> {
  const exchange = new Exchange(response);
  const begun = beginCall(down, arrival, response);
  if (!begun) return tell(exchange, request.id, tellRefusal({ refusal: 'mcp_busy' }, arrival.userAgent));
  const keep = { held: false };
  try {
    await serve(down, arrival, { ...begun, request, exchange, response, keep });
  } catch (error) {
    down.gate.record.failure(error);
    tell(exchange, request.id, tellRefusal({ refusal: 'internal' }, arrival.userAgent));
  } finally {
    // A call that waits for its client's next round is ended by its outcome.
    if (!keep.held) begun.end();
  }
}

/** A notification: nothing comes back. */
export async function takeModernNotification(
  down: Downstream,
  arrival: Arrival,
  { method, params = {} }: RpcNotification,
): Promise<void> {
  const begun = beginCall(down, arrival, null);
  if (!begun) return;
  try {
    const peer = await openPeer(down, begun.call, arrival);
    if ('about' in peer) await peer.notify(method, params);
  } catch (error) {
    down.gate.record.failure(error);
  } finally {
    begun.end();
  }
}

async function serve(down: Downstream, arrival: Arrival, serving: ModernServing): Promise<void> {
  const { call, request, exchange } = serving;
  const { id, method } = request;
  if (NOT_MODERN.has(method)) return tell(exchange, id, { ...noMethod(method), headers: {} });
  const peer = await openPeer(down, call, arrival);
  if (!('about' in peer)) return tell(exchange, id, tellUnanswered(peer, arrival.userAgent));
  if (method === 'server/discover') {
    return exchange.finish({ jsonrpc: '2.0', id, result: toModern(method, discover(peer), peer.about) });
  }
  if (method === 'subscriptions/listen') return serveListen(down, peer, serving);
  const { headers } = arrival;
  const read = readRequest(request, { ...readModernClient(request.params), headers });
  const wrong = judgeCall(peer, read.asked.method, read.asked.params, headers);
  if (wrong) return tell(exchange, id, { error: wrong, status: 400, headers: {} });
  return runModernRequest(down, arrival, peer, serving, read);
}

function judgeCall(
  peer: McpPeer,
  method: string,
  params: Readonly<Record<string, unknown>>,
  headers: readonly string[],
): RpcError | null {
  const name = params['name'];
  if (method !== 'tools/call' || typeof name !== 'string') return null;
  const schema = peer.inputSchema(name);
  return schema ? judgeHeaderParams(schema, params, headers) : null;
}

function discover({ about: { capabilities, instructions, serverInfo } }: McpPeer) {
  return {
    supportedVersions: [MODERN_VERSION],
    capabilities: capabilitiesForModern(capabilities),
    ...(instructions === null ? {} : { instructions }),
    _meta: { [META.serverInfo]: serverInfo },
  };
}

function noMethod(method: string) {
  return { error: { code: RPC.methodNotFound, message: `Method not found: ${method}` }, status: 404 };
}

/** What the era has no more. */
const NOT_MODERN: ReadonlySet<string> = new Set([
  'initialize',
  'ping',
  'logging/setLevel',
  'resources/subscribe',
  'resources/unsubscribe',
  'roots/list',
  'sampling/createMessage',
  'elicitation/create',
  'tasks/list',
  'tasks/result',
]);

/**
 * `subscriptions/listen`: a stream of what a modern client asked to hear, and nothing else. What will be heard is said
 * first; each message bears the id of the subscription; when the gate ends it, it says so with a result.
 */
import { isJsonObject, type JsonObject, type RequestId, RPC } from '../messages.ts';
import type { ServerNotification } from '../upstream/server.ts';
import type { McpPeer, PeerAbout, PeerFilter } from '../way.ts';
import type { Downstream } from './context.ts';
import { type ModernServing, tell } from './modern-answer.ts';
import { CHANGES, META, RESOURCE_UPDATED } from './names.ts';
import { toModern } from './translate.ts';

export function serveListen(down: Downstream, peer: McpPeer, serving: ModernServing): void {
  const { call, end: endCall, request, exchange, response, keep } = serving;
  const { id } = request;
  const filter = readFilter(request.params?.['notifications'], peer.about);
  if (!filter) {
    refuse(serving, RPC.invalidParams, 'params.notifications is not a filter');
    return;
  }
  const ending = new AbortController();
  const end = (): void => ending.abort();
  const leave = down.streams.enter(call.token.claims.sub, end);
  if (!leave) {
    refuse(serving, RPC.internal, 'too many streams are open');
    return;
  }
  const stream = exchange.handOver();
  keep.held = true;
  const say = ({ method, params }: ServerNotification): void =>
    stream?.send({ jsonrpc: '2.0', method, params: stamp(params, id) });
  say({ method: 'notifications/subscriptions/acknowledged', params: { notifications: filter } });
  const subscription = peer.subscribe(filter, (said) => (hears(filter, said) ? say(said) : undefined), end);
  const close = (): void => {
    leave();
    subscription.close();
    stream?.send({ jsonrpc: '2.0', id, result: stamp(toModern(request.method, {}, peer.about), id) });
    stream?.end();
    endCall();
  };
  ending.signal.addEventListener('abort', close, { once: true });
  call.signal.addEventListener('abort', end, { once: true });
  if (ending.signal.aborted) close();
  else if (call.signal.aborted || response.destroyed) end();
}

/** Of what is asked for, what there is to hear; `null` where it is no filter. */
function readFilter(asked: unknown, { capabilities }: PeerAbout): PeerFilter | null {
  if (!isJsonObject(asked)) return null;
  const filter: Record<string, unknown> = {};
  for (const { flag, capability } of Object.values(CHANGES)) {
    if (asked[flag] !== undefined && typeof asked[flag] !== 'boolean') return null;
    if (asked[flag] === true && has(capabilities, capability, 'listChanged')) filter[flag] = true;
  }
  const { resourceSubscriptions: uris } = asked;
  if (uris === undefined) return filter;
  if (!Array.isArray(uris) || uris.length > MAX_URIS) return null;
  if (!uris.every((uri) => typeof uri === 'string')) return null;
  if (has(capabilities, 'resources', 'subscribe')) filter['resourceSubscriptions'] = uris;
  return filter;
}

export function has(capabilities: JsonObject, name: string, part: string): boolean {
  const capability = capabilities[name];
  return isJsonObject(capability) && capability[part] === true;
}

function hears(filter: PeerFilter, { method, params }: ServerNotification): boolean {
  if (method === RESOURCE_UPDATED)
    return filter.resourceSubscriptions?.includes(String(params['uri'])) ?? false;
  const change = Object.hasOwn(CHANGES, method) ? CHANGES[method as keyof typeof CHANGES] : undefined;
  return change !== undefined && filter[change.flag] === true;
}

function stamp(params: JsonObject, id: RequestId): JsonObject {
  const meta = isJsonObject(params['_meta']) ? params['_meta'] : {};
  return { ...params, _meta: { ...meta, [META.subscriptionId]: id } };
}

function refuse({ exchange, request }: ModernServing, code: number, message: string): void {
  tell(exchange, request.id, { error: { code, message }, status: 200, headers: {} });
}

const MAX_URIS = 1_000;

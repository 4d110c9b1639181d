/**
 * Serves what a legacy client posts: a request is answered with JSON or a stream, everything else with 202. A client that
 * leaves has cancelled nothing: its call goes on, and what it misses is kept for it.
 */
import type { ServerResponse } from 'node:http';
import { formatRefusal, send } from '../../answer.ts';
import type { Call } from '../../calls.ts';
import { ALL_GATES } from '../letters.ts';
import { type RequestId, RPC, type RpcMessage, type RpcNotification, type RpcRequest } from '../messages.ts';
import type { PeerOutcome } from '../way.ts';
import { type Arrival, beginCall, type Downstream, openPeer } from './context.ts';
import { type Told, tellRefusal, tellUnanswered } from './errors.ts';
import { Exchange, type Sink } from './exchange.ts';
import { takeAnswer } from './legacy-answers.ts';
import { initialize } from './legacy-initialize.ts';
import { forwardAnswer, forwardCancel } from './legacy-letters.ts';
import { nameId } from './legacy-memory.ts';
import { runLegacyRequest } from './legacy-request.ts';
import { CANCELLED, RESUMES_IN } from './names.ts';
import { keyOf, type NamedSession } from './session-id.ts';
import { toLegacy, toLegacyError } from './translate.ts';

/** `initialize`, which no session is named for. Never rejects. */
export async function serveInitialize(
  down: Downstream,
  arrival: Arrival,
  request: RpcRequest,
  response: ServerResponse,
): Promise<void> {
  await withCall(
    down,
    arrival,
    request.id,
    new Exchange(response, { whole: true }),
    async (call, exchange) => {
      const peer = await openPeer(down, call, arrival);
      if (!('about' in peer)) return tell(exchange, request.id, tellUnanswered(peer, arrival.userAgent));
      const made = initialize(down, arrival, request, peer);
      if (!made) return tell(exchange, request.id, TOO_MUCH);
      const { id, result } = made;
      down.memory.begin(keyOf(id));
      exchange.finish({ jsonrpc: '2.0', id: request.id, result }, 200, { 'mcp-session-id': id });
    },
  );
}

/** A request of a session. Never rejects. */
export async function serveLegacyRequest(
  down: Downstream,
  arrival: Arrival,
  session: NamedSession,
  request: RpcRequest,
  exchange: Sink,
): Promise<void> {
  const memory = down.memory.of(session.key);
  await withCall(down, arrival, request.id, exchange, async (call) => {
    const cancelled = new AbortController();
    const name = nameId(request.id);
    const cancel = (): void => {
      cancelled.abort();
      // What is said of it from now on is of no use to anyone.
      exchange.abandon();
    };
    memory.running.set(name, cancel);
    try {
      const peer = await openPeer(down, call, arrival);
      if (!('about' in peer)) return tell(exchange, request.id, tellUnanswered(peer, arrival.userAgent));
      // From here on the client may lose its connection, and take the answer up again.
      if (session.version === RESUMES_IN) exchange.begin();
      const signal = AbortSignal.any([call.signal, cancelled.signal]);
      const { headers } = arrival;
      const outcome = await runLegacyRequest(
        down,
        peer,
        { replica: down.replica, session, memory, exchange, signal, headers },
        request,
      );
      answer(exchange, request, outcome, arrival);
    } finally {
      if (memory.running.get(name) === cancel) memory.running.delete(name);
    }
  });
}

/** The client is done with it. Never rejects. */
export async function endSession(
  { gate, memory, letters }: Downstream,
  { key, session }: NamedSession,
  response: ServerResponse,
): Promise<void> {
  try {
    await memory.set(key, session, { ended: true });
    await letters.send(ALL_GATES, { kind: 'changed', session: key });
    send(response, { status: 200, headers: {}, body: '' });
  } catch (error) {
    gate.record.failure(error);
    send(response, formatRefusal('mcp', 'facts_unavailable'));
  }
}

/** A notification, or the answer to what the client was asked. Never rejects. */
export async function takeLegacyMessage(
  down: Downstream,
  arrival: Arrival,
  session: NamedSession,
  message: Exclude<RpcMessage, RpcRequest>,
): Promise<void> {
  const memory = down.memory.of(session.key);
  if ('id' in message) {
    if (!takeAnswer(memory, message)) await forwardAnswer(down.letters, down.replica, session.key, message);
    return;
  }
  if (message.method === CANCELLED) return cancelRunning(down, session, message);
  if (message.method === 'notifications/initialized') return;
  const begun = beginCall(down, arrival, null);
  if (!begun) return;
  try {
    const peer = await openPeer(down, begun.call, arrival);
    if ('about' in peer) await peer.notify(message.method, message.params ?? {});
  } catch (error) {
    down.gate.record.failure(error);
  } finally {
    begun.end();
  }
}

async function cancelRunning(
  { memory, letters }: Downstream,
  { key }: NamedSession,
  { params = {} }: RpcNotification,
): Promise<void> {
  const { requestId: id } = params;
  if ((typeof id !== 'string' && typeof id !== 'number') || String(id).length > MAX_ID_LENGTH) return;
  const cancel = memory.of(key).running.get(nameId(id));
  if (cancel) cancel();
  else await forwardCancel(letters, key, id);
}

async function withCall(
  down: Downstream,
  arrival: Arrival,
  id: RequestId,
  exchange: Sink,
  work: (call: Call, exchange: Sink) => Promise<void>,
): Promise<void> {
  const begun = beginCall(down, arrival, null);
  if (!begun) return tell(exchange, id, tellRefusal({ refusal: 'mcp_busy' }, arrival.userAgent));
  try {
    await work(begun.call, exchange);
  } catch (error) {
    down.gate.record.failure(error);
    tell(exchange, id, tellRefusal({ refusal: 'internal' }, arrival.userAgent));
  } finally {
    begun.end();
  }
}

function answer(
  exchange: Sink,
  { id, method }: RpcRequest,
  outcome: PeerOutcome,
  { userAgent }: Arrival,
): void {
  if ('failure' in outcome || 'refusal' in outcome) tell(exchange, id, tellUnanswered(outcome, userAgent));
  else if ('error' in outcome) exchange.finish({ jsonrpc: '2.0', id, error: toLegacyError(outcome.error) });
  else exchange.finish({ jsonrpc: '2.0', id, result: toLegacy(method, outcome.result) });
}

function tell(exchange: Sink, id: RequestId, { error, status, headers }: Told): void {
  exchange.finish({ jsonrpc: '2.0', id, error }, status, headers);
}

const MAX_ID_LENGTH = 256;
const TOO_MUCH: Told = {
  error: {
    code: RPC.invalidParams,
    message: 'clientInfo and capabilities are too long; send at most 6 KiB',
  },
  status: 400,
  headers: {},
};

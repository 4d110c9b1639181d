/** What is posted to a legacy session: one message, or in the revision that has them, many at once. */
import type { ServerResponse } from 'node:http';
import { isJSONRPCNotification, isJSONRPCRequest, isJSONRPCResponse } from '@modelcontextprotocol/server';
import { send } from '../../answer.ts';
import { type RequestId, RPC, type RpcMessage, type RpcRequest } from '../messages.ts';
import type { Arrival, Downstream } from './context.ts';
import { Exchange } from './exchange.ts';
import { sendJson } from './json-answer.ts';
import { serveLegacyRequest, takeLegacyMessage } from './legacy.ts';
import { serveBatch } from './legacy-batch.ts';
import { findSession } from './legacy-session.ts';
import { RESUMES_IN } from './names.ts';
import type { NamedSession } from './session-id.ts';

export async function postToSession(
  down: Downstream,
  arrival: Arrival,
  value: unknown,
  response: ServerResponse,
): Promise<void> {
  const session = await findSession(down, arrival, response);
  if (!session) return;
  const messages = Array.isArray(value) ? value : [value];
  if (messages.length === 0 || messages.length > MAX_BATCH || !messages.every(isMessage)) {
    return sendJson(response, 400, { code: RPC.invalidRequest, message: 'the body is no JSON-RPC message' });
  }
  if (Array.isArray(value) && session.version !== BATCHES_IN) {
    const message = `batches are not spoken in ${session.version}; send one message`;
    return sendJson(response, 400, { code: RPC.invalidRequest, message });
  }
  const requests = messages.filter((message) => 'method' in message && 'id' in message);
  const others = messages.filter((message) => !('method' in message && 'id' in message));
  const taken = others.map((message) =>
    takeLegacyMessage(down, arrival, session, message as Exclude<RpcMessage, RpcRequest>),
  );
  const [first] = requests;
  if (!first) send(response, { status: 202, headers: {}, body: '' });
  else if (Array.isArray(value)) await serveBatch(down, arrival, session, requests as RpcRequest[], response);
  else {
    const exchange = exchangeFor(down, session, first as RpcRequest, response);
    await serveLegacyRequest(down, arrival, session, first as RpcRequest, exchange);
  }
  await Promise.all(taken);
}

function exchangeFor(
  { kept }: Downstream,
  { version, key }: NamedSession,
  { id }: { readonly id: RequestId },
  response: ServerResponse,
): Exchange {
  // Older clients choke on the event that a stream which can be taken up again begins with.
  return new Exchange(response, { keep: version === RESUMES_IN ? () => kept.open(key, id) : null });
}

function isMessage(value: unknown): value is RpcMessage {
  return isJSONRPCRequest(value) || isJSONRPCNotification(value) || isJSONRPCResponse(value);
}

const BATCHES_IN = '2025-03-26';
const MAX_BATCH = 100;

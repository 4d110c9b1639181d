/**
 * The stream that a legacy client reads what comes by itself from: lists that changed, resources it subscribed to, and
 * whatever else its server says unasked. A session has one; a new one takes its place, since the gate may hear late, or
 * never, that a client is gone. With `Last-Event-ID` it is the stream of an answer that broke.
 */
import type { ServerResponse } from 'node:http';
import type { Call } from '../../calls.ts';
import type { ServerNotification } from '../upstream/server.ts';
import type { McpPeer, PeerFilter } from '../way.ts';
import { type Arrival, type Downstream, openPeer } from './context.ts';
import { tellRefusal, tellUnanswered } from './errors.ts';
import { EventStream } from './event-stream.ts';
import { sendJson } from './json-answer.ts';
import type { Remembered } from './legacy-memory.ts';
import type { NamedSession } from './session-id.ts';

/** Resolves when the stream is open, or refused. Never rejects. */
export async function serveStream(
  down: Downstream,
  arrival: Arrival,
  session: NamedSession,
  response: ServerResponse,
): Promise<void> {
  const { gate } = down;
  const call = gate.calls.begin(arrival.token, gate.now(), response);
  try {
    const peer = await openPeer(down, call, arrival);
    if ('about' in peer && follow(down, session, peer, call, response)) return;
    const unopened = 'about' in peer ? ({ refusal: 'mcp_busy' } as const) : peer;
    const told = tellUnanswered(unopened, arrival.userAgent);
    sendJson(response, told.status === 200 ? 502 : told.status, told.error, told.headers);
  } catch (error) {
    gate.record.failure(error);
    sendJson(response, 500, tellRefusal({ refusal: 'internal' }, arrival.userAgent).error);
  }
  gate.calls.end(call);
}

/** Takes up the stream of an answer again. */
export function resumeStream(
  { kept }: Downstream,
  session: NamedSession,
  eventId: string,
  response: ServerResponse,
): boolean {
  const found = kept.find(session.key, eventId);
  if (!found) return false;
  const reader = new EventStream(response);
  if ('stream' in found) {
    found.stream.attach(reader, response, found.after);
    return true;
  }
  const message =
    'the stream is not kept any more: the request may have been carried out, its answer is lost';
  reader.send({ jsonrpc: '2.0', id: found.lost, error: { code: 502, message, data: { reason: 'lost' } } });
  reader.end();
  return true;
}

/** @returns whether there is room. The call ends with the stream. */
function follow(
  down: Downstream,
  session: NamedSession,
  peer: McpPeer,
  call: Call,
  response: ServerResponse,
): boolean {
  const memory = down.memory.of(session.key);
  const ending = new AbortController();
  const end = (): void => ending.abort();
  const leave = down.streams.enter(session.session, end);
  if (!leave) return false;
  memory.stream?.end();
  const stream = new EventStream(response);
  const say = (said: ServerNotification): void => stream.send({ jsonrpc: '2.0', ...said });
  const subscribe = () => peer.subscribe(filterOf(memory), say, end);
  let subscription = subscribe();
  const own = {
    restart: () => {
      subscription.close();
      subscription = subscribe();
    },
    end,
  };
  memory.stream = own;
  const close = (): void => {
    if (memory.stream === own) memory.stream = null;
    leave();
    subscription.close();
    stream.end();
    down.gate.calls.end(call);
  };
  ending.signal.addEventListener('abort', close, { once: true });
  response.once('close', end);
  call.signal.addEventListener('abort', end, { once: true });
  if (ending.signal.aborted) close();
  else if (call.signal.aborted) end();
  return true;
}

function filterOf({ settings }: Remembered): PeerFilter {
  return {
    toolsListChanged: true,
    promptsListChanged: true,
    resourcesListChanged: true,
    resourceSubscriptions: settings?.subscribed ?? [],
    unasked: true,
  };
}

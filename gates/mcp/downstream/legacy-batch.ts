/** Requests that came in one body: each is served as if it came alone, and they are answered on one stream, as they end. */
import type { ServerResponse } from 'node:http';
import type { RpcRequest } from '../messages.ts';
import type { Arrival, Downstream } from './context.ts';
import { EventStream } from './event-stream.ts';
import type { Sink } from './exchange.ts';
import { serveLegacyRequest } from './legacy.ts';
import type { NamedSession } from './session-id.ts';

export async function serveBatch(
  down: Downstream,
  arrival: Arrival,
  session: NamedSession,
  requests: readonly RpcRequest[],
  response: ServerResponse,
): Promise<void> {
  const stream = new EventStream(response);
  await Promise.all(
    requests.map((request) => serveLegacyRequest(down, arrival, session, request, sinkOf(stream))),
  );
  stream.end();
}

function sinkOf(stream: EventStream): Sink {
  return {
    begin: () => {},
    send: (message) => stream.send(message),
    finish: (message) => stream.send(message),
    abandon: () => {},
  };
}

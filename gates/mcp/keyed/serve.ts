/** What the product's own routes of MCP share: whose run it is, and how an answer goes out. */
import type { ServerResponse } from 'node:http';
import { formatError, formatRefusal, send } from '../../answer.ts';
import type { CallerToken } from '../../caller-token.ts';
import type { AnyCall } from '../../calls.ts';
import type { Gate } from '../../gate.ts';
import type { RefusalReason } from '../../reasons.ts';

export interface KeyedArrival {
  readonly token: CallerToken;
  /** Its `Idempotency-Key`; `null` for a call that ends with its caller. */
  readonly key: string | null;
  readonly source: string;
  readonly userAgent: string;
  readonly body: Buffer;
}

/** One line on what is wrong with the body. */
export interface Malformed {
  readonly malformed: string;
}

export type Served = { readonly body: string } | Malformed | RefusalReason;

/** Serves one call. Never rejects. */
export async function serveKeyed(
  gate: Gate,
  arrival: KeyedArrival,
  response: ServerResponse,
  work: (call: AnyCall) => Promise<Served>,
): Promise<void> {
  const call = gate.calls.begin(arrival.token, gate.now(), response);
  try {
    answer(gate, arrival, response, await work(call));
  } catch (error) {
    gate.record.failure(error);
    answer(gate, arrival, response, 'internal');
  } finally {
    gate.calls.end(call);
  }
}

function answer(gate: Gate, arrival: KeyedArrival, response: ServerResponse, served: Served): void {
  if (typeof served === 'string') {
    gate.record.refusal(served, arrival.source);
    send(response, formatRefusal('own', served, arrival));
    return;
  }
  const headers = { 'content-type': 'application/json' };
  if ('body' in served) {
    send(response, { status: 200, headers, body: served.body });
    return;
  }
  gate.record.refusal('body_malformed', arrival.source);
  const body = formatError('own', 'body_malformed', 400, served.malformed);
  send(response, { status: 400, headers: { ...headers, 'x-should-retry': 'false' }, body });
}

/**
 * How a call's body comes in: only for a run that still holds, which is asked before anything of it is read, and only as
 * long as it does. A body that is not wanted is a refusal in its place.
 */
import type { ServerResponse } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { BodyHold } from './body-room.ts';
import { readRun } from './facts.ts';
import type { Gate } from './gate.ts';
import { receiveBody } from './read/arriving-body.ts';
import type { RefusalReason } from './reasons.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Set on routes that read a body, before it is read. */
    coming: Coming | undefined;
  }
}

interface Coming {
  readonly response: ServerResponse;
  readonly maxBytes: number;
  /** What the body takes. */
  readonly hold: BodyHold;
}

/** Opens the way for a body. @returns why none of it is read */
export async function openWay(
  gate: Gate,
  request: FastifyRequest,
  { raw: response }: FastifyReply,
  maxBytes: number,
): Promise<RefusalReason | null> {
  const { token } = request.caller;
  const hold = gate.room.open(token.claims.sub);
  const release = (): void => hold.release();
  response.once('close', release);
  // The answer to a pipelined request has no connection before those ahead of it are whole.
  if (!response.socket) request.raw.socket.once('close', release);
  // Whoever left while the token was looked at, is not told of again.
  if (response.destroyed || request.raw.socket.destroyed) release();
  request.coming = { response, maxBytes, hold };
  const noRoom = hold.begin();
  if (noRoom) return noRoom;
  const run = await readRun(gate.facts, token);
  return typeof run === 'string' ? run : null;
}

/** What stands in the place of a body that was not read. */
export function isRefusal(body: unknown): body is RefusalReason {
  return typeof body === 'string';
}

/** The whole body, or why it is not read. Where no route wants one nothing is read. */
export async function comeIn(gate: Gate, request: FastifyRequest): Promise<Buffer | RefusalReason> {
  const { coming, caller, raw } = request;
  if (request.is404 || !coming) return EMPTY;
  const { response, maxBytes, hold } = coming;
  const call = gate.calls.begin(caller.token, gate.now(), response);
  try {
    const grow = (bytes: number) => hold.set(bytes);
    const received = await receiveBody(raw, { maxBytes, grow, signal: call.signal });
    if (received !== 'broken') return received;
    return call.stopped === null || call.stopped === 'client_left' ? 'request_malformed' : call.stopped;
  } finally {
    hold.end();
    gate.calls.end(call);
  }
}

const EMPTY = Buffer.alloc(0);

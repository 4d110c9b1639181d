/** Room for a body, taken before it is read and let go of with its answer. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { BodyHold } from './body-room.ts';
import type { Gate } from './gate.ts';
import { refuse } from './listen.ts';

/** The hold, or the answer that there is no room. */
export function holdBody(
  gate: Gate,
  request: FastifyRequest,
  reply: FastifyReply,
  maxBytes: number,
): BodyHold | FastifyReply {
  const hold = gate.room.open(request.caller.token.claims.sub);
  const refusal = hold.set(announcedBytes(request, maxBytes));
  if (refusal) return refuse(gate, request, reply, refusal);
  const release = (): void => hold.release();
  reply.raw.once('close', release);
  // The answer to a pipelined request has no connection before those ahead of it are whole.
  if (!reply.raw.socket) request.raw.socket.once('close', release);
  return hold;
}

/** A body that does not tell its length may be as large as any. */
function announcedBytes({ raw: { headers } }: FastifyRequest, maxBytes: number): number {
  if (headers['transfer-encoding'] !== undefined) return maxBytes;
  return Math.min(Number(headers['content-length'] ?? 0), maxBytes);
}

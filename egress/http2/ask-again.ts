/** Which streams may be asked again where their origin gave no answer: what has an effect goes out once. */
import { constants, type ServerHttp2Stream } from 'node:http2';
import { type Ending, isOpen } from './ending.ts';
import type { StreamOutcome } from './exchange.ts';
import type { StreamHead } from './head.ts';

interface Asked {
  readonly stream: ServerHttp2Stream;
  readonly head: StreamHead;
  /** How the client ends it. */
  readonly ending: Ending;
}

/**
 * What surely has no effect is asked again where a session that was used before died just then; and what the origin
 * says it did not look at (RFC 9113 8.7), where it had no body: one that was read is gone.
 */
export function mayAskAgain(asked: Asked, outcome: StreamOutcome, reused: boolean): boolean {
  const { stream, ending } = asked;
  if (outcome.kind !== 'unanswered' || !isOpen(stream) || !ending.bodiless) return false;
  return outcome.code === constants.NGHTTP2_REFUSED_STREAM || (reused && isHarmless(asked));
}

export function isHarmless({ head: { stated }, ending }: Asked): boolean {
  return ending.bodiless && stated.protocol === null && (stated.method === 'GET' || stated.method === 'HEAD');
}

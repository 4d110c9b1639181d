/**
 * What is said of a crossing: one log line when it has ended, whoever waits, and counts with labels from closed lists.
 * Never its key, its arguments or its answer.
 */
import { Counter, type Registry } from 'prom-client';
import type { Logger } from '../../core-lite/log.ts';
import type { CrossingRequest } from '../../core-lite/record/crossing.ts';
import type { Claim } from '../../core-lite/record/crossings.ts';
import type { CallerToken } from '../caller-token.ts';
import type { Conclusion } from './conclude.ts';
import type { CrossingEnding } from './waiting.ts';

/** What became of a keyed call: it ran, joined one that runs, got what was kept, or was refused. */
export type KeyedCall = 'ran' | 'joined' | 'replayed' | 'conflict' | 'expired';

export interface CrossingEnd {
  readonly ending: CrossingEnding;
  readonly conclusion: Conclusion;
  /** By `performance.now()`; `null` where nothing was sent. */
  readonly sentAt: number | null;
}

export class CrossingRecord {
  readonly #logger: Logger;
  readonly #calls: Counter<'answer'>;
  readonly #ended: Counter<'kind' | 'status'>;

  constructor(registry: Registry, logger: Logger) {
    const registers = [registry];
    this.#logger = logger;
    this.#calls = new Counter({
      name: 'sallyport_gates_keyed_calls_total',
      help: 'Keyed calls, by what became of them: ran, joined, replayed, conflict, expired',
      labelNames: ['answer'],
      registers,
    });
    this.#ended = new Counter({
      name: 'sallyport_gates_crossings_total',
      help: 'Crossings that ended here, by how; failed: nothing reached the tool, and the key may be used again',
      labelNames: ['kind', 'status'],
      registers,
    });
  }

  keyedCall(answer: KeyedCall): void {
    this.#calls.inc({ answer });
  }

  crossing(token: CallerToken, request: CrossingRequest, claim: Claim, end: CrossingEnd): void {
    const { sub: session, trn: turn, agt: agent } = token.claims;
    const { kind, server, tool, credentialId: credential } = request;
    const { status, code, bytes } = describeEnd(end);
    this.#ended.inc({ kind, status });
    const ms = end.sentAt === null ? null : Math.round(performance.now() - end.sentAt);
    const { id, attempt } = claim;
    const who = { id, attempt, session, turn, agent };
    this.#logger.info({ ...who, kind, server, tool, credential, status, code, ms, bytes }, 'crossing');
  }

  /** Logs a fault: its class and code, nothing of what was asked. */
  readonly failure = (error: unknown): undefined => {
    this.#logger.error({ err: error }, 'keyed call failed');
  };
}

function describeEnd({ ending, conclusion }: CrossingEnd) {
  if (typeof ending === 'object' && 'body' in ending && 'settle' in conclusion) {
    return { status: ending.status, code: ending.code, bytes: Buffer.byteLength(ending.body) };
  }
  const code = 'release' in conclusion ? conclusion.release : conclusion.settle.code;
  return { status: 'settle' in conclusion ? ('unkept' as const) : ('failed' as const), code, bytes: null };
}

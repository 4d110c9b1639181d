/**
 * Waits for crossings that other gates run. The database tells nobody when one ends (a notice for each call would
 * serialise all commits), so it is asked with growing pauses: once for all who wait here for the same one, and only
 * while somebody does.
 */
import type { Crossings } from '../../core-lite/record/crossings.ts';
import type { AnyCall } from '../calls.ts';
import { pause } from './pause.ts';
import { type CrossingEnding, whileCalled } from './waiting.ts';

interface Join {
  waiting: number;
  readonly ended: Promise<CrossingEnding>;
}

export class Joins {
  readonly #crossings: Pick<Crossings, 'read'>;
  readonly #onFailure: (error: unknown) => void;
  readonly #joins = new Map<string, Join>();
  readonly #closing = new AbortController();

  constructor(crossings: Pick<Crossings, 'read'>, onFailure: (error: unknown) => void) {
    this.#crossings = crossings;
    this.#onFailure = onFailure;
  }

  /** Never rejects. */
  async wait(call: AnyCall, id: string): Promise<CrossingEnding> {
    const join = this.#joins.get(id) ?? this.#begin(call.token.claims.sub, id);
    join.waiting += 1;
    try {
      return await whileCalled(call, join.ended);
    } finally {
      join.waiting -= 1;
    }
  }

  close(): void {
    this.#closing.abort();
  }

  #begin(sessionId: string, id: string): Join {
    const join: Join = {
      waiting: 0,
      ended: this.#ask(sessionId, id, () => join.waiting > 0).finally(() => this.#joins.delete(id)),
    };
    this.#joins.set(id, join);
    return join;
  }

  async #ask(sessionId: string, id: string, isAwaited: () => boolean): Promise<CrossingEnding> {
    let pauseMs = FIRST_PAUSE_MS;
    for (;;) {
      await pause(pauseMs, this.#closing.signal);
      if (this.#closing.signal.aborted) return { refusal: 'shutting_down' };
      if (!isAwaited()) return 'again';
      const read = await this.#crossings.read(sessionId, id).catch((error: unknown) => {
        this.#onFailure(error);
        return 'running' as const;
      });
      if (read !== 'running') return read;
      pauseMs = Math.min(pauseMs * 1.5, MAX_PAUSE_MS);
    }
  }
}

const FIRST_PAUSE_MS = 30;
const MAX_PAUSE_MS = 1_000;

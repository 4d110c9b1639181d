/**
 * Writes how a run ended, until the database has it: nobody is told an outcome that is not kept. What cannot be written
 * before the gate goes is left as it is, and another gate calls it uncertain.
 */
import { isFault } from '../../core-lite/errors.ts';
import {
  bareOutcome,
  type CrossingKind,
  type Outcome,
  UNCERTAIN_CODES,
} from '../../core-lite/record/crossing.ts';
import type { Claim, Crossings } from '../../core-lite/record/crossings.ts';
import { pause } from './pause.ts';
import type { CrossingEnding } from './waiting.ts';

export interface Kept {
  readonly claim: Claim;
  readonly kind: CrossingKind;
  readonly sessionId: string;
}

export class Keeper {
  readonly #crossings: Pick<Crossings, 'settle' | 'release' | 'read'>;
  readonly #onFailure: (error: unknown) => void;
  readonly #closing = new AbortController();

  constructor(
    crossings: Pick<Crossings, 'settle' | 'release' | 'read'>,
    onFailure: (error: unknown) => void,
  ) {
    this.#crossings = crossings;
    this.#onFailure = onFailure;
  }

  /** @returns what stands in the database: this outcome, or that of whoever settled it before. Never rejects. */
  async settle({ claim, kind, sessionId }: Kept, given: Outcome): Promise<CrossingEnding> {
    let outcome = given;
    const write = async (): Promise<CrossingEnding> => {
      if (await this.#crossings.settle(claim, outcome)) return outcome;
      const stands = await this.#crossings.read(sessionId, claim.id);
      return stands === 'running' ? 'again' : stands;
    };
    return this.#persist(write, () => {
      // The database answers, but not to this: without its text it is settled all the same.
      outcome = bareOutcome('uncertain', UNCERTAIN_CODES[kind]);
    });
  }

  /** Gives the claim back. Never rejects: one that cannot be given back is dropped by the gate's next heartbeats. */
  async release({ claim }: Kept, code: string | null): Promise<void> {
    const write = async (): Promise<CrossingEnding> => {
      await this.#crossings.release(claim, code);
      return 'again';
    };
    await this.#persist(write, () => {});
  }

  /** Nothing is tried again any more. */
  close(): void {
    this.#closing.abort();
  }

  async #persist(write: () => Promise<CrossingEnding>, onRefusal: () => void): Promise<CrossingEnding> {
    let pauseMs = FIRST_PAUSE_MS;
    for (;;) {
      const written = await write().catch((error: unknown) => {
        this.#onFailure(error);
        if (!isFault(error, 'database_unreachable')) onRefusal();
        return null;
      });
      if (written !== null) return written;
      if (this.#closing.signal.aborted) return { refusal: 'shutting_down' };
      await pause(pauseMs, this.#closing.signal);
      pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS);
    }
  }
}

const FIRST_PAUSE_MS = 100;
const MAX_PAUSE_MS = 5_000;

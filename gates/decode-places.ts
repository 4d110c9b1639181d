/**
 * Where compressed bodies are decoded: a few at a time, since how large one becomes is not known before. One session
 * holds half of the places at most, those that wait take turns by session, and of one session only so many wait.
 */
import { Shares } from './shares.ts';

export class DecodePlaces {
  readonly #shares = new Shares({ all: 4, ofSession: 2 });
  /** Those that wait, by session; whose turn comes first stands first. */
  readonly #waiting = new Map<string, Set<() => void>>();

  /**
   * @param signal of its call: one that has ended waits no longer
   * @returns what `work` does, or why nothing was done
   */
  async decode<T>(
    session: string,
    signal: AbortSignal,
    work: () => Promise<T>,
  ): Promise<T | 'gate_busy' | 'stopped'> {
    if (!this.#shares.take(session)) {
      const came = await this.#wait(session, signal);
      if (came !== 'place') return came;
    }
    try {
      return await work();
    } finally {
      this.#shares.free(session);
      this.#giveTurn();
    }
  }

  async #wait(session: string, signal: AbortSignal): Promise<'place' | 'gate_busy' | 'stopped'> {
    const ofSession = this.#waiting.get(session) ?? new Set();
    if (ofSession.size >= MAX_WAITING) return 'gate_busy';
    if (signal.aborted) return 'stopped';
    this.#waiting.set(session, ofSession);
    const { promise, resolve } = Promise.withResolvers<'place' | 'stopped'>();
    const turn = (): void => resolve('place');
    const leave = (): void => {
      this.#drop(session, turn);
      resolve('stopped');
    };
    ofSession.add(turn);
    signal.addEventListener('abort', leave, { once: true });
    const came = await promise;
    signal.removeEventListener('abort', leave);
    return came;
  }

  /** A place is free: it goes to the first session that may take one, which then stands last. */
  #giveTurn(): void {
    for (const [session, ofSession] of this.#waiting) {
      const [turn] = ofSession;
      if (!turn || !this.#shares.take(session)) continue;
      this.#drop(session, turn);
      if (this.#waiting.delete(session)) this.#waiting.set(session, ofSession);
      turn();
      return;
    }
  }

  #drop(session: string, turn: () => void): void {
    const ofSession = this.#waiting.get(session);
    ofSession?.delete(turn);
    if (ofSession?.size === 0) this.#waiting.delete(session);
  }
}

/** More bodies than an agent and its helpers send at once. */
const MAX_WAITING = 32;

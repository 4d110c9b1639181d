/**
 * A round of a call that waits at another gate: its answers go there by letter, and what comes of them comes back the
 * same way. The other gate says at once that it has the call; one that is gone says nothing, and then so does this.
 */
import { randomBytes } from 'node:crypto';
import type { Letter, Letters } from '../letters.ts';
import type { JsonObject } from '../messages.ts';
import type { HeldCalls, HeldTurn } from './held-calls.ts';

interface Waiting {
  readonly taken: () => void;
  readonly turn: (turn: HeldTurn) => void;
}

export class RemoteRounds {
  readonly #letters: Letters;
  readonly #replica: string;
  readonly #held: HeldCalls;
  readonly #waiting = new Map<string, Waiting>();
  /** Rounds of calls here that somebody elsewhere waits for, and how each call is cancelled. */
  readonly #running = new Map<string, () => void>();

  constructor(letters: Letters, replica: string, held: HeldCalls) {
    this.#letters = letters;
    this.#replica = replica;
    this.#held = held;
  }

  /** `null`: the call does not wait there any more. */
  async ask(to: string, call: string, answers: JsonObject, signal: AbortSignal): Promise<HeldTurn | null> {
    const round = randomBytes(16).toString('base64url');
    const taken = Promise.withResolvers<boolean>();
    const turn = Promise.withResolvers<HeldTurn | null>();
    this.#waiting.set(round, { taken: () => taken.resolve(true), turn: turn.resolve });
    const patience = setTimeout(() => taken.resolve(false), PATIENCE_MS).unref();
    const leave = (): void => {
      taken.resolve(false);
      turn.resolve(null);
      void this.#letters.send(to, { kind: 'leave', round });
    };
    signal.addEventListener('abort', leave, { once: true });
    try {
      await this.#letters.send(to, { kind: 'round', round, call, answers, from: this.#replica });
      return (await taken.promise) ? await turn.promise : null;
    } finally {
      clearTimeout(patience);
      signal.removeEventListener('abort', leave);
      this.#waiting.delete(round);
    }
  }

  /** Rejects as the call does. */
  async receive(letter: RoundLetter): Promise<void> {
    switch (letter.kind) {
      case 'round':
        return this.#serve(letter);
      case 'taken':
        this.#waiting.get(letter.round)?.taken();
        return;
      case 'turn':
        this.#waiting.get(letter.round)?.turn(letter.turn);
        return;
      case 'leave':
        this.#running.get(letter.round)?.();
        return;
      default:
        letter satisfies never;
    }
  }

  async #serve({ round, call, answers, from }: Extract<RoundLetter, { kind: 'round' }>): Promise<void> {
    const held = this.#held.take(call);
    if (!held) return;
    this.#running.set(round, () => held.cancel());
    try {
      await this.#letters.send(from, { kind: 'taken', round });
      held.answer(answers);
      const turn = await this.#held.next(held);
      await this.#letters.send(from, { kind: 'turn', round, turn });
    } finally {
      this.#running.delete(round);
    }
  }
}

export type RoundLetter = Extract<Letter, { readonly round: string }>;

const PATIENCE_MS = 3_000;

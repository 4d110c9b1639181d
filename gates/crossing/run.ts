/**
 * One keyed call that this gate runs. It is nobody's: its caller may leave and its turn may end. It ends when it was
 * cancelled, by itself or with its turn or session, or when the gate goes.
 */
import type { Claim } from '../../core-lite/record/crossings.ts';

/** What a keyed call runs with. */
export interface Run {
  /** Aborted when the call must end. */
  readonly signal: AbortSignal;
  /**
   * Asked right before the first byte leaves. Rejects where the database cannot say.
   * @returns whether the compare-and-set to `sent` was won: if not, nothing may be written. It is won once.
   */
  send(): Promise<boolean>;
}

/** Why a run must end. `lost`: its row is not this gate's any more. */
export type RunStop = 'cancelled' | 'ended' | 'lost' | 'token_untrusted' | 'shutting_down';

export class CrossingRun implements Run {
  readonly claim: Claim;
  /** The key that signed its caller's token. */
  readonly kid: string;
  readonly #compareAndSet: (claim: Claim) => Promise<boolean>;
  readonly #controller = new AbortController();
  #stopped: RunStop | null = null;
  #sentAt: number | null = null;
  #beaten = false;
  #over = false;

  constructor(claim: Claim, kid: string, compareAndSet: (claim: Claim) => Promise<boolean>) {
    this.claim = claim;
    this.kid = kid;
    this.#compareAndSet = compareAndSet;
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get stopped(): RunStop | null {
    return this.#stopped;
  }

  /** By `performance.now()`; `null` while nothing may have been written. */
  get sentAt(): number | null {
    return this.#sentAt;
  }

  /** Whether another has it: the compare-and-set was lost. */
  get beaten(): boolean {
    return this.#beaten;
  }

  async send(): Promise<boolean> {
    if (this.#sentAt !== null || this.#isPast) return false;
    const won = await this.#compareAndSet(this.claim);
    // What was stopped or ended meanwhile writes nothing, so it may still be given back.
    if (this.#isPast) return false;
    this.#beaten = !won;
    if (won) this.#sentAt = performance.now();
    return won;
  }

  /** It is known what came of it: from here on nothing may be written. */
  end(): void {
    this.#over = true;
  }

  stop(reason: RunStop): void {
    if (this.#stopped) return;
    this.#stopped = reason;
    this.#controller.abort();
  }

  get #isPast(): boolean {
    return this.#over || this.signal.aborted;
  }
}

/**
 * How much memory the bodies of calls may hold until their calls end: those of one run, so that it leaves room for
 * others, and all of them. What a body takes is counted from before it is read, so that many that come slowly count.
 */
import type { RefusalReason } from './reasons.ts';

export type NoRoom = Extract<RefusalReason, 'run_busy' | 'gate_busy'>;

export interface RoomLimits {
  readonly runBytes: number;
  readonly allBytes: number;
}

export class BodyRoom {
  readonly #limits: RoomLimits;
  readonly #runs = new Map<string, number>();
  #all = 0;

  constructor(limits: RoomLimits = LIMITS) {
    this.#limits = limits;
  }

  /** Holds nothing yet. @param run whose calls are counted together */
  open(run: string): BodyHold {
    return new BodyHold((from, to) => this.#change(run, from, to));
  }

  #change(run: string, from: number, to: number): NoRoom | null {
    const ofRun = (this.#runs.get(run) ?? 0) - from + to;
    const all = this.#all - from + to;
    if (to > from && ofRun > this.#limits.runBytes) return 'run_busy';
    if (to > from && all > this.#limits.allBytes) return 'gate_busy';
    this.#all = all;
    if (ofRun > 0) this.#runs.set(run, ofRun);
    else this.#runs.delete(run);
    return null;
  }
}

/** What one call's body takes. */
export class BodyHold {
  readonly #change: (from: number, to: number) => NoRoom | null;
  #bytes = 0;
  #released = false;

  constructor(change: (from: number, to: number) => NoRoom | null) {
    this.#change = change;
  }

  /** @returns why it may not be so large; then it takes what it took before */
  set(bytes: number): NoRoom | null {
    if (this.#released) return null;
    const refusal = this.#change(this.#bytes, bytes);
    if (!refusal) this.#bytes = bytes;
    return refusal;
  }

  /** For good. */
  release(): void {
    this.set(0);
    this.#released = true;
  }
}

const MIB = 1024 * 1024;
const LIMITS: RoomLimits = { runBytes: 64 * MIB, allBytes: 512 * MIB };

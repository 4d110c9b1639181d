/**
 * How much memory the bodies of calls may hold until their calls end: those of one run, so that it leaves room for
 * others, and all of them. What a body takes is counted from before it is read, so that many that come slowly count;
 * while it comes it takes no less than its connection does, and of one run only so many come at once.
 */
import type { RefusalReason } from './reasons.ts';

export type NoRoom = Extract<RefusalReason, 'run_busy' | 'gate_busy'>;

export interface RoomLimits {
  readonly runBytes: number;
  readonly allBytes: number;
  /** What of them is left to runs that hold little, and how much that is. */
  readonly spareBytes: number;
  readonly littleBytes: number;
  /** How many bodies of one run may come at once. */
  readonly runComing: number;
  /** What a body takes at least while it comes. */
  readonly comingBytes: number;
}

/** What bodies take: of one, of a run, or what changes. */
interface Taken {
  readonly bytes: number;
  readonly coming: number;
}

export class BodyRoom {
  readonly #limits: RoomLimits;
  readonly #runs = new Map<string, Taken>();
  #all = 0;

  constructor(limits: RoomLimits = LIMITS) {
    this.#limits = limits;
  }

  /** Holds nothing yet. @param run whose calls are counted together */
  open(run: string): BodyHold {
    return new BodyHold(this.#limits.comingBytes, (more) => this.#change(run, more));
  }

  #change(run: string, more: Taken): NoRoom | null {
    const { bytes, coming } = this.#runs.get(run) ?? NOTHING;
    const ofRun = { bytes: bytes + more.bytes, coming: coming + more.coming };
    const all = this.#all + more.bytes;
    if (more.coming > 0 && ofRun.coming > this.#limits.runComing) return 'run_busy';
    if (more.bytes > 0 && ofRun.bytes > this.#limits.runBytes) return 'run_busy';
    if (more.bytes > 0 && all > this.#mostBeside(ofRun.bytes)) return 'gate_busy';
    this.#all = all;
    if (ofRun.bytes > 0 || ofRun.coming > 0) this.#runs.set(run, ofRun);
    else this.#runs.delete(run);
    return null;
  }

  /** However much few runs hold, the others' small calls go on. */
  #mostBeside(ofRun: number): number {
    const { allBytes, spareBytes, littleBytes } = this.#limits;
    return ofRun > littleBytes ? allBytes - spareBytes : allBytes;
  }
}

/** What one call's body takes. */
export class BodyHold {
  readonly #comingBytes: number;
  readonly #change: (more: Taken) => NoRoom | null;
  /** What there is of it. */
  #bytes = 0;
  #taken = NOTHING;
  #released = false;

  constructor(comingBytes: number, change: (more: Taken) => NoRoom | null) {
    this.#comingBytes = comingBytes;
    this.#change = change;
  }

  /** Before anything of it is read. @returns why it may not come */
  begin(): NoRoom | null {
    return this.#take(this.#bytes, 1);
  }

  /** It comes no further. */
  end(): void {
    this.#take(this.#bytes, 0);
  }

  /** @returns why it may not be so large; then it takes what it took before */
  set(bytes: number): NoRoom | null {
    return this.#take(bytes, this.#taken.coming);
  }

  /** For good. */
  release(): void {
    this.#take(0, 0);
    this.#released = true;
  }

  #take(there: number, coming: number): NoRoom | null {
    if (this.#released) return null;
    const bytes = coming > 0 ? Math.max(there, this.#comingBytes) : there;
    const more = { bytes: bytes - this.#taken.bytes, coming: coming - this.#taken.coming };
    const refusal = this.#change(more);
    if (refusal) return refusal;
    this.#bytes = there;
    this.#taken = { bytes, coming };
    return null;
  }
}

const MIB = 1024 * 1024;
const NOTHING: Taken = { bytes: 0, coming: 0 };
const LIMITS: RoomLimits = {
  runBytes: 64 * MIB,
  allBytes: 512 * MIB,
  spareBytes: 64 * MIB,
  littleBytes: MIB,
  runComing: 256,
  comingBytes: 16 * 1024,
};

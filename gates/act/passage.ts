/**
 * What the bytes of an answer pass on their way to the caller: the secret is masked in them, and of a stream of events
 * what is not the provider's to say is left out. Nothing is encoded anew, and nothing waits longer than a pause.
 */

import { Pause } from '../../core-lite/pause.ts';
import { EventGuard } from './event-guard.ts';
import { PAUSE_MS, SecretMask } from './mask.ts';
import { UsageFilter } from './usage-filter.ts';

/** Where the bytes go on to. */
export interface Onward {
  /** May be called with nothing. */
  readonly pass: (bytes: Buffer) => void;
  /** Nothing more may pass: the answer is to be broken off. */
  readonly breakOff: () => void;
  /** It is no longer busy. */
  readonly ready: () => void;
  /** Something threw where nobody would catch it. */
  readonly fault: (error: unknown) => void;
}

export interface Passage {
  /** Whether nothing more should be pushed for now. */
  readonly busy: boolean;
  push(chunk: Buffer): void;
  /**
   * Nothing more comes. What was held goes on first; a promise where that takes a while. Never rejects.
   * @param last as if pushed before
   */
  end(last: Buffer): Promise<void> | undefined;
  close(): void;
}

/** For bytes as they are read. */
export class PlainPassage implements Passage {
  readonly busy = false;
  readonly #mask: SecretMask;
  readonly #guard: EventGuard | null;
  readonly #usage: UsageFilter | null;
  readonly #onward: Onward;
  readonly #pause = new Pause(PAUSE_MS);

  /** @param hidesUsage whether the caller is not to see the event that tells the usage alone */
  constructor(secrets: readonly Buffer[], events: boolean, onward: Onward, hidesUsage = false) {
    this.#mask = new SecretMask(secrets);
    this.#guard = events ? new EventGuard() : null;
    this.#usage = events && hidesUsage ? new UsageFilter() : null;
    this.#onward = onward;
  }

  push(chunk: Buffer): void {
    this.#passOn(this.#mask.write(chunk));
    if (this.#mask.mayLetGo) this.#pause.start(this.#onPause);
    else this.#pause.stop();
  }

  end(last: Buffer): undefined {
    this.#pause.stop();
    this.#passOn(this.#mask.end(last));
    this.#letThrough(this.#guard?.end() ?? NOTHING);
    if (this.#usage) this.#onward.pass(this.#usage.end());
  }

  close(): void {
    this.#pause.stop();
  }

  readonly #onPause = (): void => {
    try {
      this.#passOn(this.#mask.letGo());
    } catch (error) {
      this.#onward.fault(error);
    }
  };

  #passOn(bytes: Buffer): void {
    const passed = this.#guard ? this.#guard.write(bytes) : bytes;
    if (passed) this.#letThrough(passed);
    else this.#onward.breakOff();
  }

  #letThrough(bytes: Buffer): void {
    this.#onward.pass(this.#usage ? this.#usage.write(bytes) : bytes);
  }
}

const NOTHING = Buffer.alloc(0);

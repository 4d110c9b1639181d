/** Waits for the next notice of a credential's token, as the change feed brings it; a wait is always bounded. */
import type { ChangeFeed } from '../database/changes.ts';

/** Counts from when it was made: a notice that came since is not missed. */
export interface NextNotice {
  orAfter(ms: number): Promise<void>;
  end(): void;
}

export class GrantNotices {
  readonly #waiting = new Map<string, Set<() => void>>();

  constructor(feed: ChangeFeed) {
    feed.subscribe({
      change: ({ kind, id }) => {
        if (kind === 'credential') this.#wake(id);
      },
    });
  }

  next(id: string): NextNotice {
    const heard = Promise.withResolvers<void>();
    const waiting = this.#waiting.get(id) ?? new Set();
    this.#waiting.set(id, waiting.add(heard.resolve));
    return {
      orAfter: async (ms) => {
        const timer = setTimeout(heard.resolve, ms);
        await heard.promise;
        clearTimeout(timer);
      },
      end: () => {
        waiting.delete(heard.resolve);
        if (waiting.size === 0) this.#waiting.delete(id);
      },
    };
  }

  /** Ends every wait. */
  wakeAll(): void {
    for (const id of this.#waiting.keys()) this.#wake(id);
  }

  #wake(id: string): void {
    for (const resolve of this.#waiting.get(id) ?? []) resolve();
  }
}

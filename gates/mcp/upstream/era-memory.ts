/**
 * Which era and transport servers have, by URL and by what they are asked with, so that not every session has to find out.
 * Each verdict has an age: a server that was legacy once would never be asked in the modern way again, and nothing would fail.
 */
import type { About } from './server.ts';

export type Verdict =
  | { readonly kind: 'modern'; readonly about: About }
  | { readonly kind: 'legacy' }
  | { readonly kind: 'sse' };

export class EraMemory {
  readonly #now: () => Date;
  readonly #found = new Map<string, { readonly verdict: Verdict; readonly at: number }>();

  constructor(now: () => Date) {
    this.#now = now;
  }

  recall(key: string): Verdict | null {
    const found = this.#found.get(key);
    if (!found) return null;
    if (this.#now().getTime() - found.at < MAX_AGE_MS) return found.verdict;
    this.#found.delete(key);
    return null;
  }

  keep(key: string, verdict: Verdict): void {
    this.#found.delete(key);
    this.#found.set(key, { verdict, at: this.#now().getTime() });
    const [oldest] = this.#found.keys();
    if (this.#found.size > MAX_KEPT && oldest !== undefined) this.#found.delete(oldest);
  }

  forget(key: string): void {
    this.#found.delete(key);
  }
}

/** An upgraded server is found within the hour. */
const MAX_AGE_MS = 3_600_000;
const MAX_KEPT = 1_000;

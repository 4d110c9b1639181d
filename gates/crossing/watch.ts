/**
 * Looks twice a second, in one query for all keyed calls that this gate runs, whether one of them must end: it, its turn
 * or its session was cancelled, wherever that was asked for. While none runs it asks nothing.
 */
import type { Crossings } from '../../core-lite/record/crossings.ts';
import type { Facts } from '../facts.ts';
import type { CrossingRun } from './run.ts';

export interface WatchOptions {
  readonly crossings: Pick<Crossings, 'watch'>;
  readonly facts: Pick<Facts, 'keys'>;
  readonly running: () => readonly CrossingRun[];
  readonly onFailure: (error: unknown) => void;
}

export class CrossingWatch {
  readonly #options: WatchOptions;
  readonly #timer: NodeJS.Timeout;
  #looking = false;

  constructor(options: WatchOptions) {
    this.#options = options;
    this.#timer = setInterval(() => void this.#look(), LOOK_MS).unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** Never rejects: what cannot be read now is read at the next look. */
  async #look(): Promise<void> {
    const { crossings, facts, running, onFailure } = this.#options;
    const runs = running();
    if (this.#looking || runs.length === 0) return;
    this.#looking = true;
    try {
      const [ends, keys] = await Promise.all([crossings.watch(runs.map(({ claim }) => claim)), facts.keys()]);
      for (const run of runs) {
        const end = ends.get(run.claim.id) ?? (keys.byKid.has(run.kid) ? null : 'token_untrusted');
        if (end) run.stop(end);
      }
    } catch (error) {
      onFailure(error);
    } finally {
      this.#looking = false;
    }
  }
}

/** A cancel arrives within a second. */
const LOOK_MS = 500;

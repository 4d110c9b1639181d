/** Stage 3: what is true now. Keys and environments, from caches that the change feed keeps true, or read directly. */
import type { ChangeFeed } from '../core-lite/database/changes.ts';
import { LiveCache } from '../core-lite/database/live-cache.ts';
import type { Queryable } from '../core-lite/database/pool.ts';
import { type EnvironmentFacts, loadEnvironmentFacts } from '../core-lite/state/environment.ts';
import { loadTurnFacts, type TurnFacts } from '../core-lite/state/session.ts';
import { loadVerifyingKeys, type VerifyingKeys } from '../core-lite/tokens/signing-keys.ts';

export class Facts {
  readonly #keys: LiveCache<VerifyingKeys>;
  readonly #environments: LiveCache<EnvironmentFacts | null>;
  readonly #turns: LiveCache<TurnFacts | null>;

  constructor(db: Queryable, feed: ChangeFeed) {
    this.#keys = new LiveCache(feed, {
      staleKeys: (change) => (change.kind === 'signing_key' ? 'all' : null),
      load: () => loadVerifyingKeys(db),
      maxKeys: 1,
    });
    this.#environments = new LiveCache(feed, {
      staleKeys: (change) => (change.kind === 'environment' ? change.id : null),
      load: (id) => loadEnvironmentFacts(db, id),
      maxKeys: MAX_ENVIRONMENTS,
    });
    this.#turns = new LiveCache(feed, {
      staleKeys: (change) => (change.kind === 'session' ? change.id : null),
      load: (id) => loadTurnFacts(db, id),
      maxKeys: MAX_SESSIONS,
    });
  }

  /** Rejects with Fault `database_unreachable`. */
  keys(): Promise<VerifyingKeys> {
    return this.#keys.read('all');
  }

  /** Before a token is refused for its key. @returns whether to look again */
  doubtKeys(): boolean {
    return this.#keys.doubt('all');
  }

  /** Before a token is refused for what its environment or session is now. @returns whether to look again */
  doubt(environmentId: string, sessionId: string | undefined): boolean {
    const again = this.#environments.doubt(environmentId);
    return (sessionId !== undefined && this.#turns.doubt(sessionId)) || again;
  }

  /** `null` where there is no such environment any more. Rejects with Fault `database_unreachable`. */
  environment(id: string): Promise<EnvironmentFacts | null> {
    return this.#environments.read(id);
  }

  /** Which turn of a session is active now; `null` where there is no such session. Rejects likewise. */
  turn(sessionId: string): Promise<TurnFacts | null> {
    return this.#turns.read(sessionId);
  }
}

/** Small; more than run at once behind one replica. */
const MAX_SESSIONS = 50_000;
/** A few KiB each; more than a replica serves at once. */
const MAX_ENVIRONMENTS = 10_000;

/** Stage 3: what is true now. Keys, sessions and models, from caches that the change feed keeps true, or read directly. */
import type { ChangeFeed } from '../core-lite/database/changes.ts';
import { LiveCache } from '../core-lite/database/live-cache.ts';
import type { Queryable } from '../core-lite/database/pool.ts';
import { loadModel, loadModels, type ModelFacts } from '../core-lite/state/model.ts';
import { loadSessionFacts, type SessionFacts } from '../core-lite/state/session.ts';
import { loadTenantSettings, type TenantSettings } from '../core-lite/state/tenant-settings.ts';
import { loadVerifyingKeys, type VerifyingKeys } from '../core-lite/tokens/signing-keys.ts';
import { type CallerToken, decideStaleness } from './caller-token.ts';
import type { RefusalReason } from './reasons.ts';

export class Facts {
  readonly #keys: LiveCache<VerifyingKeys>;
  readonly #sessions: LiveCache<SessionFacts | null>;
  readonly #models: LiveCache<ModelFacts | null>;
  readonly #catalogue: LiveCache<readonly ModelFacts[]>;
  readonly #settings: LiveCache<TenantSettings>;

  constructor(db: Queryable, feed: ChangeFeed) {
    this.#keys = new LiveCache(feed, {
      staleKeys: (change) => (change.kind === 'signing_key' ? 'all' : null),
      load: () => loadVerifyingKeys(db),
      maxKeys: 1,
    });
    this.#sessions = new LiveCache(feed, {
      staleKeys: (change) => (change.kind === 'session' ? change.id : null),
      load: (id) => loadSessionFacts(db, id),
      maxKeys: MAX_HELD,
    });
    this.#models = new LiveCache(feed, {
      staleKeys: (change) => (change.kind === 'model' ? change.id : null),
      load: (name) => loadModel(db, name),
      maxKeys: MAX_HELD,
    });
    this.#catalogue = new LiveCache(feed, {
      staleKeys: (change) => (change.kind === 'model' ? 'all' : null),
      load: () => loadModels(db),
      maxKeys: 1,
    });
    this.#settings = new LiveCache(feed, {
      staleKeys: (change) => (change.kind === 'tenant' ? 'all' : null),
      load: () => loadTenantSettings(db),
      maxKeys: 1,
    });
  }

  /** Rejects with Fault `database_unreachable`, as all of these do. */
  keys(): Promise<VerifyingKeys> {
    return this.#keys.read('all');
  }

  /** `null` where there is no such session. */
  session(id: string): Promise<SessionFacts | null> {
    return this.#sessions.read(id);
  }

  /** `null` where there is no such model. */
  async model(name: string): Promise<ModelFacts | null> {
    // The database knows no such text.
    return name.includes('\0') ? null : this.#models.read(name);
  }

  /** Every model there is. */
  models(): Promise<readonly ModelFacts[]> {
    return this.#catalogue.read('all');
  }

  /** What is set for the whole installation. */
  settings(): Promise<TenantSettings> {
    return this.#settings.read('all');
  }
}

/** The session of a run that still holds, or why it is refused. */
export async function readRun(
  facts: Facts,
  token: CallerToken,
): Promise<SessionFacts | Extract<RefusalReason, 'facts_unavailable' | 'token_untrusted' | 'run_stale'>> {
  const session = await facts.session(token.claims.sub).catch(() => undefined);
  if (session === undefined) return 'facts_unavailable';
  // What was minted here names a session that is there, if only as an ended one.
  if (!session) return 'token_untrusted';
  return decideStaleness(token, session) ?? session;
}

/** A few KiB each; more than a replica serves at once. */
const MAX_HELD = 10_000;

/**
 * Current tokens of oauth credentials: from memory while they are good, got ahead of their end while the old one still
 * serves. Never a token past its end, never one whose row is not committed.
 */
import type { ChangeFeed } from '../database/changes.ts';
import { LiveCache } from '../database/live-cache.ts';
import { OauthFailure } from './oauth-failure.ts';
import { type Grant, isUsable, loadGrant, markStale } from './oauth-grant-store.ts';
import { GrantNotices } from './oauth-notices.ts';
import {
  type OauthCredential,
  type RenewerOptions,
  type TokenOutcome,
  TokenRenewer,
} from './oauth-renewer.ts';

interface OauthTokensOptions extends Omit<RenewerOptions, 'notices'> {
  readonly feed: ChangeFeed;
}

/** What was read, and when: what is left of its times shrinks. */
interface Held {
  readonly grant: Grant;
  readonly at: number;
}

export class OauthTokens {
  readonly #options: OauthTokensOptions;
  readonly #grants: LiveCache<Held | null>;
  readonly #notices: GrantNotices;
  readonly #renewer: TokenRenewer;
  readonly #asking = new Map<string, Promise<TokenOutcome>>();
  /** The tokens that this replica knows are stale before its own notice came back. */
  readonly #stale = new Map<string, number>();
  readonly #closed = new AbortController();

  constructor(options: OauthTokensOptions) {
    this.#options = options;
    const { database, feed, seal, now } = options;
    this.#grants = new LiveCache(feed, {
      staleKeys: (change) => (change.kind === 'credential' ? change.id : null),
      load: async (id) => {
        const at = now();
        const grant = await loadGrant(database, seal, id);
        return grant && { grant, at };
      },
      maxKeys: MAX_KEYS,
    });
    // After the cache: who waits for a notice reads what it left.
    this.#notices = new GrantNotices(feed);
    this.#renewer = new TokenRenewer({ ...options, notices: this.#notices }, this.#closed.signal);
  }

  /** Rejects with Fault `database_unreachable` or `seal_broken`. Waits for a token where there is no good one. */
  async read(credential: OauthCredential): Promise<TokenOutcome> {
    const held = await this.#grants.read(credential.id);
    const grant = held && this.#age(held);
    if (grant?.credentialVersion !== credential.version) return this.#ask(credential);
    const isKnownStale = (this.#stale.get(credential.id) ?? -1) >= grant.version;
    if (isUsable(grant) && grant.access && !isKnownStale) {
      if (grant.refreshInMs <= 0 && grant.retryInMs <= 0) this.#askAhead(credential);
      return { value: grant.access, version: grant.version };
    }
    if (grant.failure && grant.retryInMs > 0) return new OauthFailure(grant.failure);
    return this.#ask(credential);
  }

  /**
   * An origin answered 401 to this token. Rejects with Fault `database_unreachable`.
   * @returns whether another token than this one may be had
   */
  async refuse(credentialId: string, version: number): Promise<boolean> {
    const another = await markStale(this.#options.database, credentialId, version);
    if (another) {
      if (this.#stale.size >= MAX_KEYS) this.#stale.clear();
      this.#stale.set(credentialId, Math.max(version, this.#stale.get(credentialId) ?? -1));
    }
    return another;
  }

  /** Ends what is on its way. What was asked for and not kept yet is lost. */
  async close(): Promise<void> {
    this.#closed.abort();
    this.#notices.wakeAll();
    await Promise.allSettled(this.#asking.values());
  }

  /** Nobody waits for it. */
  #askAhead(credential: OauthCredential): void {
    if (this.#asking.has(keyOf(credential))) return;
    this.#ask(credential).catch((error: unknown) => {
      this.#options.log.warn({ credential: credential.id, err: error }, 'a token is not renewed');
    });
  }

  /** All who want the same credential's token at once wait for one answer. */
  #ask(credential: OauthCredential): Promise<TokenOutcome> {
    const key = keyOf(credential);
    const running = this.#asking.get(key);
    if (running) return running;
    const started = this.#renewer.obtain(credential).finally(() => this.#asking.delete(key));
    this.#asking.set(key, started);
    return started;
  }

  #age({ grant, at }: Held): Grant {
    const passed = this.#options.now() - at;
    return {
      ...grant,
      refreshInMs: grant.refreshInMs - passed,
      expiresInMs: grant.expiresInMs - passed,
      retryInMs: grant.retryInMs - passed,
    };
  }
}

function keyOf({ id, version }: OauthCredential): string {
  return `${id}@${version}`;
}

const MAX_KEYS = 10_000;

/**
 * Gets the next token of an oauth credential: claims it in its row, asks the provider once, keeps what came, and only then
 * gives it out. Other replicas wait for the claim to end, which it does by itself where its owner dies. Knows no network:
 * whoever makes it says how a token request is sent.
 */
import { randomUUID } from 'node:crypto';
import type { Database } from '../database/pool.ts';
import type { Logger } from '../log.ts';
import type { Secret } from '../secret.ts';
import { parseTokenReply } from './oauth-answer.ts';
import { OAUTH_FAILURES, OauthFailure } from './oauth-failure.ts';
import {
  type Claim,
  type ClaimedGrant,
  claimGrant,
  type Grant,
  isUsable,
  releaseClaim,
  storeFailure,
  storeToken,
} from './oauth-grant-store.ts';
import type { GrantNotices } from './oauth-notices.ts';
import { makeTokenRequest, type TokenReply, type TokenRequest } from './oauth-request.ts';
import type { OauthSettings } from './oauth-settings.ts';
import type { SealKey } from './seal.ts';

/** Sends one token request; never rejects but with a fault of ours. Bounded in time and size by whoever writes it. */
export type SendTokenRequest = (
  request: TokenRequest,
  signal: AbortSignal,
) => Promise<TokenReply | OauthFailure>;

export interface RenewerOptions {
  readonly database: Database;
  readonly notices: GrantNotices;
  /** The class key of the service that uses the tokens. */
  readonly seal: SealKey;
  readonly send: SendTokenRequest;
  readonly log: Logger;
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number;
}

/** An oauth credential, opened. */
export interface OauthCredential {
  readonly id: string;
  readonly version: number;
  readonly settings: OauthSettings;
  readonly parts: Readonly<Record<string, Secret>>;
}

interface CurrentToken {
  readonly value: Secret;
  /** Names this token; grows with each. */
  readonly version: number;
}

/** `superseded`: the credential is another by now, and has to be read again. */
export type TokenOutcome = CurrentToken | OauthFailure | 'superseded';

export class TokenRenewer {
  readonly #options: RenewerOptions;
  readonly #signal: AbortSignal;

  /** @param signal ends what is on its way */
  constructor(options: RenewerOptions, signal: AbortSignal) {
    this.#options = options;
    this.#signal = signal;
  }

  /** Rejects with Fault `database_unreachable` or `seal_broken`. Bounded in time. */
  async obtain(credential: OauthCredential): Promise<TokenOutcome> {
    const { now, notices } = this.#options;
    const until = now() + MAX_WAIT_MS;
    while (now() < until && !this.#signal.aborted) {
      // Listened for before the row is read, or a notice in between would be missed.
      const wait = notices.next(credential.id);
      try {
        const claimant = randomUUID();
        const claim = await this.#claim(credential, claimant);
        switch (claim.kind) {
          case 'superseded':
            return 'superseded';
          case 'settled':
            return settle(claim.grant);
          case 'claimed':
            return await this.#renew(credential, claim.grant, claimant);
          case 'busy':
            await wait.orAfter(Math.min(claim.claimedForMs + 1, POLL_MS));
            break;
          default:
            return claim satisfies never;
        }
      } finally {
        wait.end();
      }
    }
    return new OauthFailure('OAUTH_BUSY');
  }

  #claim({ id, version }: OauthCredential, claimant: string): Promise<Claim> {
    const { database, seal } = this.#options;
    const owner = { credentialId: id, credentialVersion: version };
    return database.transaction((tx) => claimGrant(tx, seal, owner, claimant));
  }

  /** Outside any transaction: a provider may take its time. */
  async #renew(credential: OauthCredential, grant: ClaimedGrant, claimant: string): Promise<TokenOutcome> {
    const { database, seal, send, log, now } = this.#options;
    const owner = { credentialId: credential.id, credentialVersion: credential.version };
    // Closed while it was claimed: nobody wants it, and the provider might rotate what nobody keeps.
    if (this.#signal.aborted) return this.#fail(credential, grant, claimant, new OauthFailure('OAUTH_BUSY'));
    const askedAt = now();
    const request = makeTokenRequest(credential.settings, credential.parts, grant.refresh);
    const reply = await send(request, this.#signal);
    const issued = reply instanceof OauthFailure ? reply : parseTokenReply(reply);
    if (issued instanceof OauthFailure) return this.#fail(credential, grant, claimant, issued);
    const kept = { ...issued, refresh: issued.refresh ?? grant.refresh };
    // A provider that rotates refresh tokens has ended the one before: this answer must not be lost to a short outage.
    const version = await this.#insist(() =>
      storeToken(database, seal, owner, grant.version, kept, now() - askedAt),
    );
    if (version === null) return 'superseded';
    log.info({ credential: credential.id, version }, 'a new token');
    return { value: issued.access, version };
  }

  async #fail(
    { id, version }: OauthCredential,
    grant: ClaimedGrant,
    claimant: string,
    failure: OauthFailure,
  ): Promise<TokenOutcome> {
    const { database, log } = this.#options;
    if (this.#signal.aborted) {
      await releaseClaim(database, id, claimant);
      return failure;
    }
    const [text, , lasting] = OAUTH_FAILURES[failure.code];
    log[lasting ? 'error' : 'warn']({ credential: id, code: failure.code }, `no new token: ${text}`);
    const owner = { credentialId: id, credentialVersion: version };
    await storeFailure(database, owner, claimant, failure, grant.failures);
    // Asked for ahead of its end, the old token serves on.
    return isUsable(grant) ? settle(grant) : failure;
  }

  async #insist<T>(store: () => Promise<T>): Promise<T> {
    for (let again = 0; ; again += 1) {
      try {
        return await store();
      } catch (error) {
        if (again === STORE_DELAYS_MS.length || this.#signal.aborted) throw error;
        const wait = Promise.withResolvers<void>();
        const timer = setTimeout(wait.resolve, STORE_DELAYS_MS[again]);
        this.#signal.addEventListener('abort', () => wait.resolve(), { once: true });
        await wait.promise;
        clearTimeout(timer);
      }
    }
  }
}

function settle(grant: Grant): TokenOutcome {
  if (isUsable(grant) && grant.access) return { value: grant.access, version: grant.version };
  return new OauthFailure(grant.failure ?? 'OAUTH_BUSY');
}

/** A little more than a claim lasts whose owner died, and then one request. */
const MAX_WAIT_MS = 35_000;
/** Without the feed nobody tells. */
const POLL_MS = 500;
const STORE_DELAYS_MS = [200, 500, 1_000, 2_000, 4_000];

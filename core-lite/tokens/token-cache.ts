/**
 * A bounded cache of verified tokens, by digest, for exactly the keys that verified them: other keys than last time
 * forget every token. A refused token is never remembered. One of it serves one kind of token.
 */
import { hash } from 'node:crypto';
import type { VerifyingKeys } from './signing-keys.ts';
import type { TokenKind } from './token-kinds.ts';
import { type TokenRefusal, type VerifiedToken, verifyToken } from './verify.ts';

interface Remembered<Kind extends TokenKind> {
  readonly token: VerifiedToken<Kind>;
  /** Milliseconds since the epoch. */
  readonly until: number;
}

export class TokenCache<Kind extends TokenKind> {
  readonly #kind: Kind;
  #keys: VerifyingKeys | null = null;
  readonly #remembered = new Map<string, Remembered<Kind>>();

  constructor(kind: Kind) {
    this.#kind = kind;
  }

  /**
   * @param text the token as it came
   * @param keys the keys that verify now
   * @returns the token, or why it is refused; never rejects
   */
  async verify(text: string, keys: VerifyingKeys, now: Date): Promise<VerifiedToken<Kind> | TokenRefusal> {
    if (keys !== this.#keys) {
      this.#keys = keys;
      this.#remembered.clear();
    }
    const digest = hash('sha256', text, 'base64');
    const known = this.#remembered.get(digest);
    if (known && known.until > now.getTime()) return known.token;
    const verified = await verifyToken(this.#kind, text, keys, now);
    if (typeof verified !== 'string' && keys === this.#keys) this.#remember(digest, verified, now);
    return verified;
  }

  #remember(digest: string, token: VerifiedToken<Kind>, now: Date): void {
    const [oldest] = this.#remembered.keys();
    if (this.#remembered.size >= MAX_REMEMBERED && oldest !== undefined) this.#remembered.delete(oldest);
    const until = Math.min(now.getTime() + REMEMBER_MS, token.expiresAt * 1000);
    // A token that is remembered again must not stand where it stood first, or it would be dropped early.
    this.#remembered.delete(digest);
    this.#remembered.set(digest, { token, until });
  }
}

/** The design allows some seconds; a key change empties it anyway. */
const REMEMBER_MS = 10_000;
const MAX_REMEMBERED = 10_000;

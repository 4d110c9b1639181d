/**
 * Stage 2: who asks. The egress token comes as the proxy password, as Bearer, or as the user before an empty password.
 * Size and shape are checked before any key is read. A verified token is remembered by its digest for some seconds,
 * for exactly the keys that verified it; a refused one is never remembered.
 */
import { hash } from 'node:crypto';
import type { RefusalReason } from '../core-lite/reasons.ts';
import type { VerifyingKeys } from '../core-lite/tokens/signing-keys.ts';
import { type VerifiedToken, verifyToken } from '../core-lite/tokens/verify.ts';

export type EgressToken = VerifiedToken<'egress'>;

interface Remembered {
  readonly token: EgressToken;
  /** Milliseconds since the epoch. */
  readonly until: number;
}

export class Authenticator {
  #keys: VerifyingKeys | null = null;
  readonly #remembered = new Map<string, Remembered>();

  /**
   * @param header the one `Proxy-Authorization` value, if there is one
   * @param keys the keys that verify now; other keys than last time forget every token
   * @returns the token, or why it is refused; never rejects
   */
  async authenticate(
    header: string | undefined,
    keys: VerifyingKeys,
    now: Date,
  ): Promise<EgressToken | RefusalReason> {
    if (header === undefined) return 'token_missing';
    const text = readCredential(header);
    if (text === null) return 'token_malformed';
    if (keys !== this.#keys) {
      this.#keys = keys;
      this.#remembered.clear();
    }
    const digest = hash('sha256', text, 'base64');
    const known = this.#remembered.get(digest);
    if (known && known.until > now.getTime()) return known.token;
    const verified = await verifyToken('egress', text, keys, now);
    if (typeof verified !== 'string' && keys === this.#keys) this.#remember(digest, verified, now);
    return verified;
  }

  #remember(digest: string, token: EgressToken, now: Date): void {
    const [oldest] = this.#remembered.keys();
    if (this.#remembered.size >= MAX_REMEMBERED && oldest !== undefined) this.#remembered.delete(oldest);
    const until = Math.min(now.getTime() + REMEMBER_MS, token.expiresAt * 1000);
    // A token that is remembered again must not stand where it stood first, or it would be dropped early.
    this.#remembered.delete(digest);
    this.#remembered.set(digest, { token, until });
  }
}

/** The token text in a `Proxy-Authorization` value; `null` where there is none to be read without guessing. */
export function readCredential(header: string): string | null {
  const match = CREDENTIAL.exec(header);
  if (!match?.[1] || !match[2]) return null;
  if (match[1].toLowerCase() === 'bearer') return match[2];
  const decoded = decodeBase64(match[2]);
  const colon = decoded?.indexOf(':') ?? -1;
  // Without a colon it is no Basic credential: what some libraries take for a user name is not taken for a token.
  if (decoded === null || colon < 0) return null;
  return decoded.slice(colon + 1) || decoded.slice(0, colon) || null;
}

/** Base64 in its one spelling, with or without padding. */
function decodeBase64(text: string): string | null {
  const bytes = Buffer.from(text, 'base64');
  const spelled = bytes.toString('base64');
  return text === spelled || text === spelled.replace(/=+$/, '') ? bytes.toString('latin1') : null;
}

/** RFC 9110 11.4: a scheme in any case, spaces, one token68 and nothing behind it. */
const CREDENTIAL = /^(basic|bearer) +([A-Za-z0-9._~+/-]{1,8192}=*)$/i;
/** The design allows some seconds; a key change empties it anyway. */
const REMEMBER_MS = 10_000;
const MAX_REMEMBERED = 10_000;

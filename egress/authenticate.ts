/**
 * Stage 2: who asks. The egress token comes as the proxy password, as Bearer, or as the user before an empty password.
 * Size and shape are checked before any key is read.
 */
import type { RefusalReason } from '../core-lite/reasons.ts';
import type { VerifyingKeys } from '../core-lite/tokens/signing-keys.ts';
import { TokenCache } from '../core-lite/tokens/token-cache.ts';
import type { VerifiedToken } from '../core-lite/tokens/verify.ts';

export type EgressToken = VerifiedToken<'egress'>;

export class Authenticator {
  readonly #tokens = new TokenCache('egress');

  /**
   * @param header the one `Proxy-Authorization` value, if there is one
   * @param keys the keys that verify now
   * @returns the token, or why it is refused; never rejects
   */
  async authenticate(
    header: string | undefined,
    keys: VerifyingKeys,
    now: Date,
  ): Promise<EgressToken | RefusalReason> {
    if (header === undefined) return 'token_missing';
    const text = readCredential(header);
    return text === null ? 'token_malformed' : this.#tokens.verify(text, keys, now);
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
  return decodePercent(decoded.slice(colon + 1) || decoded.slice(0, colon)) || null;
}

/**
 * Some clients send the userinfo of the proxy's URL as it stands there, percent-encoded. A token never has a `%`, so
 * what has one can only be meant so; `''` where its escapes are none.
 */
function decodePercent(text: string): string {
  if (!text.includes('%')) return text;
  if (!ESCAPED.test(text)) return '';
  return text.replaceAll(/%(..)/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)));
}

/** Base64 in its one spelling, with or without padding. */
function decodeBase64(text: string): string | null {
  const bytes = Buffer.from(text, 'base64');
  const spelled = bytes.toString('base64');
  return text === spelled || text === spelled.replace(/=+$/, '') ? bytes.toString('latin1') : null;
}

/** RFC 3986 2.1; an escaped `%` is an escape too many. */
const ESCAPED = /^(?:[^%]|%(?!25)[0-9A-Fa-f]{2})*$/;
/** RFC 9110 11.4: a scheme in any case, spaces, one token68 and nothing behind it. */
const CREDENTIAL = /^(basic|bearer) +([A-Za-z0-9._~+/-]{1,8192}=*)$/i;

/**
 * Verifies tokens: size and shape before any key is read, then signature, issuer, audience, type, lifetime, claims.
 * Total: whatever comes in, a verified token or a reason comes out. It never logs and never keeps what was refused.
 */
import { errors, jwtVerify } from 'jose';
import type { RefusalReason } from '../reasons.ts';
import type { VerifyingKeys } from './signing-keys.ts';
import { type ClaimsOf, issuerOf, TOKEN_KINDS, type TokenKind } from './token-kinds.ts';

/** Proof that a token was verified. Only this module makes one (the layer check holds this). */
export class VerifiedToken<Kind extends TokenKind> {
  declare private readonly brand: 'verified';
  readonly kind: Kind;
  readonly claims: ClaimsOf[Kind];
  /** `jti`: the token's id in records. */
  readonly id: string;
  /** The key that signed it; a revoked key ends what its tokens opened. */
  readonly kid: string;
  /** Seconds since the epoch. */
  readonly expiresAt: number;

  constructor(kind: Kind, claims: ClaimsOf[Kind], id: string, kid: string, expiresAt: number) {
    this.kind = kind;
    this.claims = claims;
    this.id = id;
    this.kid = kid;
    this.expiresAt = expiresAt;
  }
}

export type TokenRefusal = Extract<RefusalReason, 'token_malformed' | 'token_untrusted' | 'token_expired'>;

/** Resolves to the verified token or to why it is refused; never rejects. */
export async function verifyToken<Kind extends TokenKind>(
  kind: Kind,
  text: string,
  keys: VerifyingKeys,
  now: Date,
): Promise<VerifiedToken<Kind> | TokenRefusal> {
  const header = parseHeader(text);
  if (!header) return 'token_malformed';
  const rule = TOKEN_KINDS[kind];
  const key = keys.byKid.get(header.kid);
  if (header.typ !== rule.typ || !key) return 'token_untrusted';
  try {
    const { payload } = await jwtVerify(text, key, {
      algorithms: ['ES256'],
      issuer: issuerOf(keys.tenantId),
      audience: rule.aud,
      typ: rule.typ,
      clockTolerance: LEEWAY_S,
      currentDate: now,
      requiredClaims: ['iat', 'exp', 'jti', 'sub'],
    });
    return readClaims(kind, payload, header.kid, now);
  } catch (error) {
    return error instanceof errors.JWTExpired ? 'token_expired' : 'token_untrusted';
  }
}

/** The header of a token in exactly the form that we mint; `null` for anything else. */
function parseHeader(text: string): { kid: string; typ: string } | null {
  if (text.length > MAX_TOKEN_BYTES) return null;
  const match = COMPACT.exec(text);
  if (!match?.[1] || !match[3]) return null;
  // 64 bytes have one spelling: the last character's spare bits are zero.
  if (Buffer.from(match[3], 'base64url').toString('base64url') !== match[3]) return null;
  try {
    const header: unknown = JSON.parse(Buffer.from(match[1], 'base64url').toString('utf8'));
    return isOurHeader(header) ? header : null;
  } catch {
    return null;
  }
}

/** Three fields and no other: nothing like `crit`, `jwk`, `jku`, `x5u` or `zip` is ever looked at. */
function isOurHeader(header: unknown): header is { alg: string; kid: string; typ: string } {
  if (typeof header !== 'object' || header === null || Array.isArray(header)) return false;
  const { alg, kid, typ, ...rest } = header as Record<string, unknown>;
  return (
    alg === 'ES256' && typeof kid === 'string' && typeof typ === 'string' && Object.keys(rest).length === 0
  );
}

function readClaims<Kind extends TokenKind>(
  kind: Kind,
  payload: Readonly<Record<string, unknown>>,
  kid: string,
  now: Date,
): VerifiedToken<Kind> | TokenRefusal {
  const rule = TOKEN_KINDS[kind];
  const { iat, exp, jti, aud } = payload;
  const nowS = now.getTime() / 1000;
  if (
    typeof iat !== 'number' ||
    typeof exp !== 'number' ||
    typeof jti !== 'string' ||
    typeof aud !== 'string'
  ) {
    return 'token_untrusted';
  }
  // What we mint lives 15 minutes: a longer life, or one from the future, was not minted by us.
  if (!TOKEN_ID.test(jti) || iat > nowS + LEEWAY_S || exp - iat > rule.lifetimeS + LEEWAY_S) {
    return 'token_untrusted';
  }
  const claims: Record<string, unknown> = {};
  for (const [name, claim] of Object.entries(rule.claims)) {
    const value = Object.hasOwn(payload, name) ? payload[name] : undefined;
    if (value === undefined ? claim.required : !claim.valid(value)) return 'token_untrusted';
    if (value !== undefined) claims[name] = value;
  }
  return new VerifiedToken(kind, claims as unknown as ClaimsOf[Kind], jti, kid, exp);
}

/** Ours are about 500 bytes; some clients cut proxy passwords above 4 KiB anyway. */
const MAX_TOKEN_BYTES = 4096;
/** It stands in the record: a text that the database cannot hold would fail the whole batch. */
const TOKEN_ID = /^[!-~]{1,128}$/;
/** Two machines' clocks may differ by this much. */
const LEEWAY_S = 30;
const COMPACT = /^([A-Za-z0-9_-]{1,600})\.([A-Za-z0-9_-]{1,3400})\.([A-Za-z0-9_-]{86})$/;

/** Mints tokens. Only core does: it alone reads the signing key. */
import { SignJWT } from 'jose';
import { makeId } from '../id.ts';
import { Secret } from '../secret.ts';
import type { SigningKey } from './signing-keys.ts';
import { type ClaimsOf, issuerOf, TOKEN_KINDS, type TokenKind } from './token-kinds.ts';

export interface MintedToken {
  readonly token: Secret;
  /** The token's id, as records name it. */
  readonly id: string;
  readonly expiresAt: Date;
}

/** A token of `kind`, signed with the current key. Throws if a claim has not the shape that the kind's table asks. */
export async function mintToken<Kind extends TokenKind>(
  kind: Kind,
  claims: ClaimsOf[Kind],
  key: SigningKey,
  tenantId: string,
  now: Date,
): Promise<MintedToken> {
  const rule = TOKEN_KINDS[kind];
  const given = new Map<string, unknown>(Object.entries(claims));
  for (const name of new Set([...given.keys(), ...requiredClaims(kind)])) {
    if (!rule.claims[name]?.valid(given.get(name)))
      throw new TypeError(`claim ${name} of a ${kind} token is malformed`);
  }
  const id = makeId('tok');
  const issuedAt = Math.floor(now.getTime() / 1000);
  const token = await new SignJWT({ ...claims })
    .setProtectedHeader({ alg: 'ES256', typ: rule.typ, kid: key.kid })
    .setIssuer(issuerOf(tenantId))
    .setAudience(rule.aud)
    .setIssuedAt(issuedAt)
    .setExpirationTime(issuedAt + rule.lifetimeS)
    .setJti(id)
    .sign(key.privateKey);
  return { token: new Secret(token), id, expiresAt: new Date((issuedAt + rule.lifetimeS) * 1000) };
}

function requiredClaims(kind: TokenKind): string[] {
  return Object.entries(TOKEN_KINDS[kind].claims).flatMap(([name, claim]) => (claim.required ? [name] : []));
}

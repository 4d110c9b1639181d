/**
 * The answer of a token endpoint, read strictly (RFC 6749 5.1, 5.2): what is not exactly a bearer token is none. Nothing
 * of the answer but a known error code is kept, since endpoints repeat what they were sent.
 */
import { Secret } from '../secret.ts';
import { OauthFailure } from './oauth-failure.ts';
import type { TokenReply } from './oauth-request.ts';

export interface IssuedToken {
  readonly access: Secret;
  /** A new refresh token: the one before may not be valid any more. */
  readonly refresh: Secret | null;
  readonly lifeS: number;
}

export function parseTokenReply({ status, body, retryAfterS }: TokenReply): IssuedToken | OauthFailure {
  if (status >= 300 && status < 400) return new OauthFailure('OAUTH_REDIRECTED');
  if (status === 429 || status === 408 || status >= 500)
    return new OauthFailure('OAUTH_UNAVAILABLE', retryAfterS);
  const fields = parseObject(body.reveal());
  if (status >= 400) return refusal(fields?.['error']);
  // Some answer 200 to what they refuse.
  if (fields && typeof fields['error'] === 'string') return refusal(fields['error']);
  return (status === 200 && fields && readToken(fields)) || new OauthFailure('OAUTH_MALFORMED');
}

function readToken(fields: Readonly<Record<string, unknown>>): IssuedToken | null {
  const { access_token: access, refresh_token: refresh, token_type: type } = fields;
  const lifeS = readLife(fields['expires_in']);
  if (typeof type !== 'string' || type.toLowerCase() !== 'bearer') return null;
  if (!isToken(access) || lifeS === null) return null;
  if (refresh !== undefined && refresh !== null && !isToken(refresh)) return null;
  return { access: new Secret(access), refresh: refresh ? new Secret(refresh) : null, lifeS };
}

/** Seconds; the default where the provider says nothing, `null` for what is no life. */
function readLife(value: unknown): number | null {
  if (value === undefined || value === null) return DEFAULT_LIFE_S;
  // Some write the number as a text.
  const text = typeof value === 'number' ? String(value) : value;
  if (typeof text !== 'string' || !/^[0-9]{1,12}$/.test(text) || Number(text) === 0) return null;
  return Math.min(Number(text), MAX_LIFE_S);
}

/** As strict as every secret that an operator gives: it goes into a header, and is looked for in answers. */
function isToken(value: unknown): value is string {
  return typeof value === 'string' && /^[!-~]{8,16384}$/.test(value);
}

function refusal(error: unknown): OauthFailure {
  if (error === 'invalid_grant') return new OauthFailure('OAUTH_INVALID_GRANT');
  if (error === 'invalid_client') return new OauthFailure('OAUTH_INVALID_CLIENT');
  if (error === 'temporarily_unavailable') return new OauthFailure('OAUTH_UNAVAILABLE');
  return new OauthFailure('OAUTH_REFUSED');
}

function parseObject(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

/** Short: a token that is asked for again too early costs one request, one that is used too long costs a failure. */
const DEFAULT_LIFE_S = 300;
/** A token that says it lives for a year may be revoked within it: asked for again every day. */
const MAX_LIFE_S = 86_400;

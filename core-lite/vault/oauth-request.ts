/**
 * The request for a token, as RFC 6749 has it: one POST of a form. It is built closed; whoever sends it opens it where
 * its bytes leave.
 */
import { parseUpstreamUrl, type UpstreamUrl } from '../network/upstream-url.ts';
import { Secret } from '../secret.ts';
import type { OauthSettings } from './oauth-settings.ts';

export interface TokenRequest {
  readonly url: UpstreamUrl;
  /** Path and query as the operator wrote them. */
  readonly path: string;
  /** The Authorization header, where the client shows itself there. */
  readonly authorization: Secret | null;
  readonly form: Secret;
}

/** What came back, closed: it may hold tokens. */
export interface TokenReply {
  readonly status: number;
  readonly body: Secret;
  /** Seconds, from Retry-After. */
  readonly retryAfterS: number;
}

/**
 * @param parts the credential's secret parts
 * @param refreshToken the one that the provider gave last, if it gave one
 */
export function makeTokenRequest(
  settings: OauthSettings,
  parts: Readonly<Record<string, Secret>>,
  refreshToken: Secret | null,
): TokenRequest {
  const url = parseUpstreamUrl(settings.tokenUrl);
  if (typeof url === 'string') throw new TypeError('the tokenUrl was not checked when it was stored');
  const secret = parts['client_secret']?.reveal() ?? '';
  const form = new URLSearchParams({ grant_type: settings.grant });
  if (settings.grant === 'refresh_token')
    form.set('refresh_token', (refreshToken ?? parts['refresh_token'])?.reveal() ?? '');
  for (const name of ['scope', 'audience', 'resource'] as const) {
    const value = settings[name];
    if (value !== undefined) form.set(name, value);
  }
  const inForm = settings.clientAuth === 'client_secret_post';
  if (inForm) {
    form.set('client_id', settings.clientId);
    form.set('client_secret', secret);
  }
  return {
    url,
    path: settings.tokenUrl.replace(/^https:\/\/[^/?]+/, '').replace(/^(?!\/)/, '/'),
    authorization: inForm ? null : basic(settings.clientId, secret),
    form: new Secret(form.toString()),
  };
}

/** RFC 6749 2.3.1: each half is form-encoded before they are joined, or a colon in an id would move the border. */
function basic(clientId: string, secret: string): Secret {
  const pair = `${encodeForm(clientId)}:${encodeForm(secret)}`;
  return new Secret(`Basic ${Buffer.from(pair).toString('base64')}`);
}

function encodeForm(text: string): string {
  return new URLSearchParams([['', text]]).toString().slice(1);
}

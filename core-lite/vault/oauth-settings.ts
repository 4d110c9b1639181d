/**
 * What an oauth credential says beside its secrets: where its tokens are got, as whom, and with which wishes. It may be
 * read by whoever reads credentials, so nothing of it is a secret.
 */
import { Fault } from '../errors.ts';
import { parseUpstreamUrl } from '../network/upstream-url.ts';

export const OAUTH_GRANTS = ['client_credentials', 'refresh_token'] as const;
type OauthGrant = (typeof OAUTH_GRANTS)[number];

/** How the client shows who it is (RFC 6749 2.3.1): in an Authorization header, or in the form. */
export const CLIENT_AUTHS = ['client_secret_basic', 'client_secret_post'] as const;
type ClientAuth = (typeof CLIENT_AUTHS)[number];

/** As an operator gives them. */
export interface OauthInput {
  readonly tokenUrl?: string;
  readonly clientId?: string;
  readonly grant?: OauthGrant;
  readonly clientAuth?: ClientAuth;
  readonly scope?: string;
  readonly audience?: string;
  readonly resource?: string;
}

export interface OauthSettings {
  /** https, a host name, no user. */
  readonly tokenUrl: string;
  readonly clientId: string;
  readonly grant: OauthGrant;
  readonly clientAuth?: ClientAuth;
  readonly scope?: string;
  /** Asked for by several providers. */
  readonly audience?: string;
  /** RFC 8707. */
  readonly resource?: string;
}

/** What is only for `oauth`, by name. */
export const OAUTH_SETTINGS = [
  'tokenUrl',
  'clientId',
  'grant',
  'clientAuth',
  'scope',
  'audience',
  'resource',
] as const satisfies readonly (keyof OauthInput)[];

/** Throws Fault `input_invalid`. */
export function readOauthSettings(input: OauthInput, hasRefreshToken: boolean): OauthSettings {
  const { tokenUrl = '', clientId, grant } = input;
  const url = parseUpstreamUrl(tokenUrl);
  if (typeof url === 'string') throw invalid(`the tokenUrl of an oauth credential cannot be used: ${url}`);
  if (url.scheme !== 'https') throw invalid('the tokenUrl of an oauth credential is an https URL');
  if (!clientId || !grant) throw invalid('an oauth credential needs clientId and grant');
  if (!VISIBLE.test(clientId)) throw invalid('a clientId is visible ASCII');
  if (grant === 'refresh_token' && !hasRefreshToken)
    throw invalid('the grant refresh_token needs the secret part "refresh_token"');
  for (const name of ['scope', 'audience', 'resource'] as const) {
    const value = input[name];
    if (value !== undefined && !VISIBLE.test(value))
      throw invalid(`the ${name} is empty, or not visible ASCII`);
  }
  return { tokenUrl, clientId, grant, ...chosen(input) };
}

/** Only what was given: a setting that is left out is not shown. */
function chosen(input: OauthInput): Partial<OauthSettings> {
  const { clientAuth, scope, audience, resource } = input;
  const given = Object.entries({ clientAuth, scope, audience, resource });
  return Object.fromEntries(given.filter(([, value]) => value !== undefined));
}

function invalid(what: string): Fault {
  return new Fault('input_invalid', what);
}

/** RFC 6749 appendix A: what a client id, a scope and their like are made of. */
const VISIBLE = /^[ -~]{1,2048}$/;

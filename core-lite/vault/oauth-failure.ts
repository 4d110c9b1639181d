/**
 * Why there is no current token: a closed list, so that the answer, the log and the credential's row say the same. A
 * failure is a value. It never holds anything that the token endpoint sent.
 */

/** Code -> [what it means, how long until it is tried again at first, whether only an operator can mend it]. */
export const OAUTH_FAILURES = {
  OAUTH_UNREACHABLE: ['the token endpoint could not be reached', 2, false],
  OAUTH_ADDRESS_REFUSED: ['the token endpoint resolves to no public address', 30, true],
  OAUTH_CERTIFICATE: ['the certificate of the token endpoint could not be verified', 10, false],
  OAUTH_UNAVAILABLE: ['the token endpoint says that it cannot answer now', 2, false],
  OAUTH_REDIRECTED: ['the token endpoint answered with a redirect, which is not followed', 60, true],
  OAUTH_MALFORMED: ['the token endpoint’s answer was not what RFC 6749 asks for', 10, false],
  OAUTH_REFUSED: ['the token endpoint refused the request', 30, true],
  OAUTH_INVALID_CLIENT: ['the token endpoint does not accept the client: rotate its secret', 60, true],
  OAUTH_INVALID_GRANT: [
    'the refresh token is not valid any more: rotate the credential with a new one',
    60,
    true,
  ],
  OAUTH_BUSY: ['another replica asks for the token and has not got it yet', 1, false],
} as const satisfies Record<string, readonly [text: string, retryS: number, lasting: boolean]>;

export type OauthFailureCode = keyof typeof OAUTH_FAILURES;

export class OauthFailure {
  declare private readonly brand: 'oauth-failure';
  readonly code: OauthFailureCode;
  /** What the endpoint itself asked for (Retry-After), seconds. */
  readonly retryAfterS: number;

  constructor(code: OauthFailureCode, retryAfterS = 0) {
    this.code = code;
    this.retryAfterS = retryAfterS;
  }
}

/** How long no token is asked for after the failure, seconds: twice as long with each, up to five minutes. */
export function retryDelayS(failure: OauthFailure, failuresBefore: number): number {
  const [, first] = OAUTH_FAILURES[failure.code];
  const grown = first * 2 ** Math.min(failuresBefore, 16);
  return Math.min(Math.max(grown, failure.retryAfterS), MAX_DELAY_S);
}

const MAX_DELAY_S = 300;

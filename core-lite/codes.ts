/**
 * Codes: what stands beside a reason and says which thing it was. A code with a remedy of its own overrules the reason's,
 * which has to fit them all. Codes of TLS and of the system (`CERT_HAS_EXPIRED`, `ECONNREFUSED`) are not listed: they are
 * OpenSSL's and Node's own.
 */
import { REFUSALS, type RefusalReason } from './reasons.ts';
import { OAUTH_FAILURES } from './vault/oauth-failure.ts';
import { VALUE_FAILURES } from './vault/operator-values.ts';

interface Code {
  /** What happened, one line without a full stop. */
  readonly text: string;
  readonly remedy: string;
}

const OPERATOR = 'an operator should mend it: sallyport doctor and sallyport credential list say more';

/** A name that ends in `_` stands for all codes that begin so. */
export const CODES: Readonly<Record<string, Code>> = {
  KEY_OF_THE_CLIENT: {
    text: 'the request has a key of its own where the placeholder of the secret belongs',
    remedy: 'send the placeholder that the variable holds, and no key of your own',
  },
  SECRETS_CONTEST_A_PLACE: {
    text: 'two secrets that are bound to the host cover the request and go to the same place',
    remedy:
      'an operator should give them paths or methods of their own: sallyport credential put --path, --method',
  },
  SECRET_UNBOUND: {
    text: 'the secret was unbound from the environment while the request was under way',
    remedy: 'ask again without it, or have an operator bind one: sallyport env put --credential',
  },
  SECRET_CHANGED: {
    text: 'the secrets of the host changed again and again while the request waited for the host',
    remedy: 'ask again',
  },
  TOO_MUCH_TO_DECODE: {
    text: 'the answer decodes to more than a thousand times its size, asks for a window beyond 8 MiB, or has a block that is longer than what is held of one: 16 MiB of br, else 1.5 MiB',
    remedy: 'ask for it uncompressed (Accept-Encoding: identity), or for less of it',
  },
  CODING_BROKEN: {
    text: 'the answer is not in the coding that it names, or something else follows it',
    remedy: 'ask for it uncompressed (Accept-Encoding: identity)',
  },
  DECODERS_BUSY: {
    text: 'the answer is in br or zstd, of which egress decodes 32 for an environment and 64 in all at once, and no place came free within 10 s',
    remedy:
      'ask for it in gzip or uncompressed (Accept-Encoding: gzip, identity), or end answers that stay open',
  },
  CREDENTIAL_GONE: {
    text: 'the credential was deleted meanwhile',
    remedy: 'an operator should bind another: sallyport env put --credential',
  },
  ...mapTexts(VALUE_FAILURES),
  ...mapTexts(Object.fromEntries(Object.entries(OAUTH_FAILURES).map(([code, [text]]) => [code, text]))),
  PARENT_AUTH: {
    text: 'the parent proxy does not accept the login of the gate',
    remedy: 'an operator should mend the login in SALLYPORT_PARENT_PROXY',
  },
  PARENT_REFUSED_: {
    text: 'the parent proxy refused the host by its own policy; behind it stands its answer',
    remedy: 'have the operator of the parent proxy allow the host',
  },
  PARENT_ANSWERED_: {
    text: 'the parent proxy did not reach the host; behind it stands the status of its answer',
    remedy: 'check the host’s name and port; if they are right, the parent proxy cannot reach it now',
  },
  PARENT_UNRESOLVED: {
    text: 'the name of the parent proxy could not be resolved',
    remedy: 'an operator should look at SALLYPORT_PARENT_PROXY and SALLYPORT_DNS_SERVERS',
  },
  PARENT_UNREACHABLE: {
    text: 'the parent proxy could not be reached',
    remedy: 'an operator should look at SALLYPORT_PARENT_PROXY',
  },
  PARENT_TIMEOUT: { text: 'the parent proxy did not answer in time', remedy: 'try again later' },
  PARENT_TLS_: {
    text: 'TLS with the parent proxy failed; behind it stands why',
    remedy:
      'an operator can trust its CA (SALLYPORT_EXTRA_CA), or should look at the scheme in SALLYPORT_PARENT_PROXY',
  },
  PARENT_CLOSED: { text: 'the parent proxy hung up without an answer', remedy: 'try again later' },
  PARENT_MALFORMED: {
    text: 'the answer of the parent proxy was not of its protocol',
    remedy: 'an operator should look at the scheme and port in SALLYPORT_PARENT_PROXY',
  },
  TLS_FAILED: { text: 'TLS with the host could not be set up', remedy: 'check that the port serves TLS' },
};

/** What to do about a refusal. */
export function findRemedy(reason: RefusalReason, code?: string | null): string {
  const known = code ? (CODES[code] ?? CODES[/^[A-Z]+_[A-Z]+_/.exec(code)?.[0] ?? '']) : undefined;
  return known?.remedy ?? REFUSALS[reason].remedy;
}

function mapTexts(texts: Readonly<Record<string, string>>): Record<string, Code> {
  return Object.fromEntries(Object.entries(texts).map(([code, text]) => [code, { text, remedy: OPERATOR }]));
}

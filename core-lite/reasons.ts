/**
 * The closed list of reasons at egress: why a connection was allowed, refused or ended. The same word stands in the
 * answer, the log line and the record. `docs/reasons.md` shows this table and a test holds the two equal.
 */

interface Refusal {
  /** HTTP status of the answer. */
  readonly status: number;
  /** What happened, one line without a full stop, safe to show. */
  readonly text: string;
  /** What the user can do about it. */
  readonly remedy: string;
}

/** Why an attempt was refused, or failed before its tunnel opened. */
export const REFUSALS = {
  request_malformed: {
    status: 400,
    text: 'the request is not well-formed HTTP/1.1',
    remedy:
      'send headers as RFC 9112 has them: one Host, one length, at most 64 KiB in 200 lines; a CONNECT has no body',
  },
  target_malformed: {
    status: 400,
    text: 'the target is not host:port',
    remedy: 'send the host name in ASCII (A-labels), without a trailing dot, and a port from 1 to 65535',
  },
  target_missing: {
    status: 400,
    text: 'this is a proxy, and the request names no host to go to',
    remedy:
      'ask with CONNECT host:port or for a whole http:// URL, as clients do that have HTTPS_PROXY and HTTP_PROXY set',
  },
  scheme_refused: {
    status: 400,
    text: 'only http:// URLs are asked for without CONNECT',
    remedy:
      'use CONNECT for https:// (HTTPS_PROXY), so that TLS stays between client and host; no other scheme is served',
  },
  request_ambiguous: {
    status: 400,
    text: 'the path or method of the request could be read in two ways, and the secrets of this host are limited to paths or methods',
    remedy:
      'send the plain path (no dot segments, no encoded dots, slashes or letters, no backslash, // or ;) and no method override',
  },
  token_missing: {
    status: 407,
    text: 'no egress token was sent',
    remedy: 'send the egress token as the proxy password (Basic) or as Bearer',
  },
  token_malformed: {
    status: 407,
    text: 'what was sent is not an egress token',
    remedy: 'send the egress token as the proxy password (Basic) or as Bearer, unchanged',
  },
  token_untrusted: {
    status: 407,
    text: 'the token is not signed by a current key, or it is meant for another service',
    remedy: 'get a fresh egress token for this installation',
  },
  token_expired: {
    status: 407,
    text: 'the token has expired',
    remedy: 'get a fresh egress token; they live 15 minutes',
  },
  environment_gone: {
    status: 407,
    text: 'the environment of the token does not exist any more',
    remedy: 'make the environment again, then get a token for it',
  },
  host_superseded: {
    status: 407,
    text: 'a newer pod has joined the environment of the token',
    remedy: 'get a token for the current pod',
  },
  run_stale: {
    status: 407,
    text: 'the turn of the token is over',
    remedy: 'start another turn; its lease comes with a fresh token',
  },
  ip_literal: {
    status: 403,
    text: 'IP addresses are not reached by number',
    remedy: 'use the host name, and put it on the allowlist',
  },
  port_denied: {
    status: 403,
    text: 'the port is not open for this host',
    remedy:
      'use a port that the allowlist opens for the host (443 and 80 unless an entry names another), or have an operator allow host:port',
  },
  rule_denied: {
    status: 403,
    text: 'no secret bound to this host covers the path and method of the request',
    remedy:
      'use a path and a method that the secrets of the host are for, or have an operator widen them: sallyport credential put --path, --method',
  },
  host_denied: {
    status: 403,
    text: 'the host is not on the allowlist of the environment',
    remedy: 'have an operator allow the host: sallyport env put',
  },
  tls_required: {
    status: 403,
    text: 'a secret is bound to the host at this port, and never goes there without TLS',
    remedy: 'use https:// for it, through CONNECT',
  },
  address_refused: {
    status: 403,
    text: 'the host resolves to no public address',
    remedy:
      'an operator can open an internal network for this host: SALLYPORT_OPEN_NETWORKS; a metadata address must be named alone',
  },
  method_refused: {
    status: 405,
    text: 'this method is not served here',
    remedy: 'use another method: TRACE is never passed on, and inside an interception CONNECT is not either',
  },
  authority_mismatch: {
    status: 421,
    text: 'the request names another host than its CONNECT',
    remedy: 'send one Host, the host of the CONNECT, and the path alone as the target',
  },
  connection_limit: {
    status: 429,
    text: 'the environment has too many open connections',
    remedy: 'close some, or have an operator raise maxConnections',
  },
  rate_limited: {
    status: 429,
    text: 'the environment opens connections too fast',
    remedy: 'try again in a second, or have an operator raise newPerSecond',
  },
  resolve_failed: {
    status: 502,
    text: 'the host name could not be resolved',
    remedy: 'check the name; if it is right, try again later',
  },
  connect_failed: {
    status: 502,
    text: 'the host could not be reached',
    remedy: 'check that the host serves this port; try again later',
  },
  parent_failed: {
    status: 502,
    text: 'the parent proxy of the gate failed, or refused the host',
    remedy:
      'an operator should look at SALLYPORT_PARENT_PROXY: PARENT_AUTH is its login, PARENT_REFUSED its own policy, all else the way to it',
  },
  origin_certificate: {
    status: 502,
    text: 'the certificate of the host could not be verified',
    remedy: 'mend the certificate of the host; an operator can trust its CA: SALLYPORT_EXTRA_CA',
  },
  origin_failed: {
    status: 502,
    text: 'the host broke off, or its answer was not well-formed',
    remedy: 'try again if the request may be repeated',
  },
  secret_echoed: {
    status: 502,
    text: 'the compressed answer of the host had the secret in it, where it cannot be masked',
    remedy: 'ask for it uncompressed (Accept-Encoding: identity): there the secret is masked',
  },
  answer_undecodable: {
    status: 502,
    text: 'the compressed answer of the host could not be read to its end to look for the secret in it',
    remedy: 'ask for it uncompressed (Accept-Encoding: identity)',
  },
  injection_failed: {
    status: 502,
    text: 'the secret bound to this host could not be put on the request, so nothing was sent',
    remedy:
      'an operator should look at the secrets bound to the host: two may want the same place, or one cannot be read; where a secret replaces a placeholder, send that and no key of your own',
  },
  facts_unavailable: {
    status: 503,
    text: 'the policy could not be read',
    remedy: 'try again; an operator should look at the database',
  },
  record_unavailable: {
    status: 503,
    text: 'the connection could not be recorded, so it was not opened',
    remedy: 'try again; an operator should look at the database',
  },
  shutting_down: {
    status: 503,
    text: 'the gate is shutting down',
    remedy: 'try again',
  },
} as const satisfies Record<string, Refusal>;

/** Why an attempt was let through. */
export const APPROVALS = {
  allowlisted: 'the host is on the allowlist of the environment',
  reported: 'not on the allowlist, let through because the environment only reports',
  injected: 'the secret bound to the host was put on the request',
  placeholder_absent:
    'the secret bound to the host replaces a placeholder; the request had nothing in its place, and went on without',
} as const;

/** How an open connection ended. */
export const ENDINGS = {
  answered: 'the plain request was answered',
  client_closed: 'the client closed the connection',
  origin_closed: 'the origin closed the connection',
  client_reset: 'the client broke the connection off',
  origin_reset: 'the origin broke the connection off',
  idle: 'nothing was sent for too long',
  environment_gone: 'the environment was deleted',
  host_superseded: 'a newer pod joined the environment',
  run_stale: 'the turn of its token is over',
  policy_changed: 'the policy of the environment no longer allows it',
  secret_bound: 'a secret was bound to the host: connections made from now on are intercepted',
  secret_unbound:
    'a secret in use, or the last one bound to the host, was taken away or limited to other requests',
  client_tls: 'the client gave up the TLS handshake: does it trust the egress CA?',
  key_revoked: 'the key that signed its token was revoked',
  feed_lost: 'the change feed was lost for longer than SALLYPORT_FEED_GRACE',
  shutting_down: 'the gate was shut down',
} as const;

export type RefusalReason = keyof typeof REFUSALS;
export type ApprovalReason = keyof typeof APPROVALS;
export type EndReason = keyof typeof ENDINGS;
export type Reason = RefusalReason | ApprovalReason | EndReason;

export function isRefusal(reason: Reason): reason is RefusalReason {
  return Object.hasOwn(REFUSALS, reason);
}

/**
 * The closed lists of reasons at the gates: why a call was refused, let through, or ended. The same word stands in the
 * answer, the log line and the ledger.
 */
export interface Refusal {
  /** HTTP status of the answer. */
  readonly status: number;
  /** What happened, one line without a full stop, safe to show. */
  readonly text: string;
  /** What the user can do about it. */
  readonly remedy: string;
  /** Whether the same request may fare better when it is sent again as it is. */
  readonly again: boolean;
}

const final = (status: number, text: string, remedy: string): Refusal => ({
  status,
  text,
  remedy,
  again: false,
});
const passing = (status: number, text: string, remedy: string): Refusal => ({
  status,
  text,
  remedy,
  again: true,
});

/** Why a call was refused, or failed before anything of an answer went out. */
export const REFUSALS = {
  request_malformed: final(
    400,
    'the request is not well-formed',
    'send one Host, one credential and a well-formed path, not a URL',
  ),
  key_malformed: final(
    400,
    'the Idempotency-Key is not one that is taken',
    'send it once, with 1 to 255 visible ASCII characters and no blank',
  ),
  body_malformed: final(
    400,
    'the body is not what this route takes',
    'send one JSON object in UTF-8, each key once',
  ),
  model_missing: final(400, 'the body names no model', 'send "model" once, as a text'),
  further_model: final(
    400,
    'the body names a further model',
    'leave that field out: the gate calls only the catalogue’s model and its own fallbacks',
  ),
  dialect_unserved: final(
    400,
    'the model is not served in this dialect',
    'call it in a dialect that it speaks: GET /v1/models tells',
  ),
  mcp_session_missing: final(
    400,
    'the request names no MCP session',
    'send initialize first, then its Mcp-Session-Id with every request; or speak 2026-07-28, which has none',
  ),
  mcp_version_unknown: final(
    400,
    'this revision of MCP is not spoken in a session',
    'send the MCP-Protocol-Version that initialize answered with',
  ),
  token_missing: final(
    401,
    'no run token was sent',
    'send the run token where your client puts its key: `Authorization: Bearer …`, `x-api-key`, `x-goog-api-key` or `?key=`',
  ),
  token_malformed: final(
    401,
    'what was sent is not a run token',
    'send the run token unchanged, where your client puts its key',
  ),
  token_untrusted: final(
    401,
    'the token is not signed by a current key, or it is meant for another service',
    'get a fresh run token for this installation',
  ),
  token_expired: final(401, 'the token has expired', 'get a fresh run token; they live 15 minutes'),
  model_undeclared: final(
    403,
    'the session may not call this model',
    'open a session whose manifest names the model',
  ),
  server_undeclared: final(
    403,
    'the session declares no such MCP server',
    'open a session whose manifest declares it',
  ),
  token_scope: final(
    403,
    'the service token is for another server or tool',
    'mint one that names it: POST /v1/sessions/{session}/service-tokens',
  ),
  credential_user: final(403, 'the credential is another person’s', 'use one of the session’s own user'),
  credential_host: final(
    403,
    'the credential may not go to this host',
    'an operator can add the host to it (with its port, unless that is 443): sallyport credential put',
  ),
  credential_missing: final(
    403,
    'the credential of the model is gone, or of a kind that no model takes',
    'an operator can name another: sallyport model put',
  ),
  url_refused: final(
    403,
    'the URL is not one that the gates call',
    'write https://host[:port]/path with a host name',
  ),
  address_refused: final(
    403,
    'the host resolves to no public address',
    'an operator can open an internal network for this host: SALLYPORT_OPEN_NETWORKS',
  ),
  plaintext_refused: final(
    403,
    'plain http goes only into a network that the operator opened for the host',
    'use https, or have an operator open the network: SALLYPORT_OPEN_NETWORKS',
  ),
  origin_refused: final(
    403,
    'the request comes from a web page that the gates did not serve',
    'send no Origin; an operator can add a host: SALLYPORT_GATES_HOSTS',
  ),
  price_unknown: final(
    403,
    'a budget in money applies, and the price of the model is not known',
    'call a model with a list price, or have an operator budget tokens instead: sallyport budget put --tokens',
  ),
  model_unknown: final(
    404,
    'there is no such model',
    'see GET /v1/models; an operator can add one: sallyport model put',
  ),
  call_unknown: final(
    404,
    'the session has no keyed call of this key',
    'send the Idempotency-Key of a call that was made',
  ),
  mcp_session_unknown: final(
    404,
    'there is no such MCP session of this run, or its client has ended it',
    'send initialize for a new one',
  ),
  route_unknown: final(
    404,
    'there is no such route',
    'POST /v1/chat/completions, /v1/responses, /v1/embeddings, /v1/messages, /v1beta/models/{model}:generateContent, /v1/http-calls/{tool}, /v1/tool-calls, /v1/tool-calls/{key}/cancel, /v1/mcp/connect, /v1/mcp/list, /v1/mcp/close, /mcp, /mcp/{server}; GET /v1/models',
  ),
  method_refused: final(
    405,
    'without a session, MCP is POST alone',
    'send POST, or the Mcp-Session-Id that initialize answered with',
  ),
  accept_refused: final(
    406,
    'the client takes no JSON, or no stream of events',
    'send Accept: application/json, text/event-stream',
  ),
  body_timeout: passing(
    408,
    'the body did not come, or hardly came any further',
    'send it again: its first byte within 10 seconds, then 64 KiB or its end within each 30',
  ),
  run_stale: final(
    409,
    'the run is over',
    'stop: its turn ended or was cancelled, or a newer lease took it over',
  ),
  gate_conflict: final(
    409,
    'the Idempotency-Key is another request’s',
    'use a new key for each call, and the same one only to send it again unchanged',
  ),
  outcome_expired: final(
    409,
    'the call has ended, and what it gave is not kept any more',
    'look at the tool; use a new key to call it again',
  ),
  body_too_large: final(
    413,
    'the body is too large',
    'send at most 32 MiB to a model, 4 MiB as an MCP message, 1 MiB to a tool',
  ),
  media_type_refused: final(415, 'the body is not JSON', 'send Content-Type: application/json'),
  encoding_refused: final(
    415,
    'the body’s encoding is not read here',
    'send it plain, or as gzip, deflate, br or zstd',
  ),
  host_refused: final(
    421,
    'this is not the host of the gates',
    'an operator can add a name: SALLYPORT_GATES_HOSTS',
  ),
  upgrade_refused: final(426, 'no other protocol is spoken here', 'use HTTP POST'),
  budget_exceeded: final(
    429,
    'a budget is used up',
    'stop, or have an operator raise it: sallyport budget put',
  ),
  run_busy: passing(
    429,
    'the run’s calls hold as much as they may: bodies of 64 MiB, or 256 that still come',
    'send it again when one of them has ended',
  ),
  mcp_busy: passing(
    429,
    'the run, or the gate, has as many MCP calls and streams open as it may',
    'send it again when one of them has ended',
  ),
  rate_limited: passing(429, 'a rate is used up', 'wait as Retry-After says, then send it again'),
  internal: passing(
    500,
    'something went wrong on our side',
    'try again; an operator should look into the log',
  ),
  resolve_failed: passing(502, 'the provider’s host name could not be resolved', 'try again; check the name'),
  connect_failed: passing(502, 'the provider could not be reached', 'try again later'),
  provider_certificate: final(
    502,
    'the certificate of the provider could not be verified',
    'mend it; an operator can trust its CA: SALLYPORT_EXTRA_CA',
  ),
  provider_failed: passing(502, 'the provider broke off, or its answer was not HTTP', 'try again later'),
  redirect_refused: final(
    502,
    'the provider answered with a redirect',
    'have an operator set the base URL it points to',
  ),
  provider_busy: passing(
    503,
    'no provider of the model could answer: busy, failing or not to be reached',
    'try again later',
  ),
  gate_busy: passing(
    503,
    'the gate has no room for the body: 448 MiB are held, 512 for a run that holds 1 MiB, or 32 of the session wait to be decoded',
    'try again; an operator can run more gates',
  ),
  facts_unavailable: passing(
    503,
    'the state of the run could not be read',
    'try again; an operator should look at the database',
  ),
  shutting_down: passing(503, 'the gate is shutting down', 'try again'),
  provider_timeout: final(504, 'the provider did not answer in time', 'ask for less, or for a stream'),
} as const satisfies Record<string, Refusal>;

/** Why a call was let through. */
const APPROVALS = {
  declared: 'the session may call it, and its credential may go there',
  built_in: 'the model is built in and reaches nothing',
} as const;

/** How a call ended that was let through and answered. */
export const ENDINGS = {
  completed: 'the answer went out whole',
  provider_error: 'the provider answered with an error',
  provider_died: 'the provider broke off in the middle of its answer',
  client_left: 'the caller left before the answer was whole',
  run_stale: 'the run ended in the middle of the answer',
  token_untrusted: 'the key that signed the token was revoked in the middle of the answer',
  facts_unavailable: 'the change feed was lost for longer than SALLYPORT_FEED_GRACE',
  provider_timeout: 'the provider said nothing for too long',
  shutting_down: 'the gate was shut down',
  gate_died: 'the gate died in the middle; tokens and cost are the reserved ones',
} as const;

export type RefusalReason = keyof typeof REFUSALS;
export type ApprovalReason = keyof typeof APPROVALS;
type EndReason = keyof typeof ENDINGS;
/** What the ledger says of a call. */
export type Outcome = RefusalReason | EndReason;
/** Why a call that runs must end. */
export type StopReason = Extract<EndReason, RefusalReason> | 'client_left';

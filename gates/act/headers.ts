/**
 * Which headers pass a gate. Everything does that is not known to be wrong: betas, versions and attributions are open
 * lists. What never passes: what belongs to the connection, any credential of the caller, cookies, and whatever else
 * the caller's token or the injected header's name stands in. Raw lines, so that case, order and doubles stay.
 */

/** Name, value, name, value: as Node gives raw headers and undici and `writeHead` take them. */
export type RawHeaders = readonly string[];

/**
 * A request's headers as the provider gets them, without its credential.
 * @param token the caller's token: a line that holds it anywhere is left out
 * @param injected names that are set by the gate
 */
export function requestHeaders(raw: RawHeaders, token: string, injected: readonly string[]): string[] {
  const nominated = nominatedNames(raw);
  const set = new Set(injected.map(foldName));
  return filterLines(raw, (name, value) => {
    const folded = foldName(name);
    const own = CONNECTION_HEADERS.has(folded) || nominated.has(folded) || REQUEST_ONLY_OURS.has(folded);
    const routes = own || ROUTING.test(folded);
    return !routes && !CREDENTIAL_HEADERS.has(folded) && !set.has(folded) && !value.includes(token);
  });
}

/** An answer's headers as the caller gets them. @param dropped names in lower case that do not hold any more */
export function responseHeaders(raw: RawHeaders, dropped: readonly string[] = []): string[] {
  const nominated = nominatedNames(raw);
  return filterLines(raw, (name) => {
    const folded = foldName(name);
    // A provider's cookies would tie one run to another: they share its credential, and its connections.
    const passes = !CONNECTION_HEADERS.has(folded) && !nominated.has(folded) && !dropped.includes(folded);
    return passes && folded !== 'set-cookie';
  });
}

/** The one value of a header, lower case and trimmed; empty where there is none. */
export function headerValue(raw: RawHeaders, name: string): string {
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const found = raw[i] as string;
    if (found.length === name.length && found.toLowerCase() === name)
      return (raw[i + 1] as string).trim().toLowerCase();
  }
  return '';
}

/** The content coding of all lines together, lower case; empty for none. Several are in their order, with `, ` between them. */
export function contentCoding(raw: RawHeaders): string {
  const lines = filterLines(raw, (name) => name.toLowerCase() === 'content-encoding').filter(
    (_, i) => i % 2 === 1,
  );
  const codings = lines.flatMap((line) => line.split(',')).map((coding) => coding.trim().toLowerCase());
  return codings.filter((coding) => coding !== '' && coding !== 'identity').join(', ');
}

function filterLines(raw: RawHeaders, keep: (name: string, value: string) => boolean): string[] {
  const kept: string[] = [];
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const [name = '', value = ''] = [raw[i], raw[i + 1]];
    if (keep(name, value)) kept.push(name, value);
  }
  return kept;
}

/** What `Connection` nominates, but never what frames the body. Most requests nominate nothing of note. */
function nominatedNames(raw: RawHeaders): ReadonlySet<string> {
  const value = headerValue(raw, 'connection');
  if (value === '' || value === 'keep-alive' || value === 'close') return NONE;
  const lines = filterLines(raw, (name) => name.toLowerCase() === 'connection').filter((_, i) => i % 2 === 1);
  const names = lines.flatMap((line) => line.split(',')).map((name) => foldName(name.trim()));
  return new Set(names.filter((name) => !FRAMING.has(name)));
}

/** Some servers take `X_Api_Key` or `X.Api.Key` for `X-Api-Key`: to a CGI variable (RFC 3875 4.1.18) all marks are one. */
export function foldName(name: string): string {
  const known = foldedNames.get(name);
  if (known !== undefined) return known;
  const made = name.toLowerCase().replace(/[^a-z0-9]/g, '-');
  // Names are few, but those who send them may make up more.
  if (foldedNames.size < MAX_FOLDED && name.length <= MAX_NAME_CHARS) foldedNames.set(name, made);
  return made;
}

const foldedNames = new Map<string, string>();
const MAX_FOLDED = 1_000;
const MAX_NAME_CHARS = 64;
/** RFC 9110 7.6.1, and what proxies were sent by mistake. */
const CONNECTION_HEADERS: ReadonlySet<string> = new Set([
  'connection',
  'http2-settings',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authentication-info',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);
/** The upstream request has its own. */
const REQUEST_ONLY_OURS: ReadonlySet<string> = new Set([
  'host',
  'content-length',
  'expect',
  // Some servers and frameworks take the method or the path from these: what was allowed was another call.
  'x-http-method',
  'x-http-method-override',
  'x-method-override',
  'x-original-uri',
  'x-original-url',
  'x-rewrite-uri',
  'x-rewrite-url',
  'x-forwarded-path',
  'x-forwarded-uri',
]);
const CREDENTIAL_HEADERS: ReadonlySet<string> = new Set([
  'authorization',
  'api-key',
  'cookie',
  'cookie2',
  'x-api-key',
  'x-goog-api-key',
]);
/** By these a gateway in front of models calls another model, or one elsewhere: Portkey's, LiteLLM's, Helicone's. */
const ROUTING = /^(?:x-portkey|x-litellm|litellm|helicone|x-helicone)-/;
const NONE: ReadonlySet<string> = new Set();
const FRAMING: ReadonlySet<string> = new Set(['content-length', 'content-type', 'content-encoding']);

/**
 * Which of the secrets of a host a request gets, where their rules limit them to paths and methods. Pure. A request that
 * two readers could read differently is ambiguous: its raw bytes are forwarded, so the origin's reading would count.
 */
import type { Binding } from '../../core-lite/network/policy.ts';
import { foldName, type RequestHead } from '../http1/head.ts';
import { isOverride } from '../overrides.ts';
import { decodeParameter, namesParameter, wantSamePlace } from '../places.ts';

/** A secret as far as it is chosen by. */
export type Ruled = Pick<Binding, 'placement' | 'rules'>;

/** What of a request the rules judge. */
export type Judged = Pick<RequestHead, 'method' | 'target' | 'headers'>;

/** A request that went out, and with the secrets of which credentials. */
export interface UnderWay {
  readonly credentialIds: readonly string[];
  readonly request: Judged;
}

export function hasRules({ rules }: Ruled): boolean {
  return rules.paths.length + rules.methods.length > 0;
}

/**
 * The secrets that a request gets: all that cover it, and of those that want the same place the one with the longest
 * path rule.
 * @returns `contested` where two have the same claim to a place
 */
export function chooseSecrets<S extends Ruled>(
  request: Judged,
  secrets: readonly S[],
): readonly S[] | 'contested' {
  const covering = secrets
    .map((secret) => ({ secret, claim: claimOf(secret, request) }))
    .filter(({ claim }) => claim !== NOT_COVERED)
    .sort((one, other) => other.claim - one.claim);
  const chosen: typeof covering = [];
  for (const candidate of covering) {
    const rival = chosen.find(({ secret }) => wantSamePlace(secret.placement, candidate.secret.placement));
    if (rival?.claim === candidate.claim) return 'contested';
    if (!rival) chosen.push(candidate);
  }
  return chosen.map(({ secret }) => secret);
}

/** Whether it may go on, by what is bound to its host now: each of its secrets is, and covers it still. */
export function isCovered(
  { credentialIds, request }: UnderWay,
  bound: readonly (Ruled & Pick<Binding, 'credentialId'>)[],
): boolean {
  if (credentialIds.length === 0) return true;
  if (bound.some(hasRules) && isAmbiguous(request)) return false;
  const covering = bound.filter((secret) => claimOf(secret, request) !== NOT_COVERED);
  return credentialIds.every((id) => covering.some(({ credentialId }) => credentialId === id));
}

/** Whether an origin could read another path or method than the rules do. */
export function isAmbiguous({ target, headers }: Judged): boolean {
  if (target.includes('#') || isAmbiguousPath(pathOf(target))) return true;
  if (headers.some(({ name }) => isOverride(foldName(name)))) return true;
  const query = target.slice(pathOf(target).length + 1);
  const names = query.split(/[&;]/).map((parameter) => parameter.split('=', 1)[0] ?? '');
  return names.some((name) => OVERRIDE_PARAMETERS.some((each) => namesParameter(name, each)));
}

/** How long the path rule is that covers the request; the longest of several. */
function claimOf({ rules }: Ruled, { method, target }: Judged): number {
  if (rules.methods.length > 0 && !rules.methods.includes(method)) return NOT_COVERED;
  if (rules.paths.length === 0) return 0;
  const path = pathOf(target);
  const covering = rules.paths.filter((rule) => (rule.endsWith('/') ? path.startsWith(rule) : path === rule));
  return Math.max(NOT_COVERED, ...covering.map((rule) => rule.length));
}

function pathOf(target: string): string {
  return target.split('?', 1)[0] as string;
}

function isAmbiguousPath(path: string): boolean {
  if (BAD_ESCAPE.test(path)) return true;
  let layer = path;
  for (let depth = 0; depth < MAX_LAYERS; depth++) {
    if (ELSEWHERE_ESCAPE.test(layer) || NEEDLESS_ESCAPE.test(layer)) return true;
    if (AMBIGUOUS.test(layer) || isAmbiguousText(layer)) return true;
    // Proxies and frameworks in front of an origin may each decode once.
    const decoded = decodeParameter(layer.replaceAll('+', '%2B'));
    if (decoded === layer) return false;
    layer = decoded;
  }
  return true;
}

/**
 * Bytes that are no UTF-8 (an overlong dot), and characters that an origin may make dots and slashes of, or nothing: by
 * compatibility mapping, by the best fit of a code page, by leaving out what is not seen.
 */
function isAmbiguousText(layer: string): boolean {
  if (!NOT_ASCII.test(layer)) return false;
  try {
    const text = UTF8.decode(Buffer.from(layer, 'latin1'));
    const mapped = text.normalize('NFKC');
    if (SLASH_LIKE.test(text) || countSlashes(mapped) !== countSlashes(text)) return true;
    const plain = mapped.replace(DOT_LIKE, '.').replace(PERCENT_LIKE, '%').replace(UNSEEN, '');
    // An escape that only the mapping makes would be decoded behind it, as often as anybody likes.
    if (escapesOf(mapped) !== escapesOf(text) || escapesOf(plain) !== escapesOf(text)) return true;
    return AMBIGUOUS.test(mapped) || AMBIGUOUS.test(plain) || FOREIGN_ESCAPE.test(plain);
  } catch {
    return true;
  }
}

function escapesOf(text: string): string {
  return (text.match(ESCAPES) ?? []).join('');
}

function countSlashes(text: string): number {
  return text.split('/').length;
}

const NOT_COVERED = -1;
/** More encodings inside each other than anyone needs. */
const MAX_LAYERS = 4;
const UTF8 = new TextDecoder('utf-8', { fatal: true });
const NOT_ASCII = /[\x80-\xff]/;
const BAD_ESCAPE = /%(?![0-9A-Fa-f]{2})/;
/** What some decode as another character (IIS). */
const ELSEWHERE_ESCAPE = /%u(?:[0-9A-Fa-f]{4}|\{[0-9A-Fa-f]+\})/i;
const ESCAPES = /%(?:[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|u\{[0-9A-Fa-f]+\})/gi;
/** With digits of other scripts, which some read as numbers. */
const FOREIGN_ESCAPE = /%(?:u\{?)?[\dA-F]*(?!\d)\p{Nd}/iu;
/** RFC 3986 6.2.2.2: an encoded unreserved character is the character itself, so the path has another spelling. */
const NEEDLESS_ESCAPE = /%(?:2[dDeE]|3[0-9]|4[1-9a-fA-F]|5[0-9aAfF]|6[1-9a-fA-F]|7[0-9aAeE])/;
/**
 * Encoded dot, slash, backslash or semicolon; `\`; `;`; `//`; a segment of dots and blanks (`+` is one to some); dots
 * that begin a segment and are followed by what ends a name to some; a control character.
 */
const AMBIGUOUS =
  /%2e|%2f|%5c|%3b|[\\;]|\/\/|(?:^|\/)(?: +|(?=[ +]*\.)[. +]+)(?:\/|$)|(?:^|\/)[ +]*\.\.+[^\w./-]|[^ -~\u0080-\uffff]/i;
const SLASH_LIKE = /[\u00a5\u1735\u2044\u20a9\u2215\u2216\u2571\u2572\u27cb\u27cd\u29f5\u29f8\u29f9]/;
/** Those that compatibility mapping leaves. */
const DOT_LIKE = /[\u06d4\u0701\u0702\u3002\ua4f8\ua60e]/g;
/** By the best fit of a code page. */
const PERCENT_LIKE = /\u066a/g;
/** What is dropped on the way from one form of a text to another: format and control characters, marks. */
const UNSEEN = /[\p{Default_Ignorable_Code_Point}\p{C}\p{M}\p{Zl}\p{Zp}]/gu;
const OVERRIDE_PARAMETERS = ['_method', '_httpmethod', 'x-http-method-override'];

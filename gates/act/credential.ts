/** Puts a credential on a request. This is where a secret's bytes leave, and where their spelling for the mask is made. */
import type { Allow } from '../../core-lite/decision.ts';
import type { KeyPlace } from '../../core-lite/providers/provider.ts';
import type { GateCredential } from '../../core-lite/vault/gate-credentials.ts';

export interface PutOn {
  /** Name, value, name, value. */
  readonly headers: readonly string[];
  /** Every secret that was put on, to be masked where an answer gives it back. */
  readonly secrets: readonly Buffer[];
}

/**
 * @param _proof that the credential may go where the request goes
 * @param credential `null` where the upstream asks for none
 * @param place where a `model_key` goes; a tool's credential is none
 */
export function putOn(
  _proof: Allow<string>,
  credential: GateCredential | null,
  place: KeyPlace | null,
): PutOn {
  if (!credential) return { headers: [], secrets: [] };
  const parts = Object.entries(credential.parts).map(([name, part]) => [name, part.reveal()] as const);
  if (credential.kind === 'headers') {
    return { headers: parts.flat(), secrets: parts.flatMap(([, value]) => spellings(value)) };
  }
  const secrets = parts.map(([, value]) => Buffer.from(value));
  const value = parts.find(([name]) => name === 'value')?.[1] ?? '';
  const bare = credential.kind === 'model_key' && place !== null && place !== 'bearer';
  return { headers: bare ? [place, value] : ['authorization', `Bearer ${value}`], secrets };
}

/**
 * A header's value, and what in it is the secret: an upstream that complains of `Bearer KEY` names the key alone. What is
 * as short as a word stays: it would be masked in every answer.
 */
function spellings(value: string): Buffer[] {
  const [scheme = '', ...rest] = value.trim().split(/[\s,;]+/);
  const pieces = rest.length > 0 && !scheme.includes('=') ? rest : [scheme, ...rest];
  const bare = pieces.flatMap((piece) => [piece, piece.replace(PARAMETER, '').replace(/^"|"$/g, '')]);
  const basic = /^basic$/i.test(scheme) ? readBasic(rest[0] ?? '') : [];
  const found = [...bare, ...basic].filter((each) => each.length >= LEAST_CHARS && each !== value);
  return [...new Set([value, ...found])].map((each) => Buffer.from(each));
}

/** Name and password, and the password alone (RFC 7617). */
function readBasic(text: string): string[] {
  const pair = Buffer.from(text, 'base64').toString();
  const colon = pair.indexOf(':');
  return colon < 0 ? [] : [pair, pair.slice(colon + 1)];
}

/** As in `Token token="KEY"` or `session=KEY`, but not the padding of base64. */
const PARAMETER = /^[\w.-]+=(?=[^=])/;
const LEAST_CHARS = 8;

/** The names of the headers that it sets. */
export function headerNames({ headers }: PutOn): string[] {
  return headers.filter((_, i) => i % 2 === 0);
}

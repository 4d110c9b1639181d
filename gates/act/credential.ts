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
  const secrets = parts.map(([, value]) => Buffer.from(value));
  if (credential.kind === 'headers') return { headers: parts.flat(), secrets };
  const value = parts.find(([name]) => name === 'value')?.[1] ?? '';
  const bare = credential.kind === 'model_key' && place !== null && place !== 'bearer';
  return { headers: bare ? [place, value] : ['authorization', `Bearer ${value}`], secrets };
}

/** The names of the headers that it sets. */
export function headerNames({ headers }: PutOn): string[] {
  return headers.filter((_, i) => i % 2 === 0);
}

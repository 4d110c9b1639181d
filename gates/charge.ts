/**
 * What a call is charged with when it is settled: nothing where no provider worked for it, what was counted where
 * that is known, and else what was reserved, since it may have cost that much.
 */
import type { Charge, TokenCounts } from '../core-lite/record/usage-ledger.ts';
import type { Outcome } from './reasons.ts';

export interface Charged {
  /** Whether anything of it may have reached a provider. */
  readonly sent: boolean;
  readonly outcome: Outcome;
  /** What the caller got. */
  readonly status: number | null;
  readonly tokens: TokenCounts;
}

export function decideCharge({ sent, outcome, status, tokens }: Charged): Charge {
  if (tokens.input !== null && tokens.output !== null) return 'counted';
  if (!sent || UNSERVED.has(outcome)) return 'none';
  // Providers charge nothing for an error that they answer instead of a completion.
  if (outcome === 'provider_error' && (status ?? 0) >= 400) return 'none';
  return 'reserved';
}

/** No provider took the request, whatever was tried. */
const UNSERVED: ReadonlySet<Outcome> = new Set<Outcome>([
  'resolve_failed',
  'address_refused',
  'plaintext_refused',
  'connect_failed',
  'provider_certificate',
  'redirect_refused',
  'provider_busy',
]);

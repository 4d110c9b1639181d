/**
 * What a call is charged with when it is settled: nothing where no provider worked for it, what was counted where
 * that is known, and else what was reserved, since it may have cost that much. Of an answer that was
 * cut off, what it had told of its output is a first figure: it is charged at least for what had passed.
 */
import type { Spend } from '../core-lite/record/call-starts.ts';
import type { Charge, TokenCounts } from '../core-lite/record/usage-ledger.ts';
import type { Outcome } from './reasons.ts';

export interface Charged {
  /** Whether anything of it may have reached a provider. */
  readonly sent: boolean;
  readonly outcome: Outcome;
  /** What the caller got. */
  readonly status: number | null;
  /** Whether it was an error, before the model had written anything. */
  readonly unbegun: boolean;
  readonly tokens: TokenCounts;
  /** Whether some of the tokens are presumed. */
  readonly presumed: boolean;
}

export function decideCharge({ sent, outcome, status, unbegun, tokens, presumed }: Charged): Charge {
  if (presumed) return 'reserved';
  if (tokens.input !== null && tokens.output !== null) return 'counted';
  if (!sent || UNSERVED.has(outcome)) return 'none';
  // Providers charge nothing for an error that they answer instead of a completion.
  if (outcome === 'provider_error' && ((status ?? 0) >= 400 || unbegun)) return 'none';
  return 'reserved';
}

/**
 * The tokens of an answer that was cut off; `null` where there is nothing to presume: what was reserved is charged of
 * what nobody told.
 * @param passedBytes how much of the answer had passed
 */
export function presumeTokens(
  tokens: TokenCounts,
  passedBytes: number,
  reserved: Spend | null,
): TokenCounts | null {
  if (tokens.output === null || !reserved) return null;
  const passed = Math.min(Math.ceil(passedBytes / BYTES_PER_TOKEN), reserved.outputTokens);
  return {
    ...tokens,
    input: tokens.input ?? reserved.inputTokens,
    output: Math.max(tokens.output, passed),
  };
}

export interface Figures {
  readonly tokens: TokenCounts;
  readonly costUsd: number | null;
}

/** The figures that the row in the ledger has: the database does the same when it settles the call. */
export function bookFigures(
  charge: Charge,
  { tokens, costUsd }: Figures,
  reserved: Spend | null,
): Figures & { readonly presumed: boolean } {
  if (charge !== 'reserved' || !reserved) return { tokens, costUsd, presumed: false };
  const input = tokens.input ?? reserved.inputTokens;
  const output = tokens.output ?? reserved.outputTokens;
  return { tokens: { ...tokens, input, output }, costUsd: costUsd ?? reserved.costUsd, presumed: true };
}

/** Of text; the names around it make it the more. */
const BYTES_PER_TOKEN = 4;
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

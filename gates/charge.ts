/**
 * What a call is charged with when it is settled: nothing where no provider worked for it, what was counted where
 * that is known, and else what was reserved, since it may have cost that much. Of an answer whose usage was not told to
 * its end, what passed and how long it took are charged at least; more than was reserved where its body set no limit.
 */
import type { Spend } from '../core-lite/record/call-starts.ts';
import type { Charge, TokenCounts } from '../core-lite/record/usage-ledger.ts';
import type { Reserved } from './estimate.ts';
import type { Outcome } from './reasons.ts';

export interface Charged {
  /** Whether anything of it may have reached a provider. */
  readonly sent: boolean;
  readonly outcome: Outcome;
  /** Whether it was an error that has nothing of the model. */
  readonly unbegun: boolean;
  readonly tokens: TokenCounts;
}

export function decideCharge({ sent, outcome, unbegun, tokens }: Charged): Charge {
  if (tokens.input !== null && tokens.output !== null) return 'counted';
  if (!sent || UNSERVED.has(outcome)) return 'none';
  // Providers charge nothing for an error that they answer instead of a completion.
  if (outcome === 'provider_error' && unbegun) return 'none';
  return 'reserved';
}

/** What of an answer went through. */
export interface Passed {
  /** About how many tokens it has. */
  readonly tokens: number;
  /** It was cut off: what it told of itself is not the whole. */
  readonly cut: boolean;
  /** Whether its output was told, by more than a first figure. */
  readonly outputTold: boolean;
  /** It is all that was made, though nothing tells of its usage: it came as part of an error. */
  readonly whole?: boolean;
}

export interface Ended {
  /** As they were told. */
  readonly tokens: TokenCounts;
  /** None where nothing of an answer came. */
  readonly passed?: Passed | undefined;
  /** How long the call took, milliseconds. */
  readonly ms: number;
  readonly reserved: Reserved | null;
}

/** The tokens of a call whose usage was not told to its end; `null` where what was told, or what was reserved, is right. */
export function presumeTokens({ tokens, passed, ms, reserved }: Ended): TokenCounts | null {
  if (!reserved) return null;
  const { limited, streamed, inputTokens, outputTokens } = reserved;
  const isCut = passed?.cut === true;
  if (!isCut && tokens.output !== null) return null;
  // What is not streamed was made whole before it came, or may be made to its end.
  const isPart = isCut && (streamed || tokens.output !== null || passed.whole === true);
  const made = passed?.outputTold || passed?.whole ? 0 : Math.ceil((ms / 1_000) * TOKENS_A_SECOND);
  const seen = Math.max(passed?.tokens ?? 0, made);
  const most = limited ? Math.min(seen, outputTokens) : seen;
  const output = Math.max(tokens.output ?? 0, most, isPart ? 0 : outputTokens);
  if (!isPart && output === outputTokens) return null;
  return { ...tokens, input: tokens.input ?? inputTokens, output };
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

/** What large models write; small ones are faster, and cheaper. */
const TOKENS_A_SECOND = 100;
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

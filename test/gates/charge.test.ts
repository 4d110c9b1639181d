/** What a call is charged with, as a table: how it ended decides, and what was counted. */
import { expect, it } from 'vitest';
import type { TokenCounts } from '../../core-lite/record/usage-ledger.ts';
import { type Charged, decideCharge, presumeTokens } from '../../gates/charge.ts';
import { NO_TOKENS } from '../../gates/record.ts';

const COUNTED = { ...NO_TOKENS, input: 3, output: 4 };
const CALL: Charged = {
  sent: true,
  outcome: 'completed',
  status: 200,
  unbegun: false,
  tokens: NO_TOKENS,
  presumed: false,
};

it.each<[name: string, call: Partial<Charged>, charge: ReturnType<typeof decideCharge>]>([
  ['counted', { tokens: COUNTED }, 'counted'],
  ['counted, then cut off', { tokens: COUNTED, outcome: 'client_left' }, 'counted'],
  ['presumed of what passed', { tokens: COUNTED, presumed: true, outcome: 'client_left' }, 'reserved'],
  ['counted by a built-in model', { tokens: COUNTED, sent: false }, 'counted'],
  ['counted by half', { tokens: { ...NO_TOKENS, input: 3 } }, 'reserved'],
  ['no usage told', {}, 'reserved'],
  ['left before it was answered', { outcome: 'client_left', status: null }, 'reserved'],
  ['left before it was sent', { outcome: 'client_left', status: null, sent: false }, 'none'],
  ['broken off', { outcome: 'provider_died' }, 'reserved'],
  ['hung up on', { outcome: 'provider_failed', status: 502 }, 'reserved'],
  ['too slow', { outcome: 'provider_timeout', status: 504 }, 'reserved'],
  ['an error of the provider', { outcome: 'provider_error', status: 429 }, 'none'],
  ['an error in the middle of a stream', { outcome: 'provider_error', status: 200 }, 'reserved'],
  ['an error at the beginning of a stream', { outcome: 'provider_error', unbegun: true }, 'none'],
  ['an error behind a told usage', { outcome: 'provider_error', unbegun: true, tokens: COUNTED }, 'counted'],
  ['not reached', { outcome: 'connect_failed', status: 502 }, 'none'],
  ['no provider left', { outcome: 'provider_busy', status: 503 }, 'none'],
  ['refused by a budget', { outcome: 'budget_exceeded', status: 429, sent: false }, 'none'],
  ['over before it was sent', { outcome: 'run_stale', status: 409, sent: false }, 'none'],
  ['over after it was sent', { outcome: 'run_stale', status: 409 }, 'reserved'],
])('%s', (_, call, charge) => expect(decideCharge({ ...CALL, ...call })).toBe(charge));

const RESERVED = {
  model: 'm',
  upstreamName: 'm',
  provider: 'custom',
  dialect: 'anthropic',
  streamed: true,
  inputTokens: 70,
  outputTokens: 1_000,
  costUsd: null,
} as const;

it.each<[name: string, told: Partial<TokenCounts>, bytes: number, presumed: Partial<TokenCounts> | null]>([
  ['what passed, where a first figure is less', { input: 3, output: 1 }, 401, { input: 3, output: 101 }],
  ['what was told, where that is more', { input: 3, output: 500 }, 400, { input: 3, output: 500 }],
  ['no more than was reserved', { input: 3, output: 1 }, 1e9, { input: 3, output: 1_000 }],
  ['what was told, even above that', { input: 3, output: 2_000 }, 1e9, { input: 3, output: 2_000 }],
  ['the reserved input, where none was told', { output: 0 }, 5, { input: 70, output: 2 }],
  ['nothing, where no output was told', { input: 3 }, 400, null],
])('of an answer that was cut off is presumed %s', (_, told, bytes, presumed) => {
  expect(presumeTokens({ ...NO_TOKENS, ...told }, bytes, RESERVED)).toEqual(
    presumed && { ...NO_TOKENS, ...presumed },
  );
  expect(presumeTokens({ ...NO_TOKENS, ...told }, bytes, null)).toBeNull();
});

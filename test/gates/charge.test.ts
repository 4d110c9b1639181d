/** What a call is charged with, as a table: how it ended decides, and what was counted. */
import { expect, it } from 'vitest';
import type { TokenCounts } from '../../core-lite/record/usage-ledger.ts';
import { type Charged, decideCharge, type Passed, presumeTokens } from '../../gates/charge.ts';
import type { Reserved } from '../../gates/estimate.ts';
import { NO_TOKENS } from '../../gates/record.ts';

const COUNTED = { ...NO_TOKENS, input: 3, output: 4 };
const CALL: Charged = {
  sent: true,
  outcome: 'completed',
  unbegun: false,
  tokens: NO_TOKENS,
};

it.each<[name: string, call: Partial<Charged>, charge: ReturnType<typeof decideCharge>]>([
  ['counted', { tokens: COUNTED }, 'counted'],
  ['counted, then cut off', { tokens: COUNTED, outcome: 'client_left' }, 'counted'],
  ['counted by a built-in model', { tokens: COUNTED, sent: false }, 'counted'],
  ['counted by half', { tokens: { ...NO_TOKENS, input: 3 } }, 'reserved'],
  ['no usage told', {}, 'reserved'],
  ['left before it was answered', { outcome: 'client_left' }, 'reserved'],
  ['left before it was sent', { outcome: 'client_left', sent: false }, 'none'],
  ['broken off', { outcome: 'provider_died' }, 'reserved'],
  ['hung up on', { outcome: 'provider_failed' }, 'reserved'],
  ['too slow', { outcome: 'provider_timeout' }, 'reserved'],
  ['an error with words of the model', { outcome: 'provider_error' }, 'reserved'],
  ['an error without', { outcome: 'provider_error', unbegun: true }, 'none'],
  ['an error behind a told usage', { outcome: 'provider_error', unbegun: true, tokens: COUNTED }, 'counted'],
  ['not reached', { outcome: 'connect_failed' }, 'none'],
  ['no provider left', { outcome: 'provider_busy' }, 'none'],
  ['refused by a budget', { outcome: 'budget_exceeded', sent: false }, 'none'],
  ['over before it was sent', { outcome: 'run_stale', sent: false }, 'none'],
  ['over after it was sent', { outcome: 'run_stale' }, 'reserved'],
])('%s', (_, call, charge) => expect(decideCharge({ ...CALL, ...call })).toBe(charge));

const RESERVED: Reserved = {
  model: 'm',
  upstreamName: 'm',
  provider: 'custom',
  dialect: 'openai',
  streamed: true,
  inputTokens: 70,
  outputTokens: 1_000,
  costUsd: null,
  limited: true,
};
const CUT: Passed = { tokens: 0, cut: true, outputTold: true };
const UNTOLD: Passed = { ...CUT, outputTold: false };

interface Row {
  readonly told?: Partial<TokenCounts>;
  readonly passed?: Passed;
  readonly ms?: number;
  readonly reserved?: Partial<Reserved>;
}

it.each<[name: string, row: Row, presumed: Partial<TokenCounts> | null]>([
  [
    'what passed, where a first figure is less',
    { told: { input: 3, output: 1 }, passed: { ...CUT, tokens: 101 } },
    { input: 3, output: 101 },
  ],
  [
    'what was told, where that is more',
    { told: { input: 3, output: 500 }, passed: { ...CUT, tokens: 100 }, ms: 60_000 },
    { input: 3, output: 500 },
  ],
  [
    'no more than was reserved',
    { told: { input: 3, output: 1 }, passed: { ...CUT, tokens: 1e9 } },
    { input: 3, output: 1_000 },
  ],
  [
    'what was told, even above that',
    { told: { input: 3, output: 2_000 }, passed: { ...CUT, tokens: 1e9 } },
    { input: 3, output: 2_000 },
  ],
  [
    'the reserved input, where none was told',
    { told: { output: 0 }, passed: { ...CUT, tokens: 2 } },
    { input: 70, output: 2 },
  ],
  [
    'what may have been written in its time, where only a first figure was told',
    { told: { input: 3, output: 1 }, passed: { ...UNTOLD, tokens: 101 }, ms: 5_000 },
    { input: 3, output: 500 },
  ],
  [
    'what may have been written in its time, where nothing was told',
    { passed: { ...UNTOLD, tokens: 101 }, ms: 5_000 },
    { input: 70, output: 500 },
  ],
  [
    'what passed, where that is more',
    { passed: { ...UNTOLD, tokens: 700 }, ms: 5_000 },
    { input: 70, output: 700 },
  ],
  [
    'no more than its body’s limit, however long it took',
    { passed: { ...UNTOLD, tokens: 9_000 }, ms: 600_000 },
    { input: 70, output: 1_000 },
  ],
  [
    'all that passed, where its body sets no limit',
    { passed: { ...UNTOLD, tokens: 60_000 }, reserved: { limited: false } },
    { input: 70, output: 60_000 },
  ],
  [
    'all of its time, where its body sets no limit',
    { passed: { ...UNTOLD, tokens: 9 }, ms: 600_000, reserved: { limited: false } },
    { input: 70, output: 60_000 },
  ],
  [
    'as much where nothing of it had come',
    { ms: 600_000, reserved: { limited: false, streamed: false } },
    { input: 70, output: 60_000 },
  ],
  ['what was reserved where nothing of it had come', { ms: 600_000 }, null],
  ['what was reserved, if that is more', { ms: 5_000, reserved: { limited: false, streamed: false } }, null],
  [
    'the words in an error alone, where it is no stream',
    { passed: { ...UNTOLD, tokens: 9, whole: true }, ms: 60_000, reserved: { streamed: false } },
    { input: 70, output: 9 },
  ],
  [
    'the words in an error, up to the limit of its body',
    { passed: { ...UNTOLD, tokens: 9_000, whole: true }, reserved: { streamed: false } },
    { input: 70, output: 1_000 },
  ],
  [
    'what was reserved of an answer that is no stream',
    { passed: { ...UNTOLD, tokens: 9 }, ms: 100, reserved: { streamed: false } },
    null,
  ],
  [
    'all that passed in a whole answer without a usage and a limit',
    { passed: { ...UNTOLD, cut: false, tokens: 60_000 }, reserved: { limited: false } },
    { input: 70, output: 60_000 },
  ],
  ['what was reserved for one with a limit', { passed: { ...UNTOLD, cut: false, tokens: 60_000 } }, null],
  [
    'nothing where the answer was whole and told its usage',
    { told: { input: 3, output: 4 }, passed: { ...CUT, cut: false, tokens: 60_000 }, ms: 60_000 },
    null,
  ],
])('of a call whose usage was not told to its end is presumed %s', (_, row, presumed) => {
  const { told = {}, passed, ms = 0, reserved = {} } = row;
  const ended = { tokens: { ...NO_TOKENS, ...told }, passed, ms };
  expect(presumeTokens({ ...ended, reserved: { ...RESERVED, ...reserved } })).toEqual(
    presumed && { ...NO_TOKENS, ...presumed },
  );
  expect(presumeTokens({ ...ended, reserved: null })).toBeNull();
});

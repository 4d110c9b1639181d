/** What a call is charged with, as a table: how it ended decides, and what was counted. */
import { expect, it } from 'vitest';
import { type Charged, decideCharge } from '../../gates/charge.ts';
import { NO_TOKENS } from '../../gates/record.ts';

const COUNTED = { ...NO_TOKENS, input: 3, output: 4 };
const CALL: Charged = { sent: true, outcome: 'completed', status: 200, tokens: NO_TOKENS };

it.each<[name: string, call: Partial<Charged>, charge: ReturnType<typeof decideCharge>]>([
  ['counted', { tokens: COUNTED }, 'counted'],
  ['counted, then cut off', { tokens: COUNTED, outcome: 'client_left' }, 'counted'],
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
  ['not reached', { outcome: 'connect_failed', status: 502 }, 'none'],
  ['no provider left', { outcome: 'provider_busy', status: 503 }, 'none'],
  ['refused by a budget', { outcome: 'budget_exceeded', status: 429, sent: false }, 'none'],
  ['over before it was sent', { outcome: 'run_stale', status: 409, sent: false }, 'none'],
  ['over after it was sent', { outcome: 'run_stale', status: 409 }, 'reserved'],
])('%s', (_, call, charge) => expect(decideCharge({ ...CALL, ...call })).toBe(charge));

/** Dollars as commands print them: small ones are small, and not nothing. */
import { expect, it } from 'vitest';
import { formatExactUsd, formatRoundUsd } from '../../cli/usd.ts';

it.each<[amount: number, exact: string, round: string]>([
  [0, '$0', '$0'],
  [500, '$500', '$500'],
  [12.5, '$12.5', '$12.5'],
  [0.1 + 0.2, '$0.3', '$0.3'],
  [0.123456, '$0.123456', '$0.1235'],
  [0.0000001, '$0.0000001', '<$0.0001'],
  [1e-10, '$0.0000000001', '<$0.0001'],
  [-0.25, '-$0.25', '-$0.25'],
  [-0.00001, '-$0.00001', '-<$0.0001'],
  [999_999_999_999, '$999999999999', '$999999999999'],
])('%f dollars', (amount, exact, round) => {
  expect([formatExactUsd(amount), formatRoundUsd(amount, 4)]).toEqual([exact, round]);
});

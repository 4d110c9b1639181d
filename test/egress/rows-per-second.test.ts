/** The bound of rows that being refused can write. */
import { expect, test } from 'vitest';
import { RowsPerSecond } from '../../egress/rows-per-second.ts';

test('so many in a second, for each environment', () => {
  const rows = new RowsPerSecond(2);
  const at = (ms: number) => new Date(1_800_000_000_000 + ms);
  expect([0, 300, 999].map((ms) => rows.take('one', at(ms)))).toEqual([true, true, false]);
  expect(rows.take('two', at(999))).toBe(true);
  expect([1_000, 1_001, 1_002].map((ms) => rows.take('one', at(ms)))).toEqual([true, true, false]);
});

/** What is told of rows that could not be written. */
import { describe, expect, it } from 'vitest';
import { openLog } from '../../../core-lite/log.ts';
import { reportLosses } from '../../../core-lite/record/losses.ts';

describe('lost rows', () => {
  it('are each counted, and one line a second tells of them', () => {
    const counted: string[] = [];
    let said = '';
    let ms = 1_000;
    const log = openLog('test', 'info', { write: (line) => (said += line) });
    const losses = reportLosses(
      log,
      (rows) => counted.push(rows),
      () => new Date(ms),
    );
    const refused = Object.assign(new Error('a value of the row'), { code: '22P02' });
    for (let row = 0; row < 3; row++) losses.of('ends')(refused);
    ms = 2_000;
    losses.of('usage')(null);
    expect(counted).toEqual(['ends', 'ends', 'ends', 'usage']);
    const lines = said
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines).toMatchObject([
      { level: 'error', rows: 'ends', err: { code: '22P02' } },
      { level: 'error', rows: 'usage' },
    ]);
    expect(said).not.toContain('a value of the row');
  });
});

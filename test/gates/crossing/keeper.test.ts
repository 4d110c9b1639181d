/** How an outcome is written while the database is away, refuses it, or has another one already. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Fault } from '../../../core-lite/errors.ts';
import type { Outcome } from '../../../core-lite/record/crossing.ts';
import { Keeper } from '../../../gates/crossing/keeper.ts';

const DONE: Outcome = { status: 'completed', code: null, body: '{"ok":true}' };
const UNCERTAIN: Outcome = { status: 'uncertain', code: 'http.lost', body: '{}' };
const KEPT = { claim: { id: 'crs_1', attempt: 1 }, kind: 'http', sessionId: 'ses_1' } as const;
const away = new Fault('database_unreachable', 'away');

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function keeperOf(settle: (outcome: Outcome) => Promise<boolean>, stands: Outcome | 'running' = 'running') {
  const faults: unknown[] = [];
  const crossings = {
    settle: (_claim: unknown, outcome: Outcome) => settle(outcome),
    release: () => settle(DONE),
    read: async () => stands,
  };
  return { keeper: new Keeper(crossings, (error) => faults.push(error)), faults };
}

describe('an outcome', () => {
  it('is told when it is written, however long the database is away', async () => {
    let tries = 0;
    const { keeper, faults } = keeperOf(async () => {
      tries += 1;
      if (tries < 8) throw away;
      return true;
    });
    const told = keeper.settle(KEPT, DONE);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(await told).toBe(DONE);
    expect(faults).toHaveLength(7);
  });

  it('is what stands where another settled it before', async () => {
    const { keeper } = keeperOf(async () => false, UNCERTAIN);
    expect(await keeper.settle(KEPT, DONE)).toBe(UNCERTAIN);
    expect(await keeperOf(async () => false).keeper.settle(KEPT, DONE)).toBe('again');
  });

  it('that the database refuses is uncertain, and settled all the same', async () => {
    const { keeper } = keeperOf(async (outcome) => {
      if (outcome === DONE) throw new Error('refused');
      return true;
    });
    const told = keeper.settle(KEPT, DONE);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await told).toMatchObject({ status: 'uncertain', code: 'http.lost' });
  });

  it('is given up when the gate goes, and so is a claim', async () => {
    const { keeper } = keeperOf(async () => {
      throw away;
    });
    const told = [keeper.settle(KEPT, DONE), keeper.release(KEPT, null)];
    await vi.advanceTimersByTimeAsync(1_000);
    keeper.close();
    await vi.advanceTimersByTimeAsync(0);
    expect(await told[0]).toEqual({ refusal: 'shutting_down' });
    await told[1];
  });
});

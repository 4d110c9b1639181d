/** Two replicas that start and settle calls of the same scopes in other orders, beside leases and a sweep: none waits in a circle. */
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { type CallStart, CallStarts } from '../../../core-lite/record/call-starts.ts';
import type { ReplicaName } from '../../../core-lite/record/replica-name.ts';
import { tendBudgets } from '../../../core-lite/record/tend-budgets.ts';
import { UsageLedger } from '../../../core-lite/record/usage-ledger.ts';
import { putBudget, removeBudget } from '../../../core-lite/state/budget-store.ts';
import { takeLease } from '../../../core-lite/state/lease-store.ts';
import {
  type BudgetStand,
  callOf,
  entryOf,
  type Running,
  startAll,
  startBudgetStand,
} from '../../support/budget-stand.ts';

let stand: BudgetStand;
beforeAll(async () => {
  stand = await startBudgetStand();
});
afterAll(() => stand?.close());

it('two replicas × overlapping scopes: no deadlock, and the counters come out', async () => {
  const { owner } = stand.installation;
  for (const [i, scope] of (['turn', 'agent', 'session', 'tenant', 'agent'] as const).entries()) {
    await owner.transaction((tx) =>
      putBudget(tx, `b${i}`, {
        scope,
        value: '*',
        measure: 'tokens',
        limit: 1e9,
        period: i % 2 ? 'day' : 'minute',
      }),
    );
  }
  const runs: Running[] = [];
  for (let i = 0; i < 8; i += 1) runs.push(await stand.run(`agent${i % 3}`));
  const rounds = async (
    { name }: { readonly name: ReplicaName },
    backwards: boolean,
  ): Promise<CallStart[]> => {
    const starts = new CallStarts(stand.gates, name);
    const ledger = new UsageLedger(stand.gates, name, vi.fn());
    const done: CallStart[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const order = runs.map((_, place) => runs[(place * 3 + round) % runs.length] as Running);
      const calls = (backwards ? order.toReversed() : order).map((run) => callOf(run));
      const refused = await startAll(starts, calls);
      const started = calls.filter((_, place) => refused[place] === null);
      for (const call of started.toReversed())
        ledger.add(entryOf(call, 'counted', { input: round, output: 1, costUsd: 0 }));
      done.push(...started);
    }
    expect(await ledger.close()).toBe(0);
    return done;
  };
  const two = await stand.replica('rep_two');
  let going = true;
  const around = async (): Promise<void> => {
    for (let i = 0; going; i += 1) {
      const run = runs[i % runs.length] as Running;
      const lease = await owner.transaction((tx) => takeLease(tx, run.turn, 'next'));
      runs[i % runs.length] = { ...run, epoch: lease.leaseEpoch };
      await owner.transaction((tx) =>
        putBudget(tx, 'comes', {
          scope: 'agent',
          value: '*',
          measure: 'requests',
          limit: 1e9,
          period: 'day',
        }),
      );
      await tendBudgets(stand.gates, 'rep_two');
      await owner.transaction((tx) => removeBudget(tx, 'comes'));
    }
  };
  const beside = around();
  const done = await Promise.all([rounds(stand, false), rounds(two, true)]);
  going = false;
  await beside;
  const [ledger] = await owner.query<{ rows: number; tokens: number }>(
    'SELECT count(*)::int AS rows, sum(input_tokens + output_tokens)::int AS tokens FROM model_usage',
  );
  expect(ledger?.rows).toBe(done.flat().length);
  expect(ledger?.rows).toBeGreaterThan(ROUNDS);
  expect(await stand.reservations()).toBe(0);
  for (let i = 0; i < 5; i += 1)
    expect(await stand.sums(`b${i}`)).toEqual({ used: ledger?.tokens, reserved: 0 });
}, 60_000);

const ROUNDS = 60;

/** Calls that start together, as the database decides it: the fence, budgets to the last one, and refusals. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { CallStarts } from '../../../core-lite/record/call-starts.ts';
import type { BudgetInput } from '../../../core-lite/state/budget.ts';
import { putBudget } from '../../../core-lite/state/budget-store.ts';
import { takeLease } from '../../../core-lite/state/lease-store.ts';
import { endSession } from '../../../core-lite/state/session-store.ts';
import { cancelTurn } from '../../../core-lite/state/turn-store.ts';
import { type BudgetStand, callOf, startAll, startBudgetStand } from '../../support/budget-stand.ts';
import { WAITS_FOR_LOCK } from '../../support/waits-for-lock.ts';

let stand: BudgetStand;
beforeAll(async () => {
  stand = await startBudgetStand();
});
afterAll(() => stand?.close());
beforeEach(async () => {
  await stand.installation.owner.query('DELETE FROM budgets');
  await stand.installation.owner.query('DELETE FROM reservations');
});

const put = (name: string, more: Partial<BudgetInput>) =>
  stand.installation.owner.transaction((tx) =>
    putBudget(tx, name, {
      scope: 'tenant',
      value: '*',
      measure: 'requests',
      limit: 10,
      period: 'lifetime',
      ...more,
    }),
  );
const change = <T>(work: Parameters<typeof stand.installation.owner.transaction<T>>[0]) =>
  stand.installation.owner.transaction(work);

describe('the fence', () => {
  it('lets a current run start, with a reservation, and what spends nothing without one', async () => {
    const run = await stand.run();
    expect(await startAll(stand.starts, [callOf(run), callOf(run, null)])).toEqual([null, null]);
    expect(await stand.reservations()).toBe(1);
  });

  it.each<[name: string, end: (run: Awaited<ReturnType<BudgetStand['run']>>) => Promise<unknown>]>([
    ['a newer lease', (run) => change((tx) => takeLease(tx, run.turn, 'other'))],
    ['a cancelled turn', (run) => change((tx) => cancelTurn(tx, run.turn))],
    ['an ended session', (run) => change((tx) => endSession(tx, run.session))],
  ])('refuses after %s, and no other call of the batch', async (_, end) => {
    const [over, going] = [await stand.run(), await stand.run()];
    await end(over);
    const calls = [callOf(going), callOf(over), callOf(over, null), callOf(going)];
    expect(await startAll(stand.starts, calls)).toEqual([
      null,
      { reason: 'run_stale' },
      { reason: 'run_stale' },
      null,
    ]);
    expect(await stand.reservations()).toBe(2);
  });

  it('refuses a turn of another session, and a session that is not there', async () => {
    const [one, other] = [await stand.run(), await stand.run()];
    const calls = [
      callOf({ ...one, turn: other.turn }),
      callOf({ ...one, session: 'ses_none' }),
      callOf({ ...one, epoch: one.epoch + 1 }),
    ];
    for (const refused of await startAll(stand.starts, calls))
      expect(refused).toEqual({ reason: 'run_stale' });
  });

  it('starts nothing for a replica that was declared dead', async () => {
    const starts = await stand.replica('rep_gone');
    await stand.installation.owner.query(`DELETE FROM replicas WHERE id = 'rep_gone'`);
    expect(await starts.start(callOf(await stand.run()))).toEqual({ reason: 'replica_dead' });
    expect(await stand.reservations()).toBe(0);
  });

  it('waits for a bump that is about to commit, and starts nothing after it', async () => {
    const run = await stand.run();
    const asked: Promise<unknown>[] = [];
    await change(async (tx) => {
      await takeLease(tx, run.turn, 'other');
      asked.push(startAll(stand.starts, [callOf(run)]));
      await stand.installation.owner.query(WAITS_FOR_LOCK);
    });
    expect(await asked[0]).toEqual([{ reason: 'run_stale' }]);
  });
});

describe('budgets', () => {
  it('admit 10 of 100 calls at 10, across two replicas', async () => {
    await put('ten', { measure: 'tokens', limit: 1_000 });
    const other = await stand.replica('rep_two');
    const run = await stand.run();
    const calls = Array.from({ length: 100 }, () => callOf(run));
    const answers = await Promise.all(calls.map((call, i) => (i % 2 ? other : stand.starts).start(call)));
    expect(answers.filter((answer) => answer === null)).toHaveLength(10);
    expect(await stand.sums('ten')).toEqual({ used: 0, reserved: 1_000 });
    expect(await stand.reservations()).toBe(10);
    expect(answers.find((answer) => answer !== null)).toMatchObject({
      reason: 'budget',
      budget: 'ten',
      scope: 'tenant',
      measure: 'tokens',
      period: 'lifetime',
      limit: 1_000,
      need: 100,
      resetsInMs: null,
    });
  });

  it.each<[measure: BudgetInput['measure'], each: number]>([
    ['cost_usd', 0.01],
    ['tokens', 100],
    ['requests', 1],
  ])('in %s have their last room once: who asks while another takes it waits', async (measure, each) => {
    await put('last', { measure, limit: each * 2 });
    const [one, two] = [await stand.run(), await stand.run()];
    const { name } = await stand.replica('rep_two');
    // The counter is there, so that nothing but the lock on it makes anybody wait.
    expect(await stand.starts.start(callOf(one))).toBeNull();
    const { owner } = stand.installation;
    const late = await stand.gates.transaction(async (tx) => {
      expect(await new CallStarts(tx, name).start(callOf(two))).toBeNull();
      const asked = stand.starts.start(callOf(one));
      await owner.query(WAITS_FOR_LOCK);
      return { asked };
    });
    expect(await late.asked).toMatchObject({ reason: 'budget', budget: 'last', reserved: each * 2 });
    expect(await stand.sums('last')).toEqual({ used: 0, reserved: each * 2 });
  });

  it('of an agent, a session and a turn count for each its own, and for the named one alone', async () => {
    await put('agent-each', { scope: 'agent', limit: 3 });
    await put('ann', { scope: 'agent', value: 'ann', limit: 2 });
    await put('session', { scope: 'session', limit: 1 });
    const [ann, ann2, bob] = [await stand.run('ann'), await stand.run('ann'), await stand.run('bob')];
    const who = async (...runs: (typeof ann)[]) =>
      (
        await startAll(
          stand.starts,
          runs.map((run) => callOf(run)),
        )
      ).map((refused) => (refused && 'budget' in refused ? refused.budget : null));
    expect(await who(ann, ann, bob)).toEqual([null, 'session', null]);
    expect(await who(ann2, await stand.run('ann'))).toEqual([null, 'ann']);
    await put('session', { scope: 'session', limit: 100 });
    expect(await who(bob, bob, bob)).toEqual([null, null, 'agent-each']);
    expect(await stand.sums('agent-each')).toEqual({ used: 0, reserved: 5 });
  });

  it('take the call that fits behind one that does not, in the order in which they came', async () => {
    await put('money', { measure: 'cost_usd', limit: 0.03 });
    const run = await stand.run();
    const calls = [0.02, 0.02, 0.01, 0.000_000_01].map((costUsd) => callOf(run, { costUsd }));
    const answers = await startAll(stand.starts, calls);
    expect(answers.map((answer) => answer?.reason ?? null)).toEqual([null, 'budget', null, 'budget']);
    expect(await stand.sums('money')).toEqual({ used: 0, reserved: 0.03 });
  });

  it('in money refuse what has no price; others do not mind', async () => {
    const run = await stand.run();
    await put('tokens', { measure: 'tokens', limit: 1_000 });
    expect(await stand.starts.start(callOf(run, { costUsd: null }))).toBeNull();
    await put('money', { measure: 'cost_usd', limit: 100, scope: 'turn' });
    expect(await stand.starts.start(callOf(run, { costUsd: null }))).toMatchObject({
      reason: 'price_unknown',
      budget: 'money',
      need: null,
    });
    expect(await stand.sums('tokens')).toEqual({ used: 0, reserved: 100 });
  });

  it.each<[period: BudgetInput['period'], mostMs: number]>([
    ['minute', 60_000],
    ['day', 86_400_000],
    ['month', 31 * 86_400_000],
  ])('of a %s say when they reset, on the clock of UTC', async (period, mostMs) => {
    await put('window', { period, limit: 0 });
    const refused = await stand.starts.start(callOf(await stand.run()));
    if (!refused || !('resetsInMs' in refused)) throw new Error('it started');
    expect(refused.resetsInMs).toBeGreaterThan(0);
    expect(refused.resetsInMs).toBeLessThanOrEqual(mostMs);
    const [row] = await stand.installation.owner.query<{ reset: Date }>(
      `SELECT budget_reset($1, '2026-01-31T23:59:59.9Z') AS reset`,
      [period],
    );
    expect(row?.reset.toISOString()).toBe('2026-02-01T00:00:00.000Z');
  });

  it('hold from the commit on that puts them, with what was used under a former limit', async () => {
    const run = await stand.run();
    await put('limit', { limit: 5 });
    await startAll(stand.starts, [callOf(run), callOf(run)]);
    await put('limit', { limit: 2 });
    expect((await stand.starts.start(callOf(run)))?.reason).toBe('budget');
    await put('limit', { limit: 3 });
    expect(await stand.starts.start(callOf(run))).toBeNull();
    await put('limit', { limit: 1, period: 'day' });
    expect(await stand.starts.start(callOf(run))).toBeNull();
  });
});

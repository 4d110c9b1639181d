/** What calls are charged when they have ended, whoever settles them: their gate, once or twice, or another one. */
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { Replica } from '../../../core-lite/record/replica.ts';
import { proveReplica, type ReplicaName } from '../../../core-lite/record/replica-name.ts';
import { tendBudgets } from '../../../core-lite/record/tend-budgets.ts';
import { type UsageEntry, UsageLedger } from '../../../core-lite/record/usage-ledger.ts';
import { putBudget } from '../../../core-lite/state/budget-store.ts';
import { type BudgetStand, callOf, entryOf, startAll, startBudgetStand } from '../../support/budget-stand.ts';

let stand: BudgetStand;
beforeAll(async () => {
  stand = await startBudgetStand();
});
afterAll(() => stand?.close());
beforeEach(async () => {
  const { owner } = stand.installation;
  await owner.query('TRUNCATE budgets, budget_counters, reservations, model_usage');
  const each = { scope: 'tenant', value: '*', period: 'lifetime' } as const;
  await owner.transaction(async (tx) => {
    await putBudget(tx, 'money', { ...each, measure: 'cost_usd', limit: 1 });
    await putBudget(tx, 'tokens', { ...each, measure: 'tokens', limit: 1_000 });
    await putBudget(tx, 'requests', { ...each, measure: 'requests', limit: 100, period: 'day' });
  });
});

const record = (...entries: UsageEntry[]): Promise<number> => recordAs(stand.name, ...entries);

async function recordAs(name: ReplicaName, ...entries: UsageEntry[]): Promise<number> {
  const ledger = new UsageLedger(stand.gates, name, vi.fn());
  for (const entry of entries) ledger.add(entry);
  return ledger.close();
}

const allSums = async () => ({
  money: await stand.sums('money'),
  tokens: await stand.sums('tokens'),
  requests: await stand.sums('requests'),
});
const rows = () =>
  stand.installation.owner.query<Record<string, unknown>>(
    `SELECT id, outcome, input_tokens::int AS input, output_tokens::int AS output, cost_usd::float8 AS cost, presumed
       FROM model_usage ORDER BY id`,
  );

describe('a call that has ended', () => {
  it('is charged what was counted, nothing, or what was reserved', async () => {
    const run = await stand.run();
    const [counted, none, reserved, half] = [callOf(run), callOf(run), callOf(run), callOf(run)];
    await startAll(stand.starts, [counted, none, reserved, half]);
    await record(
      entryOf(counted, 'counted', { input: 7, output: 3, costUsd: 0.002_000_000_04 }),
      entryOf(none, 'none'),
      entryOf(reserved, 'reserved'),
      entryOf(half, 'reserved', { input: 5 }),
    );
    expect(await allSums()).toEqual({
      money: { used: 0.022, reserved: 0 },
      tokens: { used: 205, reserved: 0 },
      requests: { used: 3, reserved: 0 },
    });
    expect(await stand.reservations()).toBe(0);
    expect(await rows()).toMatchObject([
      { id: counted.id, input: 7, output: 3, cost: 0.002, presumed: false },
      { id: none.id, input: null, output: null, cost: null, presumed: false },
      { id: reserved.id, input: 10, output: 90, cost: 0.01, presumed: true },
      { id: half.id, input: 5, output: 90, cost: 0.01, presumed: true },
    ]);
  });

  it('is charged once, however often its row is sent', async () => {
    const call = callOf(await stand.run());
    await startAll(stand.starts, [call]);
    const entry = entryOf(call, 'counted', { input: 7, output: 3, costUsd: 0.002 });
    await record(entry);
    await Promise.all([record(entry), record(entry)]);
    expect((await allSums()).tokens).toEqual({ used: 10, reserved: 0 });
    expect(await rows()).toHaveLength(1);
  });

  it('may take more than was left: what was counted is what is used', async () => {
    const call = callOf(await stand.run());
    await startAll(stand.starts, [call]);
    await record(entryOf(call, 'counted', { input: 900, output: 900, costUsd: 3 }));
    expect(await allSums()).toMatchObject({ money: { used: 3 }, tokens: { used: 1_800 } });
    const next = callOf(await stand.run(), { inputTokens: 0, outputTokens: 0, costUsd: 0 });
    expect(await stand.starts.start(next)).toMatchObject({ reason: 'budget' });
  });

  it.each<[name: string, broken: (entry: UsageEntry) => UsageEntry]>([
    ['a text', (entry) => ({ ...entry, model: 'a\0b' })],
    ['a count', (entry) => ({ ...entry, tokens: { ...entry.tokens, input: 9e15 } })],
    ['a count below nothing', (entry) => ({ ...entry, tokens: { ...entry.tokens, cached: -1 } })],
    ['a cost', (entry) => ({ ...entry, costUsd: 1e299 })],
    ['a cost that is no number', (entry) => ({ ...entry, costUsd: Number.NaN })],
    ['a status', (entry) => ({ ...entry, status: 1e12 })],
  ])('is charged what it reserved where the database refuses %s of its row', async (_, broken) => {
    const [call, other] = [callOf(await stand.run()), callOf(await stand.run())];
    await startAll(stand.starts, [call, other]);
    const counted = { input: 7, output: 3, costUsd: 0.002 };
    expect(await record(broken(entryOf(call, 'counted', counted)), entryOf(other, 'counted', counted))).toBe(
      0,
    );
    expect(await stand.reservations()).toBe(0);
    expect((await allSums()).tokens).toEqual({ used: 110, reserved: 0 });
    expect(await rows()).toMatchObject([
      { id: call.id, input: 10, output: 90, cost: 0.01, presumed: true },
      { id: other.id, input: 7, presumed: false },
    ]);
  });

  it('that never started has its row and charges nothing', async () => {
    await record(entryOf(callOf(await stand.run()), 'reserved'));
    expect(await rows()).toMatchObject([{ presumed: false, cost: null }]);
    expect((await allSums()).money).toEqual({ used: 0, reserved: 0 });
  });

  it('is settled where its budget is gone by now', async () => {
    const call = callOf(await stand.run());
    await startAll(stand.starts, [call]);
    await stand.installation.owner.query(`DELETE FROM budgets WHERE name = 'money'`);
    await stand.gates.query('SELECT sweep_counters()');
    await record(entryOf(call, 'counted', { input: 7, output: 3, costUsd: 0.002 }));
    await stand.gates.query('SELECT sweep_counters()');
    const counters = await stand.installation.owner.query(
      'SELECT used::int AS used FROM budget_counters ORDER BY measure',
    );
    expect(counters).toEqual([{ used: 1 }, { used: 10 }]);
  });
});

describe('a gate that died', () => {
  const silence = (id: string, seconds: number) =>
    stand.installation.owner.query(
      `UPDATE replicas SET heard_at = heard_at - make_interval(secs => $2), steady_since = steady_since - make_interval(secs => 60)
        WHERE id = $1`,
      [id, seconds],
    );
  const steady = () =>
    stand.installation.owner.query(
      `UPDATE replicas SET heard_at = clock_timestamp(), steady_since = clock_timestamp() - interval '1 minute'
        WHERE id = 'rep_one'`,
    );

  it('has its calls settled by one of the others: presumed, and charged what was reserved', async () => {
    const dying = await stand.replica('rep_dying');
    const run = await stand.run();
    const [lost, going] = [callOf(run), callOf(run)];
    await startAll(dying, [lost]);
    await startAll(stand.starts, [going]);
    await steady();
    await silence('rep_dying', 16);
    await Promise.all(['a', 'b'].map(() => tendBudgets(stand.gates, 'rep_one')));
    expect(await rows()).toMatchObject([
      { id: lost.id, outcome: 'gate_died', input: 10, output: 90, cost: 0.01, presumed: true },
    ]);
    expect(await allSums()).toEqual({
      money: { used: 0.01, reserved: 0.01 },
      tokens: { used: 100, reserved: 100 },
      requests: { used: 1, reserved: 1 },
    });
  });

  it('is left alone while it is only slow, and by who was away itself', async () => {
    const slow = await stand.replica('rep_slow');
    await startAll(slow, [callOf(await stand.run())]);
    await steady();
    await silence('rep_slow', 12);
    await tendBudgets(stand.gates, 'rep_one');
    await silence('rep_slow', 12);
    // The database itself was away: everybody is late.
    await silence('rep_one', 10);
    await stand.gates.query('SELECT hear_replica($1, $2)', proveReplica(stand.name));
    await tendBudgets(stand.gates, 'rep_one');
    expect(await rows()).toEqual([]);
    await steady();
    await tendBudgets(stand.gates, 'rep_one');
    expect(await rows()).toHaveLength(1);
  });

  it('that was only paused is told so, begins anew, and is not charged twice', async () => {
    const onDeath = vi.fn();
    const fail = vi.fn();
    const starts = await stand.replica('rep_paused');
    const paused = new Replica({
      db: stand.gates,
      name: starts.name,
      service: 'gates',
      onDeath,
      tend: async () => {},
      onFailure: fail,
    });
    await paused.start();
    const run = await stand.run();
    const call = callOf(run);
    await startAll(starts, [call]);
    await steady();
    await silence('rep_paused', 16);
    await tendBudgets(stand.gates, 'rep_one');
    expect(await starts.start(callOf(run))).toEqual({ reason: 'replica_dead' });
    await paused.beat();
    expect(onDeath).toHaveBeenCalledOnce();
    expect(await starts.start(callOf(run))).toBeNull();
    await recordAs(starts.name, entryOf(call, 'counted', { input: 7, output: 3, costUsd: 0.002 }));
    expect(await rows()).toMatchObject([{ id: call.id, outcome: 'gate_died', cost: 0.01 }]);
    expect((await allSums()).money).toEqual({ used: 0.01, reserved: 0.01 });
    await paused.beat();
    expect(onDeath).toHaveBeenCalledOnce();
    expect(fail).not.toHaveBeenCalled();
    await paused.close();
  });

  it('that left with rows it could not write has them settled at once', async () => {
    const leaving = await stand.replica('rep_leaving');
    await startAll(leaving, [callOf(await stand.run())]);
    await stand.gates.query('SELECT leave_replicas($1, $2)', proveReplica(leaving.name));
    await tendBudgets(stand.gates, 'rep_one');
    expect(await rows()).toMatchObject([{ outcome: 'gate_died', presumed: true }]);
  });
});

describe('counters', () => {
  it('of windows that passed long ago are cleared away, those that hold something are not', async () => {
    const { owner } = stand.installation;
    await owner.transaction((tx) =>
      putBudget(tx, 'rate', { scope: 'tenant', value: '*', measure: 'requests', limit: 5, period: 'minute' }),
    );
    await owner.query(
      `INSERT INTO budget_counters (id, budget_id, scope_value, window_start, measure, used, reserved)
       SELECT n, b.id, '*', now() - n * interval '59 minutes', 'requests', 1, (n = 3)::int
         FROM budgets b, generate_series(1, 3) AS n WHERE b.name = 'rate'`,
    );
    expect(await stand.gates.query('SELECT sweep_counters() AS gone')).toEqual([{ gone: 1 }]);
  });
});

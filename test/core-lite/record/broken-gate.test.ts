/** What a gate that lies can do with the database's functions: it believes no figure, and no gate for another one. */
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { CallStart } from '../../../core-lite/record/call-starts.ts';
import { nameReplica, proveReplica, type ReplicaName } from '../../../core-lite/record/replica-name.ts';
import { tendBudgets } from '../../../core-lite/record/tend-budgets.ts';
import { UsageLedger } from '../../../core-lite/record/usage-ledger.ts';
import { putBudget } from '../../../core-lite/state/budget-store.ts';
import { type BudgetStand, callOf, entryOf, startAll, startBudgetStand } from '../../support/budget-stand.ts';

let stand: BudgetStand;
let call: CallStart;
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
  });
  call = callOf(await stand.run());
  await startAll(stand.starts, [call]);
});

const sums = async () => [await stand.sums('money'), await stand.sums('tokens')];
const HELD = [
  { used: 0, reserved: 0.01 },
  { used: 0, reserved: 100 },
];
const rows = () =>
  stand.installation.owner.query(
    'SELECT id, session_id AS session, turn_id AS turn, agent, at FROM model_usage',
  );

interface Told {
  readonly ids?: readonly (string | null)[];
  readonly charge?: string | null;
  readonly input?: unknown;
  readonly output?: unknown;
  readonly cost?: unknown;
  readonly cached?: unknown;
}

/** Calls the function as a program could that is not ours. */
function tell(name: ReplicaName, told: Told = {}): Promise<unknown> {
  const { ids = [call.id], charge = 'counted', input = 1, output = 1, cost = 0, cached = null } = told;
  const all = (value: unknown): unknown[] => ids.map(() => value);
  return stand.gates.query(
    `SELECT record_calls($1, $2, $3, $4, $5, $6, $7, $8, $8, $8, $8, $9, $10, $8, $11, $12::text[]::bigint[],
       $13::text[]::bigint[], $14::text[]::bigint[], $15, $15, $16::text[]::numeric[], $9, $8, $8, $8, $17, $17)`,
    [
      ...proveReplica(name),
      ids,
      all(new Date(0)),
      all('ses_other'),
      all('trn_other'),
      all('other'),
      all('x'),
      all(false),
      all(200),
      all(charge),
      all(input),
      all(output),
      all(cached),
      all(null),
      all(cost),
      all(0),
    ],
  );
}

describe('figures that are none are refused, and leave every counter as it is', () => {
  const FIGURES: readonly (readonly [name: string, told: Told])[] = [
    ['an input below nothing', { input: -1_000_000 }],
    ['an output below nothing', { output: -1 }],
    ['a part below nothing', { cached: -1 }],
    ['an input without bound', { input: '9007199254740993' }],

    ['a count without figures', { input: null, output: null }],
    ['a cost below nothing', { cost: '-5' }],
    ['a cost just below nothing', { cost: '-0.0000000001' }],
    ['a cost that is no number', { cost: 'NaN' }],
    ['a cost without end', { cost: 'Infinity' }],
    ['a cost without end below nothing', { cost: '-Infinity' }],
    ['a cost that no column holds', { cost: '1e12' }],
    ['a charge that is no word', { charge: 'free' }],
    ['no charge', { charge: null }],
    ['no call', { ids: [null] }],
  ];
  it.each(FIGURES)('%s', async (_, told) => {
    await expect(tell(stand.name, told)).rejects.toMatchObject({ code: '23514' });
    expect(await sums()).toEqual(HELD);
    expect([await stand.reservations(), await rows()]).toEqual([1, []]);
  });

  it('one call that is named twice', async () => {
    await expect(tell(stand.name, { ids: [call.id, call.id] })).rejects.toMatchObject({
      code: '23514',
    });
    expect(await sums()).toEqual(HELD);
  });

  it.each<[name: string, spend: Partial<NonNullable<CallStart['spend']>>]>([
    ['a reserved input below nothing', { inputTokens: -200, outputTokens: 0 }],
    ['a reserved output below nothing', { outputTokens: -200 }],
    ['a reserved cost below nothing', { costUsd: -1 }],
    ['a reserved cost that is no number', { costUsd: Number.NaN }],
    ['a reserved cost without end', { costUsd: Number.POSITIVE_INFINITY }],
    ['a reserved input without bound', { inputTokens: 9e15 }],
  ])('%s', async (_, spend) => {
    const start = stand.starts.start(callOf(await stand.run(), spend));
    await expect(start).rejects.toMatchObject({ code: '23514' });
    expect(await sums()).toEqual(HELD);
  });
});

describe('a gate can do nothing for another one', () => {
  it.each<[name: string, other: () => Promise<ReplicaName>]>([
    ['by its own name', async () => (await stand.replica('rep_other')).name],
    ['by the other’s name, with a key of its own', async () => nameReplica('rep_one')],
    ['by a name that nobody has', async () => nameReplica()],
  ])('it neither settles nor records its calls: %s', async (_, other) => {
    await tell(await other(), { charge: 'none' });
    expect(await sums()).toEqual(HELD);
    expect([await stand.reservations(), await rows()]).toEqual([1, []]);
  });

  it('it neither starts, nor is heard, nor leaves, nor joins in its name', async () => {
    const imposter = nameReplica('rep_one');
    const [id, key] = proveReplica(imposter);
    await expect(
      stand.gates.query('SELECT join_replicas($1, $2, $3)', [id, 'gates', key]),
    ).rejects.toMatchObject({
      code: 'database_rights',
    });
    expect(await stand.gates.query('SELECT hear_replica($1, $2) AS alive', [id, key])).toEqual([
      { alive: false },
    ]);
    await stand.gates.query('SELECT leave_replicas($1, $2)', [id, key]);
    await tendBudgets(stand.gates, 'rep_one');
    expect(await stand.reservations()).toBe(1);
    expect(await stand.starts.start(callOf(await stand.run()))).toBeNull();
  });

  it('it gets no part in the calls of a dead one by taking its name', async () => {
    const dead = await stand.replica('rep_dead');
    const lost = callOf(await stand.run());
    await startAll(dead, [lost]);
    await stand.installation.owner.query(`DELETE FROM replicas WHERE id = 'rep_dead'`);
    const taken = nameReplica('rep_dead');
    const [id, key] = proveReplica(taken);
    await stand.gates.query('SELECT join_replicas($1, $2, $3)', [id, 'gates', key]);
    await tell(taken, { ids: [lost.id], charge: 'none' });
    expect(await stand.reservations()).toBe(2);
    await tendBudgets(stand.gates, 'rep_one');
    expect(await rows()).toMatchObject([{ id: lost.id }]);
    expect(await stand.sums('tokens')).toEqual({ used: 100, reserved: 100 });
  });

  it.each([
    `SELECT settle_calls('{a}', '{none}', NULL, NULL, NULL)`,
    'SELECT key_hash FROM replicas',
    'SELECT id FROM reservations',
    'UPDATE budget_counters SET used = 0',
    'DELETE FROM reservations',
    `INSERT INTO model_usage (id) VALUES ('usg_forged')`,
    'SELECT * FROM model_usage',
  ])('it has no right to %s', async (statement) => {
    await expect(stand.gates.query(statement)).rejects.toMatchObject({ code: 'database_rights' });
  });
});

it('whose a call was, and when, is what it was started with', async () => {
  await tell(stand.name);
  expect(await rows()).toEqual([
    { id: call.id, session: call.sessionId, turn: call.turnId, agent: call.agent, at: call.at },
  ]);
  expect(await sums()).toEqual([
    { used: 0, reserved: 0 },
    { used: 2, reserved: 0 },
  ]);
});

it('a row of a call that was settled is never charged or written again', async () => {
  const ledger = new UsageLedger(stand.gates, stand.name, vi.fn());
  ledger.add(entryOf(call, 'counted', { input: 7, output: 3, costUsd: 0.002 }));
  await ledger.close();
  await tell(stand.name, { input: 500, output: 500, cost: 1 });
  expect(await stand.sums('tokens')).toEqual({ used: 10, reserved: 0 });
  expect(await rows()).toMatchObject([{ session: call.sessionId }]);
});

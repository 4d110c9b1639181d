/** Budgets over HTTP: what an operator may write, how they stand, and the events that changes leave. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Database, openDatabase } from '../../../core-lite/database/pool.ts';
import { Secret } from '../../../core-lite/secret.ts';
import { type Send, sendAs } from '../../support/core-client.ts';
import { startWorld, type World } from '../../support/world.ts';

let world: World;
let send: Send;
let owner: Database;

beforeAll(async () => {
  world = await startWorld();
  send = sendAs(world);
  owner = openDatabase(new Secret(world.databaseUrl), null);
});
afterAll(async () => {
  await owner?.close();
  await world?.close();
});

const MONTHLY = { scope: 'tenant', measure: 'cost_usd', limit: 12.5, period: 'month' };

describe('budgets', () => {
  it('are put, listed as they stand, replaced and removed; each change is an event', async () => {
    const put = await send('PUT', '/v1/budgets/monthly', MONTHLY);
    expect(put.body).toMatchObject({
      ...MONTHLY,
      value: '*',
      used: 0,
      reserved: 0,
      left: 12.5,
      fullest: '*',
    });
    const reset = new Date(String(put.body['resetsAt']));
    expect([reset.getUTCDate(), reset.getUTCHours(), reset.getTime() > Date.now()]).toEqual([1, 0, true]);
    const each = { scope: 'agent', measure: 'tokens', limit: 100, period: 'lifetime' };
    await send('PUT', '/v1/budgets/each', each);
    await owner.query(
      `INSERT INTO budget_counters (id, budget_id, scope_value, window_start, measure, used, reserved)
       SELECT w.n, b.id, w.n, 'epoch', 'tokens', w.used, w.reserved
         FROM budgets b, (VALUES ('ann', 10, 5), ('bob', 0, 120)) AS w(n, used, reserved) WHERE b.name = 'each'`,
    );
    expect((await send('GET', '/v1/budgets')).rows).toMatchObject([
      { name: 'each', fullest: 'bob', used: 0, reserved: 120, left: -20, resetsAt: null },
      { name: 'monthly' },
    ]);
    await send('PUT', '/v1/budgets/each', { ...each, limit: 200 });
    expect((await send('GET', '/v1/budgets/each')).body).toMatchObject({ limit: 200, left: 80 });
    await send('PUT', '/v1/budgets/each', { ...each, period: 'day' });
    expect((await send('GET', '/v1/budgets/each')).body).toMatchObject({ reserved: 0, left: 100 });
    expect((await send('DELETE', '/v1/budgets/each')).status).toBe(204);
    expect((await send('GET', '/v1/budgets/each')).status).toBe(404);
    expect((await send('DELETE', '/v1/budgets/each')).status).toBe(404);
    const events = await send('GET', '/v1/admin-events');
    expect(
      events.rows.filter((row) => String(row['action']).startsWith('budget.')).map((row) => row['action']),
    ).toEqual(['budget.rm', 'budget.put', 'budget.put', 'budget.put', 'budget.put']);
  });

  it.each<[name: string, body: object]>([
    ['a value of the tenant', { ...MONTHLY, value: 'me' }],
    ['a value of a turn', { ...MONTHLY, scope: 'turn', value: 'trn_1' }],
    ['half a token', { ...MONTHLY, measure: 'tokens', limit: 0.5 }],
    ['less than nothing', { ...MONTHLY, limit: -1 }],
    ['less than the smallest', { ...MONTHLY, limit: 1e-11 }],
    ['another scope', { ...MONTHLY, scope: 'user' }],
    ['another period', { ...MONTHLY, period: 'week' }],
    ['another measure', { ...MONTHLY, measure: 'cost_eur' }],
    ['a misspelt field', { ...MONTHLY, per: 'day' }],
    ['no limit', { scope: 'tenant', measure: 'tokens', period: 'day' }],
  ])('are refused: %s', async (_, body) =>
    expect((await send('PUT', '/v1/budgets/b', body)).status).toBe(400),
  );
});

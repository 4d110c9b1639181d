/**
 * Budgets at length: 20,000 calls on two gates, of all endings, under budgets of every scope that overlap. No lock waits
 * for another in a circle, nobody is refused who fits, and the ledger's sums are the counters'.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Service } from '../../core-lite/service.ts';
import {
  answerUsed,
  BODY,
  type BudgetedGates,
  compareSums,
  startBudgetedGates,
} from '../support/budgeted-gates.ts';
import { askGates, type TestRun } from '../support/gates.ts';

let stand: BudgetedGates;
let other: Service;
beforeAll(async () => {
  stand = await startBudgetedGates({ SALLYPORT_LOG_LEVEL: 'error' });
  other = await stand.gates.world.gates();
});
afterAll(() => stand?.close());

it('20,000 calls: what the ledger says is what was charged', async () => {
  for (const [name, budget] of Object.entries(BUDGETS)) await stand.putBudget(name, budget);
  const runs: TestRun[] = [];
  for (let place = 0; place < RUNS; place += 1) {
    runs.push(await stand.gates.run(undefined, { agent: `agent${place % 3}` }));
  }
  let asked = 0;
  stand.provider.behave = (_asked, response, socket) => {
    asked += 1;
    if (asked % 17 === 0) socket.destroy();
    else if (asked % 13 === 0) response.writeHead(500).end('{"error":{}}');
    else if (asked % 11 === 0) response.end('{}');
    else answerUsed(response, { input: asked % 30, output: asked % 100 });
  };
  const ports = [stand.gates.gates.address.port, other.address.port];
  let next = 0;
  const statuses = new Map<number, number>();
  const work = async (): Promise<void> => {
    while (next < CALLS) {
      const place = next;
      next += 1;
      const run = runs[place % RUNS];
      const headers = { authorization: `Bearer ${run?.token}`, 'content-type': 'application/json' };
      const { status } = await askGates(ports[place % 2] ?? 0, '/v1/chat/completions', {
        body: BODY,
        headers,
      });
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, work));
  await stand.settled();
  expect([...statuses.keys()].toSorted()).toEqual([200, 500, 502]);
  const { owner } = stand.gates;
  const [ledger] = await owner.query<{ rows: number }>('SELECT count(*)::int AS rows FROM model_usage');
  expect(ledger?.rows).toBe(CALLS);
  for (const name of Object.keys(BUDGETS)) {
    const sums = await compareSums(owner, name);
    expect({ name, ...sums }).toEqual({ name, used: sums.ledger, reserved: '0', ledger: sums.ledger });
    expect(Number(sums.used)).toBeGreaterThan(0);
  }
  const [database] = await owner.query<{ deadlocks: number }>(
    'SELECT deadlocks::int FROM pg_stat_database WHERE datname = current_database()',
  );
  expect(database?.deadlocks).toBe(0);
});

const CALLS = 20_000;
const CLIENTS = 64;
const RUNS = 12;
const BUDGETS = {
  'all-money': { scope: 'tenant', measure: 'cost_usd', limit: 1_000, period: 'month' },
  'agent-tokens': { scope: 'agent', measure: 'tokens', limit: 1e9, period: 'day' },
  'session-requests': { scope: 'session', measure: 'requests', limit: 1e6, period: 'lifetime' },
  'turn-money': { scope: 'turn', measure: 'cost_usd', limit: 100, period: 'lifetime' },
  'all-rate': { scope: 'tenant', measure: 'requests', limit: 1e6, period: 'minute' },
  'agent-rate': { scope: 'agent', measure: 'tokens', limit: 1e9, period: 'minute' },
} as const;

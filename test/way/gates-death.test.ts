/** Gates that die or are paused under load, as processes of their own: the ledger and the counters agree afterwards. */
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import {
  answerUsed,
  BODY,
  type BudgetedGates,
  compareSums,
  ESTIMATE,
  startBudgetedGates,
} from '../support/budgeted-gates.ts';
import { type Ask, askGates, type Reply, type TestRun } from '../support/gates.ts';
import { type Program, startProgram } from '../support/process.ts';

let stand: BudgetedGates;
const programs: Program[] = [];
beforeAll(async () => {
  stand = await startBudgetedGates();
});
afterAll(() => stand?.close(), 60_000);
afterEach(async () => {
  for (const program of programs.splice(0)) await program.end('SIGKILL');
  await stand.gates.owner.query('TRUNCATE budgets, budget_counters, model_usage');
});

async function startGate(): Promise<{ program: Program; port: number; replica: string }> {
  const program = startProgram(['cli/sallyport.mjs', 'gates'], stand.gates.world.settings);
  programs.push(program);
  const [line] = await program.said(/\{[^\n]*"gates are ready"[^\n]*/);
  const { address, replica } = JSON.parse(line);
  return { program, port: address.port, replica };
}

/** What would take fifteen seconds: the gate is silent, and whoever else is there was heard all the while. */
async function silence(replica: string): Promise<void> {
  await stand.gates.owner.query(
    `UPDATE replicas SET steady_since = steady_since - interval '1 minute',
       heard_at = heard_at - CASE WHEN id = $1 THEN interval '1 minute' ELSE interval '0' END`,
    [replica],
  );
}

const ask = ({ token }: TestRun, body = BODY): Ask => ({
  body,
  headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
});
const CHAT = '/v1/chat/completions';
const STREAM = BODY.replace('{', '{"stream":true,');

async function expectAgreement(): Promise<void> {
  for (const budget of ['money', 'tokens', 'requests']) {
    const { used, reserved, ledger } = await compareSums(stand.gates.owner, budget);
    expect({ budget, used, reserved }).toEqual({ budget, used: ledger, reserved: '0' });
  }
}

async function putBudgets(): Promise<void> {
  await stand.putBudget('money', { measure: 'cost_usd', limit: 1_000, scope: 'agent' });
  await stand.putBudget('tokens', { measure: 'tokens', limit: 1e9, period: 'month' });
  await stand.putBudget('requests', { measure: 'requests', limit: 1e6, scope: 'turn' });
}

it('killed under load: every call that started has a row and is charged, once', async () => {
  await putBudgets();
  const { program, port, replica } = await startGate();
  const run = await stand.gates.run();
  const killed = Promise.withResolvers<void>();
  let asked = 0;
  stand.provider.behave = (_asked, response) => {
    asked += 1;
    // Some are still running when it dies.
    if (asked % 5 !== 0) answerUsed(response, ESTIMATE);
    if (asked === 150) killed.resolve(program.end('SIGKILL'));
  };
  let answered = 0;
  const work = async (): Promise<void> => {
    for (;;) {
      const reply: Reply | null = await askGates(port, CHAT, ask(run)).catch(() => null);
      if (!reply?.whole) return;
      answered += 1;
    }
  };
  await Promise.all(Array.from({ length: 50 }, work));
  await killed.promise;
  await silence(replica);
  await stand.settled();
  const rows = await stand.gates.owner.query<{ outcome: string; count: number; presumed: boolean }>(
    'SELECT outcome, presumed, count(*)::int AS count FROM model_usage GROUP BY 1, 2 ORDER BY 1',
  );
  const count = (outcome: string): number => rows.find((row) => row.outcome === outcome)?.count ?? 0;
  expect(rows).toEqual([
    { outcome: 'completed', presumed: false, count: expect.any(Number) },
    { outcome: 'gate_died', presumed: true, count: expect.any(Number) },
  ]);
  expect(count('gate_died')).toBeGreaterThanOrEqual(30);
  // What started may not have reached the provider, but what reached it has started.
  expect(count('completed') + count('gate_died')).toBeGreaterThanOrEqual(asked);
  expect(count('completed')).toBeLessThanOrEqual(answered);
  await expectAgreement();
}, 60_000);

it('paused for too long: its calls end when it wakes, are charged once, and it serves again', async () => {
  await putBudgets();
  const { program, port, replica } = await startGate();
  const run = await stand.gates.run();
  stand.provider.behave = (_asked, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write('data: {"choices":[]}\n\n');
  };
  const started = Promise.withResolvers<void>();
  const running = askGates(port, CHAT, {
    ...ask(run, STREAM),
    onData: () => {
      started.resolve();
      return false;
    },
  });
  await started.promise;
  process.kill(program.pid, 'SIGSTOP');
  await silence(replica);
  await stand.settled();
  process.kill(program.pid, 'SIGCONT');
  const reply = await running;
  expect(reply.text).toContain('"code":"facts_unavailable"');
  stand.provider.behave = (_asked, response) => answerUsed(response, ESTIMATE);
  expect((await askGates(port, CHAT, ask(run))).status).toBe(200);
  const rows = await stand.gates.usage(run, 2);
  expect(rows.map(({ outcome }) => outcome)).toEqual(['gate_died', 'completed']);
  await stand.settled();
  await expectAgreement();
}, 60_000);

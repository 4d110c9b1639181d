/** Gates with a provider whose model has a list price, and budgets over them, for the tests of what calls are charged. */
import type { Database } from '../../core-lite/database/pool.ts';
import type { BudgetInput } from '../../core-lite/state/budget.ts';
import { OPERATIONS } from '../../gates/dialects/operations.ts';
import { estimateCost } from '../../gates/price.ts';
import { readModelBody } from '../../gates/read/model-call.ts';
import { startTestGates, type TestGates } from './gates.ts';
import { type Provider, startProvider } from './provider.ts';

export const MODEL = 'priced';
/** What the price library knows it by. */
const UPSTREAM = 'gpt-4o-mini';

export interface BudgetedGates {
  readonly gates: TestGates;
  readonly provider: Provider;
  putBudget(name: string, input: Partial<BudgetInput>): Promise<void>;
  /** Resolves once no call is unsettled. */
  settled(): Promise<void>;
  close(): Promise<void>;
}

export async function startBudgetedGates(
  settings: Readonly<Record<string, string>> = {},
): Promise<BudgetedGates> {
  const provider = await startProvider('priced.test', { plain: true });
  provider.behave = (_asked, response) => answerUsed(response, ESTIMATE);
  const gates = await startTestGates([provider], settings);
  await gates.world.call('PUT', `/v1/models/${MODEL}`, {
    provider: 'openai',
    baseUrl: `http://${provider.host}:${provider.port}`,
    upstreamName: UPSTREAM,
    dialects: ['openai'],
  });
  return {
    gates,
    provider,
    putBudget: async (name, input) => {
      const body = { scope: 'tenant', measure: 'requests', limit: 10, period: 'lifetime', ...input };
      await gates.world.call('PUT', `/v1/budgets/${name}`, body);
    },
    settled: () => waitForSettlement(gates.owner),
    close: async () => {
      await gates.close();
      await provider.close();
    },
  };
}

async function waitForSettlement(owner: Database, tries = 400): Promise<void> {
  for (let left = tries; ; left -= 1) {
    const [row] = await owner.query<{ count: number }>('SELECT count(*)::int AS count FROM reservations');
    if (row?.count === 0) return;
    if (left === 0) throw new Error(`${row?.count} calls are not settled`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Used and reserved of a budget, and what the ledger sums to in its measure. */
export async function compareSums(
  owner: Database,
  budget: string,
): Promise<{ readonly used: string; readonly reserved: string; readonly ledger: string }> {
  const [row] = await owner.query<{ used: string; reserved: string; ledger: string }>(
    `SELECT trim_scale(coalesce(sum(k.used), 0))::text AS used, trim_scale(coalesce(sum(k.reserved), 0))::text AS reserved,
       (SELECT trim_scale(coalesce(sum(CASE b.measure WHEN 'cost_usd' THEN u.cost_usd
          WHEN 'tokens' THEN u.input_tokens + u.output_tokens
          ELSE (u.input_tokens IS NOT NULL)::int END), 0))::text FROM model_usage u) AS ledger
       FROM budgets b LEFT JOIN budget_counters k ON k.budget_id = b.id WHERE b.name = $1 GROUP BY b.measure`,
    [budget],
  );
  if (!row) throw new Error(`there is no budget ${budget}`);
  return row;
}

type Answering = Parameters<Provider['behave']>[1];

/** A whole answer that used these tokens. */
export function answerUsed(response: Answering, { input, output }: typeof ESTIMATE): void {
  response.setHeader('content-type', 'application/json');
  response.end(
    JSON.stringify({
      object: 'chat.completion',
      model: UPSTREAM,
      choices: [],
      usage: { prompt_tokens: input, completion_tokens: output },
    }),
  );
}

/** A call that is estimated at `ESTIMATE`. */
export const BODY = JSON.stringify({
  model: MODEL,
  max_tokens: 100,
  messages: [{ role: 'user', content: 'hi' }],
});
export const ESTIMATE = estimateOf(BODY);
export const ESTIMATED_COST = costOf(ESTIMATE);

/** In US dollars. */
export function costOf(tokens: typeof ESTIMATE): number {
  return estimateCost({ provider: 'openai', model: UPSTREAM, at: new Date() }, tokens) ?? Number.NaN;
}

function estimateOf(body: string): { readonly input: number; readonly output: number } {
  const read = readModelBody(Buffer.from(body), OPERATIONS.chat, null);
  if ('refusal' in read) throw new Error(read.refusal);
  return { input: read.inputEstimate, output: read.maxOutput ?? 0 };
}

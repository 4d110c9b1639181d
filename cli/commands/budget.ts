/** `budget put|list|rm`: how much may be used, by whom, in which time. */
import { openApi, path } from '../api.ts';
import { type Command, defineCommand, wrong } from '../command.ts';
import { EXIT } from '../command-error.ts';
import { formatMoment, formatTable } from '../table.ts';
import { formatExactUsd, formatRoundUsd } from '../usd.ts';

/** A budget as core answers it. */
interface BudgetAnswer {
  readonly name: string;
  readonly scope: string;
  readonly value: string;
  readonly measure: 'cost_usd' | 'tokens' | 'requests';
  readonly limit: number;
  readonly period: string;
  readonly fullest: string;
  readonly used: number;
  readonly reserved: number;
  readonly left: number;
  readonly resetsAt: string | null;
}

export const budgetPut: Command = defineCommand({
  name: 'budget put',
  summary: 'makes or replaces a budget; it holds from the next call on',
  args: ['NAME'],
  options: {
    scope: {
      type: 'string',
      value: 'SCOPE',
      help: 'tenant, agent, session or turn (each its own), or one: agent:NAME, session:ID; required',
    },
    cost: { type: 'string', value: 'USD', help: 'US dollars, by the providers’ list prices' },
    tokens: { type: 'string', value: 'N', help: 'tokens, read and written' },
    requests: { type: 'string', value: 'N', help: 'model calls; one of these three is required' },
    per: {
      type: 'string',
      value: 'PERIOD',
      choices: ['minute', 'day', 'month', 'lifetime'],
      help: 'in which time, by UTC; required',
    },
    json: { type: 'boolean', help: 'prints JSON' },
  },
  notes: [
    'A call reserves what it may use at most before it starts, and is refused where that does not fit: 429 budget_exceeded, or rate_limited for a minute. Calls that only count tokens are free.',
    'Another limit keeps what was used; another scope, measure or period begins at nothing.',
  ],
  examples: [
    'npx sallyport budget put monthly --scope tenant --cost 500 --per month',
    'npx sallyport budget put turns --scope turn --tokens 2000000 --per lifetime',
    'npx sallyport budget put reviewer --scope agent:reviewer --requests 60 --per minute',
  ],
  run: async ({ args: [name], options }, io) => {
    const { scope: scopeText, per: period, json } = options;
    if (!scopeText) throw wrong(budgetPut, 'budget put needs --scope');
    if (!period) throw wrong(budgetPut, 'budget put needs --per');
    const body = { ...parseScope(scopeText), ...parseLimit(options), period };
    const api = await openApi(io);
    const budget = await api.call<BudgetAnswer>('PUT', path`/v1/budgets/${name}`, body);
    io.out(json ? JSON.stringify(budget, null, 2) : `budget ${budget.name} is ${describe(budget)}`);
    return EXIT.done;
  },
});

export const budgetList = defineCommand({
  name: 'budget list',
  summary: 'lists the budgets: what is used, reserved by running calls, and left',
  args: [],
  options: { json: { type: 'boolean', help: 'prints JSON' } },
  notes: ['Of a budget that each agent, session or turn has of its own, FULLEST is the one with least left.'],
  examples: ['npx sallyport budget list'],
  run: async ({ options }, io) => {
    const api = await openApi(io);
    const found = await api.call<readonly BudgetAnswer[]>('GET', '/v1/budgets');
    if (options.json) io.out(JSON.stringify(found, null, 2));
    else for (const line of formatTable([HEAD, ...found.map(budgetRow)])) io.out(line);
    return EXIT.done;
  },
});

export const budgetRemove = defineCommand({
  name: 'budget rm',
  summary: 'deletes a budget: nothing is held against it any more',
  args: ['NAME'],
  options: {},
  examples: ['npx sallyport budget rm monthly'],
  run: async ({ args: [name] }, io) => {
    const api = await openApi(io);
    await api.call('DELETE', path`/v1/budgets/${name}`);
    io.out(`budget ${name} is deleted`);
    return EXIT.done;
  },
});

function parseScope(text: string): { readonly scope: string; readonly value?: string } {
  const [, scope, value] = /^(tenant|agent|session|turn)(?::(.+))?$/s.exec(text) ?? [];
  if (!scope || (value !== undefined && scope !== 'agent' && scope !== 'session')) {
    throw wrong(budgetPut, '--scope is not tenant, agent, agent:NAME, session, session:ID or turn');
  }
  return value === undefined ? { scope } : { scope, value };
}

function parseLimit(options: {
  readonly cost?: string;
  readonly tokens?: string;
  readonly requests?: string;
}): { readonly measure: string; readonly limit: number } {
  const given = MEASURES.flatMap(([option, measure, shape, words]) => {
    const text = options[option];
    return text === undefined ? [] : [{ option, measure, shape, words, text }];
  });
  const [one, ...others] = given;
  if (!one || others.length > 0)
    throw wrong(budgetPut, 'budget put needs one of --cost, --tokens, --requests');
  if (!one.shape.test(one.text)) throw wrong(budgetPut, `--${one.option} is not ${one.words}`);
  return { measure: one.measure, limit: Number(one.text) };
}

function describe(budget: BudgetAnswer): string {
  const { scope, value, period } = budget;
  const whose =
    value !== '*' ? `the ${scope} ${value}` : scope === 'tenant' ? 'all together' : `each ${scope}`;
  const time = period === 'lifetime' ? 'over its lifetime' : `a ${period}`;
  return `${formatLimit(budget)} ${time} for ${whose}`;
}

function budgetRow(budget: BudgetAnswer): string[] {
  const { name, scope, value, period, fullest, used, reserved, left, resetsAt } = budget;
  return [
    name,
    value === '*' ? scope : `${scope}:${value}`,
    `${formatLimit(budget)} ${period}`,
    ...[used, reserved, left].map((amount) => formatNumber(budget, amount)),
    resetsAt === null ? '-' : formatMoment(resetsAt),
    value !== '*' || fullest === '*' ? '-' : fullest,
  ];
}

function formatLimit({ measure, limit }: BudgetAnswer): string {
  if (measure === 'cost_usd') return formatExactUsd(limit);
  return `${limit} ${limit === 1 ? measure.slice(0, -1) : measure}`;
}

/** Dollars to the hundredth of a cent. */
function formatNumber({ measure }: BudgetAnswer, amount: number): string {
  return measure === 'cost_usd' ? formatRoundUsd(amount, 4) : String(amount);
}

const COUNT = [/^\d{1,12}$/, 'a whole number such as 1000, of 12 digits at most'] as const;
const MEASURES = [
  [
    'cost',
    'cost_usd',
    /^\d{1,12}(\.\d{1,10})?$/,
    'US dollars such as 12.50, below a trillion, in steps of 0.0000000001 and no less',
  ],
  ['tokens', 'tokens', ...COUNT],
  ['requests', 'requests', ...COUNT],
] as const;
const HEAD = ['NAME', 'SCOPE', 'LIMIT', 'USED', 'RESERVED', 'LEFT', 'RESETS', 'FULLEST'];

/** Budgets as callers meet them, on the way through two gates: who gets through, what the others are told, what is charged. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Service } from '../../core-lite/service.ts';
import {
  answerUsed,
  BODY,
  type BudgetedGates,
  compareSums,
  costOf,
  ESTIMATE,
  ESTIMATED_COST,
  MODEL,
  startBudgetedGates,
} from '../support/budgeted-gates.ts';
import { type Ask, askGates, putModel, type Reply, type TestRun } from '../support/gates.ts';

let stand: BudgetedGates;
let other: Service;
beforeAll(async () => {
  stand = await startBudgetedGates();
  other = await stand.gates.world.gates();
});
afterAll(() => stand?.close());
afterEach(async () => {
  stand.provider.behave = (_asked, response) => answerUsed(response, ESTIMATE);
  await stand.settled();
  await stand.gates.owner.query('TRUNCATE budgets, budget_counters, model_usage');
});

const CHAT = '/v1/chat/completions';
const send = ({ token }: TestRun, more: Ask = {}): Ask => ({
  body: BODY,
  ...more,
  headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...more.headers },
});
const chat = (run: TestRun, more?: Ask): Promise<Reply> => stand.gates.ask(CHAT, send(run, more));

describe('a budget of exactly ten', () => {
  it.each<[measure: 'cost_usd' | 'tokens' | 'requests', each: number]>([
    ['cost_usd', ESTIMATED_COST],
    ['tokens', ESTIMATE.input + ESTIMATE.output],
    ['requests', 1],
  ])('in %s admits ten of a hundred at once, on two gates', async (measure, each) => {
    const limit = Number((each * 10).toFixed(10));
    await stand.putBudget('ten', { measure, limit });
    const run = await stand.gates.run();
    const before = stand.provider.asked.length;
    const replies = await Promise.all(
      Array.from({ length: 100 }, (_, i) =>
        i % 2 ? chat(run) : askGates(other.address.port, CHAT, send(run)),
      ),
    );
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(10);
    expect(replies.filter(({ status }) => status === 429)).toHaveLength(90);
    expect(stand.provider.asked.length - before).toBe(10);
    await stand.settled();
    const sum = String(limit);
    expect(await compareSums(stand.gates.owner, 'ten')).toEqual({ used: sum, reserved: '0', ledger: sum });
  });
});

describe('one call after the other', () => {
  const USED = { input: 3, output: 4 };
  it.each<[measure: 'cost_usd' | 'tokens', estimate: number, used: number]>([
    ['cost_usd', ESTIMATED_COST, costOf(USED)],
    ['tokens', ESTIMATE.input + ESTIMATE.output, 7],
  ])('near a limit in %s none is refused for what the last one reserved', async (measure, estimate, used) => {
    await stand.putBudget('near', { measure, limit: Number((estimate + 9 * used).toFixed(10)) });
    stand.provider.behave = (_asked, response) => answerUsed(response, USED);
    const run = await stand.gates.run();
    const statuses: number[] = [];
    for (let i = 0; i < 11; i += 1) statuses.push((await chat(run)).status);
    expect(statuses).toEqual([...Array(10).fill(200), 429]);
  });
});

describe('who is refused', () => {
  it('by a budget is told which, how much of it, and that no re-send helps', async () => {
    await stand.putBudget('daily', { limit: 0, period: 'day', scope: 'agent' });
    const refused = await chat(await stand.gates.run());
    expect(refused.status).toBe(429);
    expect(refused.headers).toMatchObject({
      'sallyport-reason': 'budget_exceeded',
      'x-should-retry': 'false',
      'retry-after': expect.stringMatching(/^[1-9]\d{0,4}$/),
    });
    const { error } = JSON.parse(refused.text);
    expect(error.code).toBe('budget_exceeded');
    expect(error.message).toMatch(
      /budget daily of the agent, 0 requests a day: 0 requests used, 0 requests reserved .* 1 request; it resets at \d{4}-\d\d-\d\dT00:00:00Z; stop, /,
    );
  });

  it('by one of a lifetime is not told to come back', async () => {
    await stand.putBudget('all', { measure: 'tokens', limit: 0 });
    const refused = await chat(await stand.gates.run());
    expect(refused.headers['retry-after']).toBeUndefined();
    const { message } = JSON.parse(refused.text).error;
    expect(message).toContain('budget all of the tenant, 0 tokens over its lifetime: ');
    expect(message).toContain('; it does not reset; a smaller output limit reserves less; stop, ');
  });

  it('by a rate may send it again when the minute is over', async () => {
    await stand.putBudget('rate', { limit: 0, period: 'minute' });
    const refused = await chat(await stand.gates.run());
    expect([refused.status, refused.headers['sallyport-reason']]).toEqual([429, 'rate_limited']);
    expect(refused.headers['x-should-retry']).toBeUndefined();
    expect(Number(refused.headers['retry-after'])).toBeLessThanOrEqual(60);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
  });

  it('for the price is told so: 403 price_unknown', async () => {
    await putModel(stand.gates, 'unpriced', stand.provider);
    await stand.putBudget('money', { measure: 'cost_usd', limit: 100 });
    const body = BODY.replace(MODEL, 'unpriced');
    const refused = await chat(await stand.gates.run(), { body });
    expect([refused.status, refused.headers['sallyport-reason']]).toEqual([403, 'price_unknown']);
    expect(JSON.parse(refused.text).error.message).toContain('budget money of the tenant');
  });

  it('has a row that names why, and is charged nothing', async () => {
    await stand.putBudget('none', { limit: 0 });
    const run = await stand.gates.run();
    await chat(run);
    expect(await stand.gates.usage(run, 1)).toMatchObject([
      { outcome: 'budget_exceeded', status: 429, output_tokens: null },
    ]);
    expect(await compareSums(stand.gates.owner, 'none')).toEqual({ used: '0', reserved: '0', ledger: '0' });
  });
});

describe('what counts against no budget', () => {
  it('is listing models, counting tokens, and the built-in models in money', async () => {
    await putModel(stand.gates, 'claude', stand.provider, { dialects: ['anthropic'] });
    await stand.putBudget('money', { measure: 'cost_usd', limit: 0 });
    const run = await stand.gates.run();
    expect((await chat(run, { body: BODY.replace(MODEL, 'fixture/echo') })).status).toBe(200);
    await stand.putBudget('none', { limit: 0 });
    expect((await stand.gates.ask('/v1/models', { ...send(run), method: 'GET', body: '' })).status).toBe(200);
    const count = send(run, { body: BODY.replace(MODEL, 'claude') });
    expect((await stand.gates.ask('/v1/messages/count_tokens', count)).status).toBe(200);
    expect((await stand.gates.ask('/v1/messages', count)).headers['sallyport-reason']).toBe('price_unknown');
  });
});

describe('a call that ended', () => {
  const CASES: readonly (readonly [
    name: string,
    behave: BudgetedGates['provider']['behave'],
    used: number,
    row: object,
  ])[] = [
    [
      'with fewer tokens than it reserved is charged those',
      (_asked, response) => answerUsed(response, { input: 3, output: 4 }),
      7,
      { outcome: 'completed', presumed: false, input_tokens: '3' },
    ],
    [
      'without a word on its usage is charged what it reserved',
      (_asked, response) => response.end('{}'),
      ESTIMATE.input + ESTIMATE.output,
      { outcome: 'completed', presumed: true, input_tokens: String(ESTIMATE.input) },
    ],
    [
      'in an error of its provider is charged nothing',
      (_asked, response) => response.writeHead(500).end('{"error":{}}'),
      0,
      { outcome: 'provider_error', presumed: false, input_tokens: null },
    ],
    [
      'where its provider hung up is charged what it reserved',
      (_asked, _response, socket) => socket.destroy(),
      ESTIMATE.input + ESTIMATE.output,
      { outcome: 'provider_failed', presumed: true },
    ],
  ];
  for (const [name, behave, used, row] of CASES) {
    it(name, async () => {
      await stand.putBudget('tokens', { measure: 'tokens', limit: 1_000_000 });
      stand.provider.behave = behave;
      const run = await stand.gates.run();
      await chat(run);
      expect(await stand.gates.usage(run, 1)).toMatchObject([row]);
      await stand.settled();
      const sum = String(used);
      expect(await compareSums(stand.gates.owner, 'tokens')).toEqual({
        used: sum,
        reserved: '0',
        ledger: sum,
      });
    });
  }

  it('and never reached its provider is charged nothing', async () => {
    await stand.putBudget('tokens', { measure: 'tokens', limit: 1_000_000 });
    const { world } = stand.gates;
    await world.call('PUT', '/v1/models/nowhere', {
      baseUrl: `http://${stand.provider.host}:9`,
      dialects: ['openai'],
    });
    const run = await stand.gates.run();
    expect((await chat(run, { body: BODY.replace(MODEL, 'nowhere') })).status).toBe(502);
    await stand.settled();
    expect(await compareSums(stand.gates.owner, 'tokens')).toEqual({ used: '0', reserved: '0', ledger: '0' });
  });

  it('because its caller left is charged what passed and its time, and no more than it reserved', async () => {
    await stand.putBudget('tokens', { measure: 'tokens', limit: 1_000_000 });
    stand.provider.behave = (_asked, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: {"choices":[]}\n\n');
    };
    const run = await stand.gates.run();
    const body = BODY.replace('{', '{"stream":true,');
    await chat(run, { body, onData: () => true }).catch(() => {});
    expect(await stand.gates.usage(run, 1)).toMatchObject([{ outcome: 'client_left', presumed: true }]);
    await stand.settled();
    const [row] = await stand.gates.usage(run, 1);
    const { used, ledger } = await compareSums(stand.gates.owner, 'tokens');
    expect(used).toBe(ledger);
    expect(Number(used)).toBe(Number(row?.['input_tokens']) + Number(row?.['output_tokens']));
    expect(Number(row?.['output_tokens'])).toBeGreaterThan(0);
    expect(Number(row?.['output_tokens'])).toBeLessThanOrEqual(100);
  });
});

/** What is reserved for a call: by its body, its model, and the dearest of those that may answer. */
import { expect, it } from 'vitest';
import type { ModelFacts } from '../../core-lite/state/model.ts';
import { ECHO_MODEL } from '../../core-lite/state/model.ts';
import { type Estimated, estimateSpend } from '../../gates/estimate.ts';
import { estimateCost } from '../../gates/price.ts';

const at = new Date('2026-06-01T12:00:00Z');
const model = (upstreamName: string, more: Partial<ModelFacts> = {}): ModelFacts => ({
  ...ECHO_MODEL,
  name: 'm',
  provider: 'openai',
  upstreamName,
  ...more,
});
const small = model('gpt-4o-mini');
const large = model('gpt-4o');
const body = { streamed: false, inputEstimate: 1_000, maxOutput: null, answers: 1 };
const estimate = (more: Partial<Estimated>) =>
  estimateSpend({ name: 'm', dialect: 'openai', body, models: [small], at, ...more });
const costOf = (upstreamName: string, output: number) =>
  estimateCost({ provider: 'openai', model: upstreamName, at }, { input: 1_000, output });

it.each<[name: string, more: Partial<Estimated>, output: number]>([
  ['its own limit', { body: { ...body, maxOutput: 50 } }, 50],
  ['its own limit, for each answer', { body: { ...body, maxOutput: 50, answers: 3 } }, 150],
  ['its model’s limit', { models: [model('gpt-4o-mini', { defaultMaxTokens: 300 })] }, 300],
  ['no limit', {}, 4_096],
  ['embeddings, which write nothing', { dialect: 'embeddings' }, 0],
  ['more than any model writes', { body: { ...body, maxOutput: Number.MAX_SAFE_INTEGER, answers: 9 } }, 1e9],
])('output: %s', (_, more, output) =>
  expect(estimate(more)).toMatchObject({
    limited: more.body?.maxOutput !== undefined || more.dialect === 'embeddings',
    inputTokens: 1_000,
    outputTokens: output,
    costUsd: costOf('gpt-4o-mini', output),
  }),
);

it.each<[name: string, providers: readonly string[], reserved: [output: number, limited: boolean]]>([
  ['a limit to Anthropic', ['anthropic'], [0, true]],
  ['no limit to a server that only speaks like it', ['deepseek'], [300, false]],
  ['no limit to one of one’s own', ['custom'], [300, false]],
  ['no limit where another may answer', ['anthropic', 'deepseek'], [300, false]],
])('a limit of 0 is %s', (_, providers, [outputTokens, limited]) => {
  const [first = small, ...others] = providers.map((provider) =>
    model('m', { provider, defaultMaxTokens: 300 }),
  );
  const asked = { dialect: 'anthropic', body: { ...body, maxOutput: 0 } } as const;
  expect(estimate({ ...asked, models: [first, ...others] })).toMatchObject({ outputTokens, limited });
});

it('the dearest of the models that may answer', () => {
  expect(costOf('gpt-4o', 4_096)).toBeGreaterThan(costOf('gpt-4o-mini', 4_096) ?? Number.NaN);
  const spend = estimate({ models: [small, large] });
  expect(spend).toMatchObject({ upstreamName: 'gpt-4o-mini', costUsd: costOf('gpt-4o', 4_096) });
});

it('no cost where one of them has no price', () => {
  expect(estimate({ models: [small, model('local', { provider: 'custom' })] }).costUsd).toBeNull();
});

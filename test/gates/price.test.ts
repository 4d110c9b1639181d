/** What calls cost, by the price library's own data. */
import { assert, constantFrom, integer, property, record } from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { TokenCounts } from '../../core-lite/record/usage-ledger.ts';
import { estimateCost, priceCall } from '../../gates/price.ts';

const AT = new Date('2026-11-01T12:00:00Z');
const counts = (more: Partial<TokenCounts>): TokenCounts => ({
  input: 0,
  output: 0,
  cached: null,
  cacheWrite: null,
  reasoning: null,
  ...more,
});
const price = (provider: string | null, model: string, tokens: Partial<TokenCounts>) =>
  priceCall({ provider, model, at: AT }, counts(tokens));

/** By each provider's price list: US dollars for a million tokens. */
const ROWS: readonly (readonly [
  name: string,
  provider: string,
  model: string,
  tokens: Partial<TokenCounts>,
  usd: number,
])[] = [
  [
    'input and output',
    'openai',
    'gpt-4o-mini',
    { input: 1_000, output: 100 },
    (1_000 * 0.15 + 100 * 0.6) / 1e6,
  ],
  [
    'what was cached',
    'openai',
    'gpt-5',
    { input: 1_000, cached: 800, output: 100 },
    (200 * 1.25 + 800 * 0.125 + 100 * 10) / 1e6,
  ],
  [
    'reasoning is output',
    'openai',
    'gpt-5',
    { input: 10, output: 100, reasoning: 90 },
    (10 * 1.25 + 100 * 10) / 1e6,
  ],
  ['embeddings', 'openai', 'text-embedding-3-small', { input: 1_000 }, (1_000 * 0.02) / 1e6],
  [
    'a cache write once',
    'anthropic',
    'claude-sonnet-4-5-20250929',
    { input: 12_307, cacheWrite: 12_304, output: 550 },
    (3 * 3 + 12_304 * 3.75 + 550 * 15) / 1e6,
  ],
  [
    'a cache write for an hour',
    'anthropic',
    'claude-sonnet-4-5',
    { input: 100, cacheWrite: 100, cacheWriteHour: 40 },
    (60 * 3.75 + 40 * 6) / 1e6,
  ],
  ['searches', 'anthropic', 'claude-sonnet-4-5', { input: 100, webSearches: 2 }, (100 * 3) / 1e6 + 0.02],
  [
    'a cache read',
    'anthropic',
    'claude-sonnet-4-5',
    { input: 1_000, cached: 900 },
    (100 * 3 + 900 * 0.3) / 1e6,
  ],
  [
    'a long prompt’s tier',
    'google',
    'gemini-2.5-pro',
    { input: 300_000, output: 10 },
    (300_000 * 2.5 + 10 * 15) / 1e6,
  ],
  [
    'a model of another maker',
    'azure',
    'gpt-4o',
    { input: 1_000, output: 100 },
    (1_000 * 2.5 + 100 * 10) / 1e6,
  ],
  [
    'a provider with another name',
    'xai',
    'grok-4',
    { input: 1_000, output: 100 },
    (1_000 * 3 + 100 * 15) / 1e6,
  ],
  [
    'a name with a slash',
    'together',
    'meta-llama/Llama-3.3-70B-Instruct-Turbo',
    { input: 1_000, output: 100 },
    (1_100 * 0.88) / 1e6,
  ],
  ['nothing', 'openai', 'gpt-4o', {}, 0],
  ['the built-in models', 'fixture', 'fixture/echo', { input: 1_000, output: 1_000 }, 0],
  [
    'parts that are larger than the whole',
    'openai',
    'gpt-5',
    { input: 10, cached: 50, cacheWrite: 9 },
    (10 * 0.125) / 1e6,
  ],
];

describe('a call costs', () => {
  for (const [name, provider, model, tokens, usd] of ROWS) {
    it(name, () => {
      expect(price(provider, model, tokens)).toBe(Math.round(usd * 1e10) / 1e10);
      // The second time from what was found the first.
      expect(price(provider, model, tokens)).toBe(Math.round(usd * 1e10) / 1e10);
    });
  }

  it('what nobody knows where the model, its provider or the tokens are not known', () => {
    const tokens = { input: 10, output: 10 };
    expect(price('openai', 'gpt-none', tokens)).toBeNull();
    expect(price('openai', 'gpt-none', tokens)).toBeNull();
    expect(price('custom', 'gpt-5', tokens)).toBeNull();
    expect(price('nobody', 'gpt-5', tokens)).toBeNull();
    expect(price(null, 'gpt-5', tokens)).toBeNull();
    expect(price('openai', 'gpt-5', { input: null, output: 10 })).toBeNull();
    expect(price('openai', 'gpt-5', { input: 10, output: null })).toBeNull();
  });

  it('what its provider says where that is known to be dollars', () => {
    const tokens = { input: 10, output: 10, toldUsd: 0.000_123 };
    expect(price('openrouter', 'maker/new', tokens)).toBe(0.000_123);
    expect(price('openrouter', 'maker/new', { input: 10, output: 10 })).toBeNull();
    expect(price('custom', 'maker/new', tokens)).toBeNull();
    expect(price('openai', 'gpt-5', tokens)).toBe(price('openai', 'gpt-5', { input: 10, output: 10 }));
  });

  it('the larger of what its provider says and of its list price', () => {
    const tokens = { input: 1_000, output: 1_000 };
    const listed = price('openrouter', 'openai/gpt-4o-mini', tokens) ?? Number.NaN;
    expect(listed).toBeGreaterThan(0);
    expect(price('openrouter', 'openai/gpt-4o-mini', { ...tokens, toldUsd: 7.5 })).toBe(7.5);
    expect(price('openrouter', 'openai/gpt-4o-mini', { ...tokens, toldUsd: listed / 2 })).toBe(listed);
    expect(price('openrouter', 'openai/gpt-4o-mini', { ...tokens, toldUsd: Number.NaN })).toBe(listed);
  });

  it('what another model’s part of it costs, by its own price where that is known', () => {
    const apart = { input: 5_000, output: 2_000, cached: 1_000, cacheWrite: 0, cacheWriteHour: 0 };
    const own = { input: 100, output: 50 };
    const all = { input: 5_100, output: 2_050, cached: 1_000 };
    const priced = (model: string) =>
      price('anthropic', 'claude-haiku-4-5', { ...all, apart: [{ ...apart, model }] });
    const sum =
      (price('anthropic', 'claude-haiku-4-5', own) ?? 0) +
      (price('anthropic', 'claude-opus-4-1', apart) ?? 0);
    expect(priced('claude-opus-4-1')).toBeCloseTo(sum, 9);
    expect(priced('claude-opus-4-1')).toBeGreaterThan(price('anthropic', 'claude-haiku-4-5', all) ?? 0);
    expect(priced('claude-none')).toBe(price('anthropic', 'claude-haiku-4-5', all));
  });

  it('never less than nothing, and a number, whatever was counted', () => {
    // More in one count is not believed.
    const count = integer({ min: 0, max: 30_000_000_000 });
    const tokens = record({
      input: count,
      output: count,
      cached: count,
      cacheWrite: count,
      cacheWriteHour: count,
      reasoning: count,
    });
    const models = constantFrom(
      ['openai', 'gpt-5'],
      ['anthropic', 'claude-sonnet-4-5'],
      ['google', 'gemini-2.5-pro'],
    );
    assert(
      property(models, tokens, ([provider = '', model = ''], each) => {
        expect(price(provider, model, each)).toBeGreaterThanOrEqual(0);
      }),
    );
  });

  it('as much as was estimated where it used as much', () => {
    const of = { provider: 'openai', model: 'gpt-5', at: AT };
    expect(estimateCost(of, { input: 100, output: 50 })).toBe(
      price('openai', 'gpt-5', { input: 100, output: 50 }),
    );
    expect(estimateCost({ ...of, model: 'gpt-none' }, { input: 100, output: 50 })).toBeNull();
  });
});

it.each([Number.POSITIVE_INFINITY, Number.NaN, 1e299, 1e12, -1])(
  'a told cost of %d is not believed',
  (toldUsd) => {
    expect(price('openrouter', 'nobody/unknown-model', { input: 10, output: 10, toldUsd })).toBeNull();
  },
);

it('no count that is believed costs more than the ledger can hold', () => {
  const most = 10_000_000_000;
  const tokens = { input: 3 * most, cached: most, cacheWrite: most, output: most, webSearches: most };
  const usd = price('anthropic', 'claude-opus-4-1', tokens);
  expect(usd === null || usd < 1e10).toBe(true);
});

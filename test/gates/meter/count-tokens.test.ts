/** Counts that no call can have, in every dialect and place: they count as not told. */
import { describe, expect, it } from 'vitest';
import { countTokens } from '../../../gates/meter/count-tokens.ts';

const LIES = [10_000_000_001, Number.MAX_SAFE_INTEGER, 1e300, -1, 0.5, Number.NaN, '7', null, {}];
const PLACES = [
  ['openai', 'prompt_tokens', 'completion_tokens'],
  ['openai', 'input_tokens', 'output_tokens'],
  ['responses', 'input_tokens', 'output_tokens'],
  ['anthropic', 'input_tokens', 'output_tokens'],
  ['gemini', 'promptTokenCount', 'candidatesTokenCount'],
] as const;

it.each(PLACES)('%s: what is told in %s and %s', (dialect, input, output) => {
  for (const lie of LIES) {
    expect(countTokens(dialect, { [input]: lie, [output]: lie })).toMatchObject({
      input: null,
      output: null,
    });
    expect(countTokens(dialect, { [input]: 3, [output]: lie })).toMatchObject({ input: 3, output: null });
  }
  const most = 10_000_000_000;
  expect(countTokens(dialect, { [input]: most, [output]: 1 })).toMatchObject({ input: most, output: 1 });
});

it('the parts of an input', () => {
  for (const lie of LIES) {
    const parts = { cache_read_input_tokens: lie, cache_creation_input_tokens: lie };
    expect(countTokens('anthropic', { input_tokens: 3, output_tokens: 4, ...parts })).toMatchObject({
      input: 3,
      output: 4,
      cached: null,
      cacheWrite: null,
    });
  }
});

describe('the iterations of a message', () => {
  const message = { type: 'message', model: 'claude-x', input_tokens: 100, output_tokens: 50 };
  const compaction = {
    type: 'compaction',
    input_tokens: 7,
    cache_read_input_tokens: 1_000,
    cache_creation_input_tokens: 30,
    output_tokens: 400,
  };
  const advisor = { type: 'advisor_message', model: 'claude-y', input_tokens: 5_000, output_tokens: 2_000 };
  const count = (usage: object) =>
    countTokens('anthropic', { input_tokens: 100, output_tokens: 50, ...usage });

  it('count where the whole has them not: a compaction, what another model was asked, and what is not known', () => {
    expect(count({ iterations: [message, compaction] })).toMatchObject({
      input: 100 + 7 + 1_000 + 30,
      output: 450,
      cached: 1_000,
      cacheWrite: 30,
    });
    expect(count({ iterations: [message, advisor, { ...advisor, type: 'of tomorrow' }] })).toEqual({
      ...count({}),
      input: 10_100,
      output: 4_050,
      apart: [advisor, advisor].map(() => ({
        model: 'claude-y',
        input: 5_000,
        output: 2_000,
        cached: 0,
        cacheWrite: 0,
        cacheWriteHour: 0,
      })),
    });
  });

  it('are in the whole where the model itself wrote them, or are more than it', () => {
    expect(count({ iterations: [message] })).toEqual(count({}));
    expect(
      count({
        iterations: [
          { ...message, output_tokens: 20 },
          { ...message, input_tokens: 0 },
        ],
      }),
    ).toMatchObject({
      input: 100,
      output: 70,
    });
    const fallback = { ...message, type: 'fallback_message', input_tokens: 30 };
    expect(count({ iterations: [message, fallback] })).toMatchObject({ input: 130, output: 100 });
  });

  it('are none where they are of another kind', () => {
    for (const iterations of [null, [], 'x', {}, [null, 7, 'x', []]])
      expect(count({ iterations })).toEqual(count({}));
    for (const lie of LIES)
      expect(count({ iterations: [{ type: 'compaction', input_tokens: lie, output_tokens: lie }] })).toEqual(
        count({}),
      );
    const most = { type: 'compaction', input_tokens: 10_000_000_000, output_tokens: 1 };
    expect(count({ iterations: [most] })).toMatchObject({ input: null, output: 51 });
  });
});

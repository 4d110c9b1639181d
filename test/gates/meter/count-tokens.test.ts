/** Counts that no call can have, in every dialect and place: they count as not told. */
import { expect, it } from 'vitest';
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

/** The providers as data: what the price library, the URL rules and the gates can rely on. */
import { findProvider as findPrices } from '@pydantic/genai-prices';
import { describe, expect, it } from 'vitest';
import { parseUpstreamUrl } from '../../../core-lite/network/upstream-url.ts';
import {
  findProvider,
  findService,
  nearestProvider,
  PROVIDERS,
  usualDialects,
} from '../../../core-lite/providers/catalogue.ts';
import { DIALECTS } from '../../../core-lite/state/dialect.ts';

describe('the providers', () => {
  it('are those that are promised, each once', () => {
    expect(PROVIDERS.map(({ name }) => name)).toEqual([
      'openai',
      'anthropic',
      'google',
      'azure',
      'openrouter',
      'mistral',
      'groq',
      'deepseek',
      'xai',
      'together',
      'fireworks',
      'custom',
    ]);
  });

  it.each(PROVIDERS.map((provider) => [provider.name, provider] as const))('%s', (_name, provider) => {
    const { baseUrl, prices, services } = provider;
    if (baseUrl !== null) {
      expect(parseUpstreamUrl(baseUrl)).toMatchObject({ scheme: 'https', query: '' });
      // A version in it would be taken for the operator’s.
      expect(baseUrl).not.toMatch(/\/v\d/);
      expect(usualDialects(provider).length).toBeGreaterThan(0);
    }
    if (prices !== null) expect(findPrices({ providerId: prices })?.id).toBe(prices);
    expect(Object.keys(services).length).toBeGreaterThan(0);
    for (const [dialect, { path }] of Object.entries(services)) {
      expect(DIALECTS).toContain(dialect);
      expect(path).toMatch(/^(?:\/(?:[a-z0-9_-]+|\{model\}))+$/);
      expect(path.includes('{model}')).toBe(dialect === 'gemini');
    }
  });

  it('are found by their exact name', () => {
    expect(findProvider('groq')?.title).toBe('Groq');
    expect(findProvider('Groq')).toBeNull();
    expect(findProvider('toString')).toBeNull();
    expect(findService('anthropic', 'openai')).toBeNull();
    expect(findService('nobody', 'openai')).toBeNull();
    expect(nearestProvider('antropic')).toBe('anthropic');
    expect(nearestProvider('something-else')).toBeNull();
  });
});

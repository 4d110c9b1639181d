/** Where each provider's calls go and where its key stands, as a table of providers and dialects; how URLs are joined. */
import { describe, expect, it } from 'vitest';
import { Allow } from '../../../core-lite/decision.ts';
import { parseUpstreamUrl, type UpstreamUrl } from '../../../core-lite/network/upstream-url.ts';
import { findProvider, findService, PROVIDERS } from '../../../core-lite/providers/catalogue.ts';
import type { Service } from '../../../core-lite/providers/provider.ts';
import { Secret } from '../../../core-lite/secret.ts';
import type { Dialect } from '../../../core-lite/state/dialect.ts';
import type { CredentialKind } from '../../../core-lite/vault/credential.ts';
import { headerNames, putOn } from '../../../gates/act/credential.ts';
import { providerPath } from '../../../gates/act/provider-path.ts';

const OWN = 'https://llm.test';
const BEARER = ['authorization', 'Bearer the-key'];
const X_API_KEY = ['x-api-key', 'the-key'];
const API_KEY = ['api-key', 'the-key'];
const GOOGLE_KEY = ['x-goog-api-key', 'the-key'];

/** Every provider and dialect there is; a base URL stands where the operator gives it. */
const ROWS: readonly (readonly [provider: string, dialect: Dialect, url: string, key: readonly string[]])[] =
  [
    ['openai', 'openai', 'https://api.openai.com/v1/chat/completions', BEARER],
    ['openai', 'responses', 'https://api.openai.com/v1/responses', BEARER],
    ['openai', 'embeddings', 'https://api.openai.com/v1/embeddings', BEARER],
    ['anthropic', 'anthropic', 'https://api.anthropic.com/v1/messages', X_API_KEY],
    [
      'google',
      'gemini',
      'https://generativelanguage.googleapis.com/v1beta/models/m-1:generateContent',
      GOOGLE_KEY,
    ],
    ['google', 'openai', 'https://generativelanguage.googleapis.com/v1beta/openai/chat/completions', BEARER],
    ['google', 'embeddings', 'https://generativelanguage.googleapis.com/v1beta/openai/embeddings', BEARER],
    ['azure', 'openai', `${OWN}/openai/v1/chat/completions`, API_KEY],
    ['azure', 'responses', `${OWN}/openai/v1/responses`, API_KEY],
    ['azure', 'embeddings', `${OWN}/openai/v1/embeddings`, API_KEY],
    ['azure', 'anthropic', `${OWN}/v1/messages`, X_API_KEY],
    ['openrouter', 'openai', 'https://openrouter.ai/api/v1/chat/completions', BEARER],
    ['openrouter', 'responses', 'https://openrouter.ai/api/v1/responses', BEARER],
    ['openrouter', 'embeddings', 'https://openrouter.ai/api/v1/embeddings', BEARER],
    ['openrouter', 'anthropic', 'https://openrouter.ai/api/v1/messages', BEARER],
    ['mistral', 'openai', 'https://api.mistral.ai/v1/chat/completions', BEARER],
    ['mistral', 'embeddings', 'https://api.mistral.ai/v1/embeddings', BEARER],
    ['groq', 'openai', 'https://api.groq.com/openai/v1/chat/completions', BEARER],
    ['groq', 'responses', 'https://api.groq.com/openai/v1/responses', BEARER],
    ['deepseek', 'openai', 'https://api.deepseek.com/chat/completions', BEARER],
    ['deepseek', 'anthropic', 'https://api.deepseek.com/anthropic/v1/messages', X_API_KEY],
    ['xai', 'openai', 'https://api.x.ai/v1/chat/completions', BEARER],
    ['xai', 'responses', 'https://api.x.ai/v1/responses', BEARER],
    ['together', 'openai', 'https://api.together.xyz/v1/chat/completions', BEARER],
    ['together', 'embeddings', 'https://api.together.xyz/v1/embeddings', BEARER],
    ['fireworks', 'openai', 'https://api.fireworks.ai/inference/v1/chat/completions', BEARER],
    ['fireworks', 'responses', 'https://api.fireworks.ai/inference/v1/responses', BEARER],
    ['fireworks', 'embeddings', 'https://api.fireworks.ai/inference/v1/embeddings', BEARER],
    ['fireworks', 'anthropic', 'https://api.fireworks.ai/inference/v1/messages', X_API_KEY],
    ['custom', 'openai', `${OWN}/v1/chat/completions`, BEARER],
    ['custom', 'responses', `${OWN}/v1/responses`, BEARER],
    ['custom', 'embeddings', `${OWN}/v1/embeddings`, BEARER],
    ['custom', 'anthropic', `${OWN}/v1/messages`, X_API_KEY],
    ['custom', 'gemini', `${OWN}/v1beta/models/m-1:generateContent`, GOOGLE_KEY],
  ];

const proof = new Allow('declared');
const credential = (kind: CredentialKind, parts: Readonly<Record<string, string>>) => ({
  id: 'crd_1',
  version: 1,
  kind,
  hosts: [],
  user: null,
  parts: Object.fromEntries(Object.entries(parts).map(([name, value]) => [name, new Secret(value)])),
});
const KEY = credential('model_key', { value: 'the-key' });

describe('a provider’s dialects', () => {
  it('are all in the table', () => {
    const spoken = PROVIDERS.flatMap(({ name, services }) =>
      Object.keys(services).map((each) => `${name} ${each}`),
    );
    expect(ROWS.map(([name, dialect]) => `${name} ${dialect}`).toSorted()).toEqual(spoken.toSorted());
  });

  it.each(ROWS)('%s %s: %s', (name, dialect, expected, header) => {
    const service = findService(name, dialect) as Service;
    const base = parse(findProvider(name)?.baseUrl ?? OWN);
    const operation = dialect === 'gemini' ? ':generateContent' : '';
    const path = providerPath(base, service, { model: 'm-1', operation, query: '' });
    expect(`https://${base.target.host}${path}`).toBe(expected);
    const put = putOn(proof, KEY, service.key);
    expect(put.headers).toEqual(header);
    expect(headerNames(put)).toEqual([header[0]]);
    expect(put.secrets.map(String)).toEqual(['the-key']);
  });
});

describe('a credential', () => {
  it('of another kind than model_key says itself how it goes on', () => {
    expect(putOn(proof, credential('bearer', { value: 't' }), 'api-key').headers).toEqual([
      'authorization',
      'Bearer t',
    ]);
    const headers = credential('headers', { 'X-One': 'a', 'X-Two': 'b' });
    expect(putOn(proof, headers, 'x-goog-api-key').headers).toEqual(['X-One', 'a', 'X-Two', 'b']);
    expect(putOn(proof, null, 'bearer')).toEqual({ headers: [], secrets: [] });
    expect(putOn(proof, KEY, null).headers).toEqual(BEARER);
  });
});

const JOINED: readonly (readonly [
  base: string,
  provider: string,
  dialect: Dialect,
  more: object,
  path: string,
])[] = [
  ['https://x.test', 'custom', 'openai', {}, '/v1/chat/completions'],
  ['https://x.test/v1', 'custom', 'openai', {}, '/v1/chat/completions'],
  ['https://x.test/v1/', 'custom', 'anthropic', { operation: '/count_tokens' }, '/v1/messages/count_tokens'],
  ['https://x.test/v4/plan', 'custom', 'openai', {}, '/v4/plan/chat/completions'],
  ['https://x.test/v1beta/openai', 'custom', 'openai', {}, '/v1beta/openai/chat/completions'],
  ['https://x.test/vendor', 'custom', 'openai', {}, '/vendor/v1/chat/completions'],
  ['https://x.test/v1alpha', 'google', 'gemini', {}, '/v1alpha/models/m'],
  ['https://x.test/v1beta', 'google', 'openai', {}, '/v1beta/openai/chat/completions'],
  ['https://x.test/v1beta/openai', 'google', 'openai', {}, '/v1beta/openai/chat/completions'],
  ['https://x.test/v1beta/openai', 'google', 'embeddings', {}, '/v1beta/openai/embeddings'],
  ['https://x.test/v1', 'deepseek', 'openai', {}, '/v1/chat/completions'],
  ['https://r.test/openai/v1', 'azure', 'openai', {}, '/openai/v1/chat/completions'],
  [
    'https://r.test/openai/v1?api-version=preview',
    'azure',
    'responses',
    {},
    '/openai/v1/responses?api-version=preview',
  ],
  [
    'https://r.test/openai/deployments/d?api-version=1',
    'azure',
    'openai',
    { query: '?beta=true&API-Version=2&%61pi-version=3' },
    '/openai/deployments/d/chat/completions?api-version=1&beta=true',
  ],
  [
    'https://r.test/anthropic',
    'azure',
    'anthropic',
    { query: '?beta=true' },
    '/anthropic/v1/messages?beta=true',
  ],
  ['https://x.test', 'custom', 'openai', { query: '?a=%20&a=1&' }, '/v1/chat/completions?a=%20&a=1&'],
  [
    'https://x.test',
    'custom',
    'gemini',
    { model: 'a/b@c:d', operation: ':streamGenerateContent', query: '?alt=sse' },
    '/v1beta/models/a/b%40c%3Ad:streamGenerateContent?alt=sse',
  ],
];

describe('a base URL and a path', () => {
  it.each(JOINED)('%s of %s, %s, %j', (base, provider, dialect, more, path) => {
    const service = findService(provider, dialect) as Service;
    expect(providerPath(parse(base), service, { model: 'm', operation: '', query: '', ...more })).toBe(path);
  });
});

function parse(text: string): UpstreamUrl {
  const url = parseUpstreamUrl(text);
  if (typeof url === 'string') throw new Error(url);
  return url;
}

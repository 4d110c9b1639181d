/**
 * The providers, one entry each, from their own documents as of November 2026; a comment says what is not plain there.
 * Each key goes only where its provider documents it.
 */
import { nearest } from '../spelling.ts';
import { DIALECTS, type Dialect } from '../state/dialect.ts';
import type { Provider, Service } from './provider.ts';

/** The provider of this name, or `null`. */
export function findProvider(name: string): Provider | null {
  return PROVIDERS.find((provider) => provider.name === name) ?? null;
}

/** How a provider serves a dialect; `null` where it does not, or there is no such provider. */
export function findService(provider: string, dialect: Dialect): Service | null {
  return findProvider(provider)?.services[dialect] ?? null;
}

/** What a model of this provider serves when its operator names no dialect; none where they must be named. */
export function usualDialects({ services }: Provider): Dialect[] {
  return DIALECTS.filter((dialect) => services[dialect] && !services[dialect].named);
}

/** What somebody may have meant who typed a name that is none, or `null`. */
export function nearestProvider(text: string): string | null {
  return nearest(
    text,
    PROVIDERS.map(({ name }) => name),
  );
}

const CHAT: Service = { path: '/v1/chat/completions', key: 'bearer' };
const RESPONSES: Service = { path: '/v1/responses', key: 'bearer' };
/** A model that embeds does nothing else, so no model is taken for one unasked. */
const EMBEDDINGS: Service = { path: '/v1/embeddings', key: 'bearer', named: true };
const MESSAGES: Service = { path: '/v1/messages', key: 'x-api-key' };

export const PROVIDERS: readonly Provider[] = [
  {
    name: 'openai',
    title: 'OpenAI',
    baseUrl: 'https://api.openai.com',
    services: { openai: CHAT, responses: RESPONSES, embeddings: EMBEDDINGS },
    streamUsage: 'on_request',
    prices: 'openai',
  },
  {
    name: 'anthropic',
    title: 'Anthropic',
    baseUrl: 'https://api.anthropic.com',
    services: { anthropic: MESSAGES },
    streamUsage: 'always',
    prices: 'anthropic',
  },
  {
    // The OpenAI-compatible side has paths of its own and takes the key as a bearer: ai.google.dev/gemini-api/docs/openai
    name: 'google',
    title: 'Google (Gemini API)',
    baseUrl: 'https://generativelanguage.googleapis.com',
    services: {
      gemini: { path: '/v1beta/models/{model}', key: 'x-goog-api-key' },
      openai: { path: '/v1beta/openai/chat/completions', key: 'bearer' },
      embeddings: { path: '/v1beta/openai/embeddings', key: 'bearer', named: true },
    },
    streamUsage: 'on_request',
    prices: 'google',
  },
  {
    // Each resource has a host of its own. Base URLs end in /openai/v1, or for one deployment in
    // /openai/deployments/NAME?api-version=…: learn.microsoft.com, "API version lifecycle" of Azure OpenAI. Claude is
    // at https://RESOURCE.services.ai.azure.com/anthropic: platform.claude.com, "Claude in Microsoft Foundry".
    name: 'azure',
    title: 'Azure OpenAI, Microsoft Foundry',
    baseUrl: null,
    services: {
      openai: { path: '/openai/v1/chat/completions', key: 'api-key' },
      responses: { path: '/openai/v1/responses', key: 'api-key' },
      embeddings: { path: '/openai/v1/embeddings', key: 'api-key', named: true },
      anthropic: { path: '/v1/messages', key: 'x-api-key', named: true },
    },
    streamUsage: 'on_request',
    prices: 'azure',
  },
  {
    // Usage with its cost comes unasked, include_usage has no effect: openrouter.ai/docs, "Usage Accounting". For
    // Messages the key is a bearer (ANTHROPIC_AUTH_TOKEN), never x-api-key: its guide for Claude Code.
    name: 'openrouter',
    title: 'OpenRouter',
    baseUrl: 'https://openrouter.ai/api',
    services: {
      openai: { ...CHAT, usage: { cost: 'cost' } },
      responses: { ...RESPONSES, usage: { cost: 'cost' } },
      embeddings: { ...EMBEDDINGS, usage: { cost: 'cost' } },
      anthropic: { ...MESSAGES, key: 'bearer', usage: { cost: 'cost' } },
    },
    streamUsage: 'always',
    prices: 'openrouter',
  },
  {
    // The last chunk has the usage unasked: docs.mistral.ai, release note of 16 January 2024.
    name: 'mistral',
    title: 'Mistral',
    baseUrl: 'https://api.mistral.ai',
    services: { openai: CHAT, embeddings: EMBEDDINGS },
    streamUsage: 'always',
    prices: 'mistral',
  },
  {
    // Streams tell their usage in x_groq.usage, and with include_usage in the usual place too: console.groq.com/docs.
    name: 'groq',
    title: 'Groq',
    baseUrl: 'https://api.groq.com/openai',
    services: { openai: { ...CHAT, usage: { at: ['x_groq', 'usage'] } }, responses: RESPONSES },
    streamUsage: 'on_request',
    prices: 'groq',
  },
  {
    // Messages are below /anthropic, x-api-key is read there; cache hits have a field of their own in Chat
    // Completions: api-docs.deepseek.com, "Anthropic API" and "Context Caching".
    name: 'deepseek',
    title: 'DeepSeek',
    baseUrl: 'https://api.deepseek.com',
    services: {
      openai: { path: '/chat/completions', key: 'bearer', usage: { cached: 'prompt_cache_hit_tokens' } },
      anthropic: { path: '/anthropic/v1/messages', key: 'x-api-key' },
    },
    streamUsage: 'on_request',
    prices: 'deepseek',
  },
  {
    // Its Messages are deprecated. In Chat Completions, completion_tokens leaves reasoning_tokens out: docs.x.ai, and
    // the price library adds both.
    name: 'xai',
    title: 'xAI',
    baseUrl: 'https://api.x.ai',
    services: { openai: { ...CHAT, usage: { reasoningApart: true } }, responses: RESPONSES },
    streamUsage: 'on_request',
    prices: 'x-ai',
  },
  {
    name: 'together',
    title: 'Together AI',
    baseUrl: 'https://api.together.xyz',
    services: { openai: CHAT, embeddings: EMBEDDINGS },
    streamUsage: 'on_request',
    prices: 'together',
  },
  {
    // Messages for Anthropic’s SDKs, which send x-api-key: docs.fireworks.ai, "Anthropic compatibility".
    name: 'fireworks',
    title: 'Fireworks AI',
    baseUrl: 'https://api.fireworks.ai/inference',
    services: { openai: CHAT, responses: RESPONSES, embeddings: EMBEDDINGS, anthropic: MESSAGES },
    streamUsage: 'on_request',
    prices: 'fireworks',
  },
  {
    // vLLM, Ollama, llama.cpp and all that speak a dialect as its owner documents it; which ones, the operator names.
    name: 'custom',
    title: 'any other server',
    baseUrl: null,
    services: {
      openai: { ...CHAT, named: true },
      responses: { ...RESPONSES, named: true },
      embeddings: EMBEDDINGS,
      anthropic: { ...MESSAGES, named: true },
      gemini: { path: '/v1beta/models/{model}', key: 'x-goog-api-key', named: true },
    },
    streamUsage: 'on_request',
    prices: null,
  },
];

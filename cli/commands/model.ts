/** `model put|list|rm`: the catalogue that agents choose from. */
import { PROVIDERS } from '../../core-lite/providers/catalogue.ts';
import { DIALECTS } from '../../core-lite/state/dialect.ts';
import { openApi, path } from '../api.ts';
import { defineCommand, wrong } from '../command.ts';
import { EXIT } from '../command-error.ts';
import { formatTable } from '../table.ts';

/** A model as core answers it. */
export interface ModelAnswer {
  readonly name: string;
  readonly builtIn: boolean;
  readonly provider: string;
  readonly dialects: readonly string[];
  readonly baseUrl: string | null;
  readonly upstreamName: string;
  readonly credential: string | null;
  readonly defaultMaxTokens: number | null;
  readonly fallbacks: readonly string[];
  readonly createdAt: string;
}

/** A model that was put. */
interface PutAnswer extends ModelAnswer {
  readonly warnings: readonly string[];
}

export const modelPut = defineCommand({
  name: 'model put',
  summary: 'makes or replaces a model: where it is and with which credential it is called',
  args: ['NAME'],
  options: {
    provider: {
      type: 'string',
      value: 'PROVIDER',
      choices: PROVIDERS.map(({ name }) => name),
      help: 'whose model it is: openai, anthropic, google, … (see docs/models.md); custom if left out',
    },
    url: {
      type: 'string',
      value: 'URL',
      help: 'the base URL; the provider’s own if left out, required for azure and custom',
    },
    dialect: {
      type: 'string',
      value: 'DIALECT',
      multiple: true,
      choices: DIALECTS,
      help: 'what it serves, of what its provider speaks; required for custom',
    },
    'upstream-name': {
      type: 'string',
      value: 'NAME',
      help: 'the provider’s name for it; the same if left out',
    },
    credential: {
      type: 'string',
      value: 'VAULT/NAME',
      help: 'a model_key, bearer or headers; none if left out',
    },
    'max-tokens': {
      type: 'string',
      value: 'N',
      help: 'what a budget reserves for the output of a call that names no limit',
    },
    fallback: {
      type: 'string',
      value: 'MODEL',
      multiple: true,
      help: 'called in its place while nothing of an answer went out, in the order in which they are given',
    },
    json: { type: 'boolean', help: 'prints JSON' },
  },
  notes: [
    'A URL whose path has a version, as /v1, is complete; another gets the provider’s. Plain http goes only into a network that SALLYPORT_OPEN_NETWORKS opens for the host.',
    'Fallbacks are tried when the provider cannot be reached or answers 408, 429 or 5xx, never after the first byte.',
  ],
  examples: [
    'npx sallyport model put gpt-5 --provider openai --credential team/openai --fallback gpt-5-mini',
    'npx sallyport model put claude --provider anthropic --upstream-name claude-sonnet-4-5 --credential team/anthropic',
    'npx sallyport model put local --url http://llm.internal:8000 --dialect openai --upstream-name qwen3',
  ],
  run: async ({ args: [name], options }, io) => {
    const { provider, url: baseUrl, dialect: dialects, credential, fallback: fallbacks } = options;
    if (!baseUrl && (!provider || takesUrl(provider))) throw wrong(modelPut, 'model put needs --url');
    if (!dialects && (!provider || provider === 'custom')) throw wrong(modelPut, 'model put needs --dialect');
    const api = await openApi(io);
    const upstreamName = options['upstream-name'];
    const defaultMaxTokens = readTokens(options['max-tokens']);
    const body = { provider, baseUrl, dialects, credential, upstreamName, defaultMaxTokens, fallbacks };
    const model = await api.call<PutAnswer>('PUT', path`/v1/models/${name}`, body);
    for (const warning of model.warnings) io.err(`warning: ${warning}`);
    io.out(options.json ? JSON.stringify(model, null, 2) : `model ${model.name} is at ${model.baseUrl}`);
    return EXIT.done;
  },
});

function takesUrl(name: string): boolean {
  return PROVIDERS.find((provider) => provider.name === name)?.baseUrl === null;
}

function readTokens(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^[1-9]\d{0,8}$/.test(text))
    throw wrong(modelPut, '--max-tokens is a whole number from 1 to 999999999');
  return Number(text);
}

export const modelList = defineCommand({
  name: 'model list',
  summary: 'lists the models',
  args: [],
  options: { json: { type: 'boolean', help: 'prints JSON' } },
  examples: ['npx sallyport model list'],
  run: async ({ options }, io) => {
    const api = await openApi(io);
    const found = await api.call<readonly ModelAnswer[]>('GET', '/v1/models');
    if (options.json) io.out(JSON.stringify(found, null, 2));
    else for (const line of formatTable([HEAD, ...found.map(modelRow)])) io.out(line);
    return EXIT.done;
  },
});

export const modelRemove = defineCommand({
  name: 'model rm',
  summary: 'deletes a model: the next call of it is refused',
  args: ['NAME'],
  options: {},
  notes: ['What it used stays in the ledger.'],
  examples: ['npx sallyport model rm gpt-5'],
  run: async ({ args: [name] }, io) => {
    const api = await openApi(io);
    const models = await api.call<readonly ModelAnswer[]>('GET', '/v1/models');
    await api.call('DELETE', path`/v1/models/${name}`);
    const bereft = models.filter(({ fallbacks }) => fallbacks.includes(name)).map((model) => model.name);
    if (bereft.length > 0) io.err(`warning: ${bereft.join(', ')} falls back on ${name} no more`);
    io.out(`model ${name} is deleted`);
    return EXIT.done;
  },
});

function modelRow(model: ModelAnswer): string[] {
  const { name, provider, dialects, baseUrl, upstreamName, credential, fallbacks } = model;
  const where = [name, provider, dialects.join(' '), baseUrl ?? 'built in', upstreamName];
  return [...where, credential ?? '-', fallbacks.length > 0 ? fallbacks.join(' ') : '-'];
}

const HEAD = ['NAME', 'PROVIDER', 'DIALECTS', 'URL', 'UPSTREAM NAME', 'CREDENTIAL', 'FALLBACKS'];

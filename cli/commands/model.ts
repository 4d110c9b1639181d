/** `model put|list|rm`: the catalogue that agents choose from. */
import { openApi, path } from '../api.ts';
import { defineCommand, wrong } from '../command.ts';
import { EXIT } from '../command-error.ts';
import { formatTable } from '../table.ts';

/** A model as core answers it. */
export interface ModelAnswer {
  readonly name: string;
  readonly builtIn: boolean;
  readonly dialects: readonly string[];
  readonly baseUrl: string | null;
  readonly upstreamName: string;
  readonly credential: string | null;
  readonly createdAt: string;
}

export const modelPut = defineCommand({
  name: 'model put',
  summary: 'makes or replaces a model: where it is and with which credential it is called',
  args: ['NAME'],
  options: {
    url: {
      type: 'string',
      value: 'URL',
      help: 'the provider’s base URL, as https://api.openai.com/v1; required',
    },
    dialect: {
      type: 'string',
      value: 'DIALECT',
      multiple: true,
      choices: ['openai', 'anthropic'],
      help: 'what it speaks: Chat Completions or Messages; required, may be given twice',
    },
    credential: {
      type: 'string',
      value: 'VAULT/NAME',
      help: 'a model_key, bearer or headers; none if left out',
    },
    'upstream-name': {
      type: 'string',
      value: 'NAME',
      help: 'the provider’s name for it; the same if left out',
    },
    json: { type: 'boolean', help: 'prints JSON' },
  },
  notes: [
    'A URL whose path has a version, as /v1, is complete; another gets /v1. Plain http goes only into a network that SALLYPORT_OPEN_NETWORKS opens for the host.',
  ],
  examples: [
    'npx sallyport model put gpt-5 --url https://api.openai.com/v1 --dialect openai --credential team/openai',
    'npx sallyport model put local --url http://llm.internal:8000 --dialect openai --upstream-name qwen3',
  ],
  run: async ({ args: [name], options }, io) => {
    const { url: baseUrl, dialect: dialects, credential, 'upstream-name': upstreamName } = options;
    if (!baseUrl) throw wrong(modelPut, 'model put needs --url');
    if (!dialects) throw wrong(modelPut, 'model put needs --dialect');
    const api = await openApi(io);
    const body = { baseUrl, dialects, credential, upstreamName };
    const model = await api.call<ModelAnswer>('PUT', path`/v1/models/${name}`, body);
    io.out(options.json ? JSON.stringify(model, null, 2) : `model ${model.name} is at ${model.baseUrl}`);
    return EXIT.done;
  },
});

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
    await api.call('DELETE', path`/v1/models/${name}`);
    io.out(`model ${name} is deleted`);
    return EXIT.done;
  },
});

function modelRow({ name, dialects, baseUrl, upstreamName, credential }: ModelAnswer): string[] {
  return [name, dialects.join(' '), baseUrl ?? 'built in', upstreamName, credential ?? '-'];
}

const HEAD = ['NAME', 'DIALECTS', 'URL', 'UPSTREAM NAME', 'CREDENTIAL'];

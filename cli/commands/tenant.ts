/** `tenant show|set`: what is set for the whole installation while it runs. */
import { BUILT_IN_MODELS } from '../../core-lite/state/model.ts';
import type { TenantSettings } from '../../core-lite/state/tenant-settings.ts';
import { openApi } from '../api.ts';
import { defineCommand, wrong } from '../command.ts';
import { EXIT } from '../command-error.ts';

export const tenantShow = defineCommand({
  name: 'tenant show',
  summary: 'shows what is set for the whole installation',
  args: [],
  options: { json: { type: 'boolean', help: 'prints JSON' } },
  examples: ['npx sallyport tenant show'],
  run: async ({ options }, io) => {
    const api = await openApi(io);
    const settings = await api.call<TenantSettings>('GET', '/v1/tenant/settings');
    io.out(options.json ? JSON.stringify(settings, null, 2) : describe(settings));
    return EXIT.done;
  },
});

export const tenantSet = defineCommand({
  name: 'tenant set',
  summary: 'sets something for the whole installation; every replica follows within a second',
  args: [],
  options: {
    'fixture-model': {
      type: 'string',
      value: 'MODEL',
      choices: [...BUILT_IN_MODELS.map(({ name }) => name), 'none'],
      help: 'the built-in model that the gates answer every call from, or none: then each model is called',
    },
    json: { type: 'boolean', help: 'prints JSON' },
  },
  notes: [
    'With a fixture model no provider is called and no credential is read: for tests and demonstrations. Calls are still decided (the manifest, the catalogue, the dialect) and stand in the ledger.',
  ],
  examples: [
    'npx sallyport tenant set --fixture-model fixture/echo',
    'npx sallyport tenant set --fixture-model none',
  ],
  run: async ({ options }, io) => {
    const model = options['fixture-model'];
    if (model === undefined) throw wrong(tenantSet, 'tenant set needs --fixture-model');
    const api = await openApi(io);
    const fixtureModel = model === 'none' ? null : model;
    const settings = await api.call<TenantSettings>('PATCH', '/v1/tenant/settings', { fixtureModel });
    io.out(options.json ? JSON.stringify(settings, null, 2) : describe(settings));
    return EXIT.done;
  },
});

function describe({ fixtureModel }: TenantSettings): string {
  return fixtureModel
    ? `fixture-model ${fixtureModel}: every call is answered from it`
    : 'fixture-model none: each model is called';
}

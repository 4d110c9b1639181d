/** What is set for the whole installation while it runs. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from 'typebox';
import { changeAsAdmin } from '../state/admin.ts';
import { changeTenantSettings, loadTenantSettings } from '../state/tenant-settings.ts';
import type { CoreContext } from './context.ts';
import { nullable } from './schemas.ts';

export function tenantSettingRoutes({ database, tenantId }: CoreContext): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get('/tenant/settings', { schema: { response: { 200: Settings } } }, () =>
      loadTenantSettings(database),
    );

    app.patch(
      '/tenant/settings',
      { schema: { body: SettingsBody, response: { 200: Settings } } },
      (request) =>
        changeAsAdmin(database, request.actor, async (tx) => {
          const { settings, changed } = await changeTenantSettings(tx, request.body);
          const event = { action: 'tenant.set', subject: tenantId, detail: { ...settings } };
          return { result: settings, event: changed ? event : null };
        }),
    );
  };
}

const FixtureModel = nullable(
  Type.String({
    maxLength: 128,
    description: 'a built-in model that every call is answered from; null: each model is called',
  }),
);
const SettingsBody = Type.Object(
  { fixtureModel: Type.Optional(FixtureModel) },
  { additionalProperties: false },
);
const Settings = Type.Object({ fixtureModel: FixtureModel });

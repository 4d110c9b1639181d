/** What admins changed, newest first. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from 'typebox';
import { listAdminEvents } from '../state/admin.ts';
import type { CoreContext } from './context.ts';
import { Limit, Moment } from './schemas.ts';

export function adminEventRoutes({ database }: CoreContext): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get(
      '/admin-events',
      { schema: { querystring: Page, response: { 200: Type.Array(AdminEventRow) } } },
      (request) => listAdminEvents(database, request.query.limit ?? 100, request.query.before),
    );
  };
}

const Page = Type.Object(
  {
    before: Type.Optional(Type.String({ pattern: '^aev_[0-9a-f]{32}$' })),
    limit: Type.Optional(Limit),
  },
  { additionalProperties: false },
);
const AdminEventRow = Type.Object({
  id: Type.String(),
  at: Moment,
  actor: Type.String(),
  action: Type.String(),
  subject: Type.String(),
  detail: Type.Record(Type.String(), Type.Unknown()),
});

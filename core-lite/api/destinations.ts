/** Where an environment's connections went, in sums, for reading. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from 'typebox';
import { sumDestinations } from '../record/destination-reader.ts';
import { findEnvironment } from '../state/environment-store.ts';
import type { CoreContext } from './context.ts';
import { Moment, Name, parseMoment } from './schemas.ts';

export function destinationRoutes({ database, now }: CoreContext): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get(
      '/environments/:name/destinations',
      { schema: { params: ByName, querystring: Filter, response: { 200: Type.Array(DestinationRow) } } },
      async ({ params, query }) => {
        const { id } = await findEnvironment(database, params.name);
        const since = query.since ? parseMoment('since', query.since) : new Date(now().getTime() - DAY_MS);
        return sumDestinations(database, { environmentId: id, since, limit: query.limit ?? 1_000 });
      },
    );
  };
}

const DAY_MS = 86_400_000;
const ByName = Type.Object({ name: Name });
const Filter = Type.Object(
  {
    since: Type.Optional(Type.String({ maxLength: 40 })),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000, default: 1_000 })),
  },
  { additionalProperties: false },
);
const DestinationRow = Type.Object({
  host: Type.String(),
  port: Type.Integer(),
  decision: Type.Object({ verdict: Type.String(), reason: Type.String() }),
  verdict: Type.String(),
  reason: Type.String(),
  count: Type.Integer(),
  firstAt: Moment,
  lastAt: Moment,
});

/** What model calls used, in sums. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from 'typebox';
import { sumUsage } from '../record/usage-reader.ts';
import type { CoreContext } from './context.ts';
import { Limit, Moment, parseMoment } from './schemas.ts';

export function usageRoutes({ database }: CoreContext): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get('/usage', { schema: { querystring: Filter, response: { 200: Type.Array(Sum) } } }, (request) => {
      const { by = 'agent', limit = 1000 } = request.query;
      const since = readMoment('since', request.query.since);
      const until = readMoment('until', request.query.until);
      return sumUsage(database, { by, limit, ...(since ? { since } : {}), ...(until ? { until } : {}) });
    });
  };
}

function readMoment(name: string, text: string | undefined): Date | undefined {
  return text === undefined ? undefined : parseMoment(name, text);
}

const Filter = Type.Object(
  {
    by: Type.Optional(
      Type.Union([
        Type.Literal('agent'),
        Type.Literal('session'),
        Type.Literal('turn'),
        Type.Literal('model'),
        Type.Literal('day'),
      ]),
    ),
    since: Type.Optional(Type.String({ maxLength: 40 })),
    until: Type.Optional(Type.String({ maxLength: 40 })),
    limit: Type.Optional(Limit),
  },
  { additionalProperties: false },
);
const Sum = Type.Object({
  group: Type.String(),
  calls: Type.Integer(),
  failed: Type.Integer(),
  unmetered: Type.Integer(),
  inputTokens: Type.Number(),
  outputTokens: Type.Number(),
  cachedTokens: Type.Number(),
  cacheWriteTokens: Type.Number(),
  reasoningTokens: Type.Number(),
  lastAt: Moment,
});

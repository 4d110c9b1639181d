/** What model calls used and cost: in sums, and call by call. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { type Static, Type } from 'typebox';
import { listUsageCalls } from '../record/usage-calls.ts';
import type { UsageNarrowing } from '../record/usage-narrowing.ts';
import { sumUsage, USAGE_GROUPS } from '../record/usage-reader.ts';
import type { CoreContext } from './context.ts';
import { Limit, Moment, nullable, parseMoment, SessionId, TurnId } from './schemas.ts';

export function usageRoutes({ database }: CoreContext): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get(
      '/usage',
      { schema: { querystring: SumFilter, response: { 200: Type.Array(Sum) } } },
      (request) => {
        const { by = 'agent', limit = 1000, ...rest } = request.query;
        return sumUsage(database, { by, limit, ...readNarrowing(rest) });
      },
    );

    app.get(
      '/usage/calls',
      { schema: { querystring: CallFilter, response: { 200: Type.Array(CallRow) } } },
      (request) => {
        const { limit = 100, ...rest } = request.query;
        return listUsageCalls(database, { limit, ...readNarrowing(rest) });
      },
    );
  };
}

function readNarrowing({ since, until, ...rest }: Static<typeof Narrowing>): UsageNarrowing {
  return {
    ...rest,
    ...(since === undefined ? {} : { since: parseMoment('since', since) }),
    ...(until === undefined ? {} : { until: parseMoment('until', until) }),
  };
}

const FIELDS = {
  session: Type.Optional(SessionId),
  turn: Type.Optional(TurnId),
  agent: Type.Optional(Type.String({ maxLength: 200 })),
  model: Type.Optional(Type.String({ maxLength: 200 })),
  provider: Type.Optional(Type.String({ maxLength: 100 })),
  since: Type.Optional(Type.String({ maxLength: 40 })),
  until: Type.Optional(Type.String({ maxLength: 40 })),
  limit: Type.Optional(Limit),
};
const Narrowing = Type.Object(FIELDS);
const SumFilter = Type.Object(
  { ...FIELDS, by: Type.Optional(Type.Union(USAGE_GROUPS.map((group) => Type.Literal(group)))) },
  { additionalProperties: false },
);
const CallFilter = Type.Object(
  { ...FIELDS, before: Type.Optional(Type.String({ pattern: '^usg_[0-9a-f]{32}$' })) },
  { additionalProperties: false },
);
const Sum = Type.Object({
  group: Type.String(),
  calls: Type.Integer(),
  failed: Type.Integer(),
  unmetered: Type.Integer(),
  unpriced: Type.Integer(),
  presumed: Type.Integer(),
  inputTokens: Type.Number(),
  outputTokens: Type.Number(),
  cachedTokens: Type.Number(),
  cacheWriteTokens: Type.Number(),
  reasoningTokens: Type.Number(),
  costUsd: Type.Number(),
  lastAt: Moment,
});
const CallRow = Type.Object({
  id: Type.String(),
  at: Moment,
  sessionId: Type.String(),
  turnId: Type.String(),
  agent: Type.String(),
  model: Type.String(),
  upstreamName: Type.String(),
  provider: nullable(Type.String()),
  dialect: Type.String(),
  streamed: Type.Boolean(),
  status: nullable(Type.Integer()),
  outcome: Type.String(),
  inputTokens: nullable(Type.Number()),
  outputTokens: nullable(Type.Number()),
  cachedTokens: nullable(Type.Number()),
  cacheWriteTokens: nullable(Type.Number()),
  reasoningTokens: nullable(Type.Number()),
  costUsd: nullable(Type.Number()),
  duplicate: Type.Boolean(),
  presumed: Type.Boolean(),
  firstByteMs: nullable(Type.Number()),
  durationMs: Type.Number(),
  clientSession: nullable(Type.String()),
  clientAgent: nullable(Type.String()),
  clientParentAgent: nullable(Type.String()),
});

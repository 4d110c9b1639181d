/** The record, for reading: connections and counted refusals. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { type Static, Type } from 'typebox';
import { type ConnectionFilter, listConnections, listRefusalCounts } from '../record/connection-reader.ts';
import type { CoreContext } from './context.ts';
import { Limit, Moment, nullable, parseMoment, Texts, TurnId } from './schemas.ts';

export function connectionRoutes({ database, now }: CoreContext): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get(
      '/connections',
      { schema: { querystring: Filter, response: { 200: Type.Array(ConnectionRow) } } },
      (request) => listConnections(database, readFilter(request.query)),
    );

    app.get(
      '/refusal-counts',
      { schema: { querystring: CountsFilter, response: { 200: Type.Array(CountRow) } } },
      (request) => {
        const since = readMoment('since', request.query.since) ?? new Date(now().getTime() - HOUR_MS);
        return listRefusalCounts(database, since, request.query.limit ?? 100);
      },
    );
  };
}

function readFilter(query: Static<typeof Filter>): ConnectionFilter {
  const { since, limit = 100, ...rest } = query;
  const moment = readMoment('since', since);
  return { ...rest, limit, ...(moment ? { since: moment } : {}) };
}

function readMoment(name: string, text: string | undefined): Date | undefined {
  return text === undefined ? undefined : parseMoment(name, text);
}

const HOUR_MS = 3_600_000;
const ConnectionId = Type.String({ pattern: '^con_[0-9a-f]{32}$' });
const Filter = Type.Object(
  {
    environment: Type.Optional(Type.String({ maxLength: 100 })),
    host: Type.Optional(Type.String({ maxLength: 300 })),
    verdict: Type.Optional(
      Type.Union([Type.Literal('allowed'), Type.Literal('denied'), Type.Literal('reported')]),
    ),
    turn: Type.Optional(TurnId),
    since: Type.Optional(Type.String({ maxLength: 40 })),
    before: Type.Optional(ConnectionId),
    after: Type.Optional(ConnectionId),
    limit: Type.Optional(Limit),
  },
  { additionalProperties: false },
);
const CountsFilter = Type.Object(
  { since: Type.Optional(Type.String({ maxLength: 40 })), limit: Type.Optional(Limit) },
  { additionalProperties: false },
);
const ConnectionRow = Type.Object({
  id: Type.String(),
  at: Moment,
  environment: Type.String(),
  environmentId: Type.String(),
  tokenId: Type.String(),
  podUid: Type.String(),
  sessionId: nullable(Type.String()),
  turnId: nullable(Type.String()),
  replica: Type.String(),
  source: Type.String(),
  host: Type.String(),
  port: Type.Integer(),
  verdict: Type.String(),
  reason: Type.String(),
  end: nullable(
    Type.Object({
      at: Moment,
      reason: Type.String(),
      code: nullable(Type.String()),
      addresses: Texts,
      address: nullable(Type.String()),
      bytesUp: Type.Integer(),
      bytesDown: Type.Integer(),
      durationMs: Type.Integer(),
      exchanges: Type.Integer(),
    }),
  ),
});
const CountRow = Type.Object({
  minute: Moment,
  source: Type.String(),
  environmentId: nullable(Type.String()),
  reason: Type.String(),
  count: Type.Integer(),
});

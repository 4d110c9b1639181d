/** The record of exchanges: what was asked inside interceptions, and which secrets were put on. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { type Static, Type } from 'typebox';
import { type ExchangeFilter, listExchanges } from '../record/exchange-reader.ts';
import type { CoreContext } from './context.ts';
import { Limit, Moment, nullable, parseMoment, Texts, TurnId } from './schemas.ts';

export function exchangeRoutes({ database }: CoreContext): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get(
      '/exchanges',
      { schema: { querystring: Filter, response: { 200: Type.Array(ExchangeRow) } } },
      (request) => listExchanges(database, readFilter(request.query)),
    );
  };
}

function readFilter({ since, limit = 100, ...rest }: Static<typeof Filter>): ExchangeFilter {
  return { ...rest, limit, ...(since === undefined ? {} : { since: parseMoment('since', since) }) };
}

const Filter = Type.Object(
  {
    connection: Type.Optional(Type.String({ pattern: '^con_[0-9a-f]{32}$' })),
    environment: Type.Optional(Type.String({ maxLength: 100 })),
    turn: Type.Optional(TurnId),
    since: Type.Optional(Type.String({ maxLength: 40 })),
    before: Type.Optional(Type.String({ pattern: '^exc_[0-9a-f]{32}$' })),
    limit: Type.Optional(Limit),
  },
  { additionalProperties: false },
);
const ExchangeRow = Type.Object({
  id: Type.String(),
  at: Moment,
  connectionId: Type.String(),
  environment: Type.String(),
  turnId: nullable(Type.String()),
  host: Type.String(),
  port: Type.Integer(),
  method: Type.String(),
  path: Type.String(),
  status: nullable(Type.Integer()),
  reason: Type.String(),
  credentials: Texts,
  bytesUp: Type.Number(),
  bytesDown: Type.Number(),
  masked: Type.Integer(),
  code: nullable(Type.String()),
  durationMs: Type.Number(),
});

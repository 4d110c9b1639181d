/** The keyed calls of a session: what was called, how each stands, how long it took. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from 'typebox';
import { CROSSING_STATUSES, type CrossingStatus } from '../record/crossing.ts';
import { listKeyedCalls } from '../record/crossing-reader.ts';
import { findSession } from '../state/session-store.ts';
import type { CoreContext } from './context.ts';
import { Limit, Moment, nullable, SessionId } from './schemas.ts';

export function toolCallRoutes({ database }: CoreContext): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get(
      '/sessions/:session/calls/tool',
      {
        schema: {
          params: BySession,
          querystring: Page,
          response: { 200: Type.Array(CallRow) },
          description: 'Keyed calls alone: those without an Idempotency-Key leave a line in the gates’ log.',
        },
      },
      async (request) => {
        const { id } = await findSession(database, request.params.session);
        const { limit = 100, before } = request.query;
        return listKeyedCalls(database, id, { limit, ...(before === undefined ? {} : { before }) });
      },
    );
  };
}

const BySession = Type.Object({ session: SessionId });
const Page = Type.Object(
  { before: Type.Optional(Type.String({ pattern: '^crs_[0-9a-f]{32}$' })), limit: Type.Optional(Limit) },
  { additionalProperties: false },
);
const CallRow = Type.Object({
  id: Type.String(),
  key: Type.String(),
  kind: Type.Union([Type.Literal('http'), Type.Literal('mcp')]),
  server: nullable(Type.String()),
  tool: Type.String(),
  credentialId: nullable(Type.String()),
  turnId: nullable(Type.String()),
  agent: Type.String(),
  status: Type.Unsafe<CrossingStatus>({ type: 'string', enum: [...CROSSING_STATUSES] }),
  code: nullable(Type.String()),
  startedAt: Moment,
  durationMs: nullable(Type.Number()),
  resultBytes: nullable(Type.Number()),
});

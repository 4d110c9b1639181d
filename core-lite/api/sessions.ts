/** Sessions: opened with the manifest that is pinned to them, read, ended. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from 'typebox';
import { changeAsAdmin } from '../state/admin.ts';
import { parseManifest } from '../state/manifest/manifest.ts';
import {
  endSession,
  findSession,
  listSessions,
  openSession,
  type SessionDetail,
  type SessionInput,
} from '../state/session-store.ts';
import type { CoreContext } from './context.ts';
import { Limit, Moment, Name, nullable, SessionId } from './schemas.ts';

export function sessionRoutes({ database }: CoreContext): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.post(
      '/sessions',
      { schema: { body: SessionBody, response: { 201: SessionFull } } },
      async (request, reply) => {
        const { agent, environment = null, user = null, manifest = {} } = request.body;
        const input = { agent, environment, user, manifest: parseManifest(manifest) };
        const session = await changeAsAdmin(database, request.actor, async (tx) => {
          const result = await openSession(tx, input);
          return { result, event: openEvent(result, input) };
        });
        return reply.code(201).send(session);
      },
    );

    app.get(
      '/sessions',
      { schema: { querystring: Filter, response: { 200: Type.Array(SessionRow) } } },
      (request) => listSessions(database, { ...request.query, limit: request.query.limit ?? 100 }),
    );

    app.get(
      '/sessions/:session',
      { schema: { params: BySession, response: { 200: SessionFull } } },
      (request) => findSession(database, request.params.session),
    );

    app.post(
      '/sessions/:session/end',
      {
        schema: {
          params: BySession,
          response: { 200: SessionFull },
          description: 'Ends its active turn too. A session that has ended stays as it is.',
        },
      },
      (request) => {
        const { session } = request.params;
        return changeAsAdmin(database, request.actor, async (tx) => {
          const ended = await endSession(tx, session);
          const event = ended && { action: 'session.end', subject: session, detail: ended };
          return { result: await findSession(tx, session), event };
        });
      },
    );
  };
}

function openEvent({ id }: SessionDetail, { agent, environment, manifest }: SessionInput) {
  const { models, mcpServers, httpTools } = manifest;
  const names = { mcpServers: Object.keys(mcpServers), httpTools: Object.keys(httpTools) };
  const detail = { agent, environment, models, ...names };
  return { action: 'session.open', subject: id, detail };
}

const BySession = Type.Object({ session: SessionId });
/** As the run token's claim takes it. */
const AgentName = Type.String({ pattern: '^[A-Za-z0-9_.:@/-]{1,128}$' });
const SessionBody = Type.Object(
  {
    agent: AgentName,
    environment: Type.Optional(Name),
    user: Type.Optional(Type.String({ pattern: '^[^\\p{Cc}\\p{Cs}]{1,256}$', description: 'opaque' })),
    manifest: Type.Optional(
      Type.Unknown({
        description: 'models, mcpServers, httpTools; without one: every model, no server, no tool',
      }),
    ),
  },
  { additionalProperties: false },
);
const Filter = Type.Object(
  {
    agent: Type.Optional(AgentName),
    open: Type.Optional(Type.Boolean()),
    before: Type.Optional(SessionId),
    limit: Type.Optional(Limit),
  },
  { additionalProperties: false },
);
const SessionFields = {
  id: Type.String(),
  agent: Type.String(),
  environment: nullable(Type.String()),
  environmentId: nullable(Type.String()),
  user: nullable(Type.String()),
  leaseEpoch: Type.Integer(),
  activeTurn: nullable(Type.String()),
  openedAt: Moment,
  endedAt: nullable(Moment),
};
const SessionRow = Type.Object(SessionFields);
const SessionFull = Type.Object({
  ...SessionFields,
  manifest: Type.Unsafe<SessionDetail['manifest']>({ type: 'object', additionalProperties: true }),
  lease: nullable(Type.Object({ holder: Type.String(), takenAt: Moment, heardAt: Moment })),
});

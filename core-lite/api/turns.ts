/** Turns: started, read, ended. Cancelling is in `cancel.ts`, since a run may do that too. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from 'typebox';
import { changeAsAdmin } from '../state/admin.ts';
import { findSession } from '../state/session-store.ts';
import { endTurn, findTurn, listTurns, startTurn } from '../state/turn-store.ts';
import type { CoreContext } from './context.ts';
import { LeaseEpoch, Limit, Moment, nullable, SessionId, TurnId } from './schemas.ts';

export function turnRoutes({ database }: CoreContext): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.post(
      '/sessions/:session/turns',
      { schema: { params: BySession, response: { 201: TurnRow } } },
      async (request, reply) => {
        const { session } = request.params;
        const turn = await changeAsAdmin(database, request.actor, async (tx) => {
          const result = await startTurn(tx, session);
          return { result, event: { action: 'turn.start', subject: result.id, detail: { session } } };
        });
        return reply.code(201).send(turn);
      },
    );

    app.get(
      '/sessions/:session/turns',
      { schema: { params: BySession, querystring: Page, response: { 200: Type.Array(TurnRow) } } },
      async (request) => {
        const { id } = await findSession(database, request.params.session);
        return listTurns(database, id, request.query.limit ?? 100, request.query.before);
      },
    );

    app.get('/turns/:turn', { schema: { params: ByTurn, response: { 200: TurnRow } } }, (request) =>
      findTurn(database, request.params.turn),
    );

    app.post(
      '/turns/:turn/end',
      { schema: { params: ByTurn, body: EndBody, response: { 200: TurnRow } } },
      (request) => {
        const { turn } = request.params;
        return changeAsAdmin(database, request.actor, async (tx) => {
          await endTurn(tx, turn, request.body.leaseEpoch);
          const result = await findTurn(tx, turn);
          const detail = { session: result.sessionId, leaseEpoch: result.leaseEpoch };
          return { result, event: { action: 'turn.end', subject: turn, detail } };
        });
      },
    );
  };
}

export const ByTurn = Type.Object({ turn: TurnId });
export const TurnRow = Type.Object({
  id: Type.String(),
  sessionId: Type.String(),
  state: Type.String(),
  leaseEpoch: Type.Integer(),
  startedAt: Moment,
  endedAt: nullable(Moment),
});
const BySession = Type.Object({ session: SessionId });
const EndBody = Type.Object({ leaseEpoch: LeaseEpoch }, { additionalProperties: false });
const Page = Type.Object(
  { before: Type.Optional(TurnId), limit: Type.Optional(Limit) },
  { additionalProperties: false },
);

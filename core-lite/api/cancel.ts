/**
 * Cancelling a turn: by an admin key, or by the turn's own run token while its lease is the current one.
 * A run token learns nothing of other turns: theirs and missing ones have the same answer.
 */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Fault } from '../errors.ts';
import { changeAsAdmin } from '../state/admin.ts';
import { missingTurn } from '../state/session-lock.ts';
import { cancelTurn, findTurn } from '../state/turn-store.ts';
import { authenticateAdminOrRun } from './authenticate.ts';
import type { CoreContext } from './context.ts';
import { ByTurn, TurnRow } from './turns.ts';

export function cancelRoutes(context: CoreContext): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.decorateRequest('run', null);
    app.addHook('onRequest', (request) => authenticateAdminOrRun(context, request));

    app.post(
      '/turns/:turn/cancel',
      {
        schema: {
          params: ByTurn,
          response: { 200: TurnRow },
          security: [{ adminKey: [] }, { runToken: [] }],
          description: 'Wins over every lease. A turn that is over stays as it is.',
        },
      },
      (request) => {
        const { turn } = request.params;
        if (request.run && request.run.claims.trn !== turn) throw missingTurn();
        return changeAsAdmin(context.database, request.actor, async (tx) => {
          const changed = await cancelTurn(tx, turn);
          const result = await findTurn(tx, turn);
          // Whoever lost the lease does not end the turn of who has it: the change is rolled back.
          if (request.run && request.run.claims.epc !== result.leaseEpoch) throw superseded(turn);
          const detail = { session: result.sessionId, leaseEpoch: result.leaseEpoch };
          return { result, event: changed ? { action: 'turn.cancel', subject: turn, detail } : null };
        });
      },
    );
  };
}

function superseded(turn: string): Fault {
  return new Fault('run_stale', `another lease has taken the turn ${turn}`);
}

/** Leases: taken, kept by heartbeats, and the tokens of the run that holds one. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from 'typebox';
import type { Queryable } from '../database/pool.ts';
import { Fault } from '../errors.ts';
import { changeAsAdmin } from '../state/admin.ts';
import { findRun, hearLease, type Run, takeLease } from '../state/lease-store.ts';
import { mintRunTokens, needsTokens, type RunTokens } from '../state/run-tokens.ts';
import type { CoreContext } from './context.ts';
import { LeaseEpoch, Moment, parseMoment } from './schemas.ts';
import { ByTurn } from './turns.ts';

export function leaseRoutes(context: CoreContext): FastifyPluginAsyncTypebox {
  const { database } = context;
  return async (app) => {
    app.post(
      '/turns/:turn/lease',
      { schema: { params: ByTurn, body: LeaseBody, response: { 200: LeaseAnswer } } },
      (request) =>
        changeAsAdmin(database, request.actor, async (tx) => {
          const { holder } = request.body;
          const run = await takeLease(tx, request.params.turn, holder);
          const tokens = await mintTokens(tx, run, context);
          if (run.environmentId !== null && !tokens.egress) {
            throw new Fault('conflict', 'the environment of the session was deleted');
          }
          return { result: answer(run, tokens), event: eventOf('turn.lease', run, tokens, { holder }) };
        }),
    );

    app.post(
      '/turns/:turn/heartbeat',
      { schema: { params: ByTurn, body: HeartbeatBody, response: { 200: HeartbeatAnswer } } },
      (request) => {
        const { leaseEpoch, runTokenExpiresAt: text } = request.body;
        const held = text === undefined ? null : parseMoment('runTokenExpiresAt', text);
        return database.transaction(async (tx) => {
          const run = await hearLease(tx, request.params.turn, leaseEpoch);
          if (!needsTokens(held, context.now())) return { leaseEpoch };
          return answer(run, await mintTokens(tx, run, context));
        });
      },
    );

    app.post(
      '/turns/:turn/run-tokens',
      {
        schema: {
          params: ByTurn,
          response: { 201: LeaseAnswer },
          description: 'For debugging: runs get theirs with the lease, which this leaves as it is.',
        },
      },
      async (request, reply) => {
        const made = await changeAsAdmin(database, request.actor, async (tx) => {
          const run = await findRun(tx, request.params.turn);
          const tokens = await mintTokens(tx, run, context);
          return { result: answer(run, tokens), event: eventOf('token.run', run, tokens) };
        });
        return reply.code(201).send(made);
      },
    );
  };
}

function mintTokens(tx: Queryable, run: Run, { seals, tenantId, now }: CoreContext): Promise<RunTokens> {
  return mintRunTokens(tx, run, { signing: seals.signing, tenantId, now: now() });
}

function answer({ leaseEpoch }: Run, { run, egress }: RunTokens) {
  return {
    leaseEpoch,
    runToken: run.token.reveal(),
    runTokenExpiresAt: run.expiresAt,
    ...(egress ? { egressToken: egress.token.reveal(), egressTokenExpiresAt: egress.expiresAt } : {}),
  };
}

function eventOf(action: string, run: Run, tokens: RunTokens, more: Readonly<Record<string, unknown>> = {}) {
  const tokenIds = [tokens.run.id, ...(tokens.egress ? [tokens.egress.id] : [])];
  const detail = { session: run.sessionId, leaseEpoch: run.leaseEpoch, tokenIds, ...more };
  return { action, subject: run.turnId, detail };
}

const LeaseBody = Type.Object(
  // Visible characters: it stands in lists and events.
  { holder: Type.String({ pattern: '^[^\\p{Cc}\\p{Cs}]{1,200}$' }) },
  { additionalProperties: false },
);
const HeartbeatBody = Type.Object(
  {
    leaseEpoch: LeaseEpoch,
    runTokenExpiresAt: Type.Optional(
      Type.String({
        maxLength: 40,
        description: 'of the token that the caller holds; new ones come if it is left out',
      }),
    ),
  },
  { additionalProperties: false },
);
const EgressPart = {
  egressToken: Type.Optional(Type.String()),
  egressTokenExpiresAt: Type.Optional(Moment),
};
const LeaseAnswer = Type.Object({
  leaseEpoch: Type.Integer(),
  runToken: Type.String(),
  runTokenExpiresAt: Moment,
  ...EgressPart,
});
const HeartbeatAnswer = Type.Object({
  leaseEpoch: Type.Integer(),
  runToken: Type.Optional(Type.String()),
  runTokenExpiresAt: Type.Optional(Moment),
  ...EgressPart,
});

/** Environments, and egress tokens for them. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from 'typebox';
import { changeAsAdmin } from '../state/admin.ts';
import { NO_POD } from '../state/environment.ts';
import {
  type EnvironmentInput,
  findEnvironment,
  listEnvironments,
  putEnvironment,
  removeEnvironment,
} from '../state/environment-store.ts';
import { mintToken } from '../tokens/mint.ts';
import { loadSigningKey } from '../tokens/signing-keys.ts';
import { loadPodVariables } from '../vault/pod-variables.ts';
import type { CoreContext } from './context.ts';
import { HostText, Moment, Name, Nothing, nullable, Texts } from './schemas.ts';

export function environmentRoutes(context: CoreContext): FastifyPluginAsyncTypebox {
  const { database } = context;
  return async (app) => {
    app.get('/environments', { schema: { response: { 200: Type.Array(Environment) } } }, () =>
      listEnvironments(database),
    );

    app.get(
      '/environments/:name',
      { schema: { params: ByName, response: { 200: Environment } } },
      (request) => findEnvironment(database, request.params.name),
    );

    app.put(
      '/environments/:name',
      { schema: { params: ByName, body: EnvironmentBody, response: { 200: Environment } } },
      (request) =>
        changeAsAdmin(database, request.actor, async (tx) => {
          const input: EnvironmentInput = { ...DEFAULTS, ...request.body };
          const result = await putEnvironment(tx, request.params.name, input);
          const { mode, allow, credentials, maxConnections, newPerSecond } = result;
          const detail = { id: result.id, mode, allow, credentials, maxConnections, newPerSecond };
          return { result, event: { action: 'environment.put', subject: result.name, detail } };
        }),
    );

    app.delete(
      '/environments/:name',
      { schema: { params: ByName, response: { 204: Nothing } } },
      async (request, reply) => {
        await changeAsAdmin(database, request.actor, async (tx) => {
          const { name } = request.params;
          const id = await removeEnvironment(tx, name);
          return { result: null, event: { action: 'environment.rm', subject: name, detail: { id } } };
        });
        return reply.code(204).send(null);
      },
    );

    app.post(
      '/environments/:name/egress-tokens',
      {
        schema: {
          params: ByName,
          response: { 201: Token },
          description: 'For debugging: pods get theirs by joining.',
        },
      },
      async (request, reply) =>
        reply.code(201).send(await mintEgressToken(context, request.actor, request.params.name)),
    );

    app.get(
      '/environments/:name/pod-variables',
      {
        schema: {
          params: ByName,
          response: { 200: PodVariablesAnswer },
          description:
            'What a workload gets: the variables that hold a sentinel, and plain ones with their value.',
        },
      },
      async (request) => {
        const { id } = await findEnvironment(database, request.params.name);
        return loadPodVariables(database, context.seals.signing, id);
      },
    );
  };
}

/** A token is an authority: that one was made is an event like any other change. */
async function mintEgressToken(context: CoreContext, actor: { id: string }, name: string) {
  const { database, seals, tenantId, now } = context;
  return changeAsAdmin(database, actor, async (tx) => {
    const environment = await findEnvironment(tx, name);
    const key = await loadSigningKey(tx, seals.signing);
    const claims = {
      sub: environment.id,
      hep: environment.hostEpoch,
      pod: environment.podUid ?? NO_POD,
    };
    const minted = await mintToken('egress', claims, key, tenantId, now());
    return {
      result: { token: minted.token.reveal(), tokenId: minted.id, expiresAt: minted.expiresAt },
      event: {
        action: 'token.egress',
        subject: name,
        detail: { tokenId: minted.id, expiresAt: minted.expiresAt },
      },
    };
  });
}

const ByName = Type.Object({ name: Name });
const EnvironmentBody = Type.Object(
  {
    kind: Type.Optional(Type.Union([Type.Literal('pod'), Type.Literal('virtual'), Type.Literal('none')])),
    mode: Type.Optional(Type.Union([Type.Literal('enforce'), Type.Literal('report')])),
    allow: Type.Optional(Type.Array(HostText, { maxItems: 2000 })),
    maxConnections: Type.Optional(Type.Integer({ minimum: 0, maximum: 1_000_000 })),
    newPerSecond: Type.Optional(Type.Integer({ minimum: 0, maximum: 1_000_000 })),
    credentials: Type.Optional(Type.Array(Type.String({ maxLength: 130 }), { maxItems: 500 })),
  },
  { additionalProperties: false },
);
const Environment = Type.Object({
  id: Type.String(),
  name: Type.String(),
  kind: Type.String(),
  mode: Type.String(),
  allow: Texts,
  maxConnections: Type.Integer(),
  newPerSecond: Type.Integer(),
  credentials: Texts,
  hostEpoch: Type.Integer(),
  podUid: nullable(Type.String()),
  createdAt: Moment,
  updatedAt: Moment,
});
const PodVariablesAnswer = Type.Object({
  sentinels: Texts,
  plain: Type.Unsafe<Readonly<Record<string, string>>>({
    type: 'object',
    additionalProperties: { type: 'string' },
  }),
});
const Token = Type.Object({ token: Type.String(), tokenId: Type.String(), expiresAt: Moment });

/** Nothing is reachable that nobody allowed; the limits fit one agent, not a fleet. */
const DEFAULTS: EnvironmentInput = {
  kind: 'pod',
  mode: 'enforce',
  allow: [],
  maxConnections: 1_000,
  newPerSecond: 200,
  credentials: [],
};

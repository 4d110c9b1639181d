/** The catalogue of models. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from 'typebox';
import { changeAsAdmin } from '../state/admin.ts';
import { findModel, listModels, putModel, removeModel } from '../state/model-store.ts';
import type { CoreContext } from './context.ts';
import { Moment, Nothing, nullable, Texts } from './schemas.ts';

export function modelRoutes({ database }: CoreContext): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get('/models', { schema: { response: { 200: Type.Array(Model) } } }, () => listModels(database));

    app.get('/models/:name', { schema: { params: ByName, response: { 200: Model } } }, (request) =>
      findModel(database, request.params.name),
    );

    app.put(
      '/models/:name',
      { schema: { params: ByName, body: ModelBody, response: { 200: Model } } },
      (request) =>
        changeAsAdmin(database, request.actor, async (tx) => {
          const result = await putModel(tx, request.params.name, request.body);
          const { dialects, baseUrl, upstreamName, credential } = result;
          const detail = { dialects, baseUrl, upstreamName, credential };
          return { result, event: { action: 'model.put', subject: result.name, detail } };
        }),
    );

    app.delete(
      '/models/:name',
      { schema: { params: ByName, response: { 204: Nothing } } },
      async (request, reply) => {
        const { name } = request.params;
        await changeAsAdmin(database, request.actor, async (tx) => {
          await removeModel(tx, name);
          return { result: null, event: { action: 'model.rm', subject: name, detail: {} } };
        });
        return reply.code(204).send(null);
      },
    );
  };
}

/** A slash in the name is written %2F in the path. */
const ByName = Type.Object({ name: Type.String({ minLength: 1, maxLength: 128 }) });
const ModelBody = Type.Object(
  {
    baseUrl: Type.String({ maxLength: 2048 }),
    dialects: Type.Array(Type.Union([Type.Literal('openai'), Type.Literal('anthropic')]), {
      minItems: 1,
      maxItems: 2,
    }),
    upstreamName: Type.Optional(Type.String({ maxLength: 128 })),
    credential: Type.Optional(Type.String({ maxLength: 130 })),
  },
  { additionalProperties: false },
);
const Model = Type.Object({
  name: Type.String(),
  builtIn: Type.Boolean(),
  dialects: Texts,
  baseUrl: nullable(Type.String()),
  upstreamName: Type.String(),
  credential: nullable(Type.String()),
  createdAt: Moment,
});

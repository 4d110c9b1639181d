/** The catalogue of models. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from 'typebox';
import { changeAsAdmin } from '../state/admin.ts';
import { DIALECTS } from '../state/dialect.ts';
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
      { schema: { params: ByName, body: ModelBody, response: { 200: Put } } },
      (request) =>
        changeAsAdmin(database, request.actor, async (tx) => {
          const result = await putModel(tx, request.params.name, request.body);
          const { provider, dialects, baseUrl, upstreamName, credential, defaultMaxTokens, fallbacks } =
            result;
          const where = { provider, dialects, baseUrl, upstreamName, credential };
          const detail = { ...where, defaultMaxTokens, fallbacks };
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
const MAX_FALLBACKS = 8;
const ModelBody = Type.Object(
  {
    provider: Type.Optional(Type.String({ maxLength: 64, description: 'custom when left out' })),
    baseUrl: Type.Optional(Type.String({ maxLength: 2048, description: 'the provider’s own when left out' })),
    dialects: Type.Optional(
      Type.Array(Type.Union(DIALECTS.map((dialect) => Type.Literal(dialect))), {
        minItems: 1,
        maxItems: DIALECTS.length,
        description: 'what the provider speaks when left out',
      }),
    ),
    upstreamName: Type.Optional(Type.String({ maxLength: 128 })),
    credential: Type.Optional(Type.String({ maxLength: 130 })),
    defaultMaxTokens: Type.Optional(Type.Integer({ minimum: 1, maximum: 2 ** 31 - 1 })),
    fallbacks: Type.Optional(
      Type.Array(Type.String({ maxLength: 128 }), {
        maxItems: MAX_FALLBACKS,
        description:
          'models that are called in its place, in this order, while nothing of an answer went out',
      }),
    ),
  },
  { additionalProperties: false },
);
const ModelFields = {
  name: Type.String(),
  builtIn: Type.Boolean(),
  provider: Type.String(),
  dialects: Texts,
  baseUrl: nullable(Type.String()),
  upstreamName: Type.String(),
  credential: nullable(Type.String()),
  defaultMaxTokens: nullable(Type.Integer()),
  fallbacks: Texts,
  createdAt: Moment,
};
const Model = Type.Object(ModelFields);
/** What was put, and what will keep calls from it. */
const Put = Type.Object({ ...ModelFields, warnings: Texts });

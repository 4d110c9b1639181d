/** Signing keys: list, rotate, import, revoke. The private half never goes out. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from 'typebox';
import { Secret } from '../secret.ts';
import { changeAsAdmin } from '../state/admin.ts';
import {
  importSigningKey,
  listSigningKeys,
  revokeSigningKey,
  rotateSigningKey,
} from '../tokens/signing-keys.ts';
import type { CoreContext } from './context.ts';
import { Moment, Nothing, nullable } from './schemas.ts';

export function signingKeyRoutes({ database, seals }: CoreContext): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get('/signing-keys', { schema: { response: { 200: Type.Array(SigningKeyRow) } } }, () =>
      listSigningKeys(database),
    );

    app.post('/signing-keys/rotate', { schema: { response: { 201: Made } } }, async (request, reply) => {
      const made = await changeAsAdmin(database, request.actor, async (tx) => {
        const kid = await rotateSigningKey(tx, seals.signing);
        return { result: { kid }, event: { action: 'signing_key.rotate', subject: kid, detail: {} } };
      });
      return reply.code(201).send(made);
    });

    app.post(
      '/signing-keys/import',
      { schema: { body: ImportBody, response: { 201: Made } } },
      async (request, reply) => {
        const { pem, current = false } = request.body;
        const made = await changeAsAdmin(database, request.actor, async (tx) => {
          const kid = await importSigningKey(tx, seals.signing, new Secret(pem), current);
          return {
            result: { kid },
            event: { action: 'signing_key.import', subject: kid, detail: { current } },
          };
        });
        return reply.code(201).send(made);
      },
    );

    app.post(
      '/signing-keys/:kid/revoke',
      { schema: { params: ByKid, response: { 204: Nothing } } },
      async (request, reply) => {
        const { kid } = request.params;
        await changeAsAdmin(database, request.actor, async (tx) => {
          await revokeSigningKey(tx, kid);
          return { result: null, event: { action: 'signing_key.revoke', subject: kid, detail: {} } };
        });
        return reply.code(204).send(null);
      },
    );
  };
}

const ByKid = Type.Object({ kid: Type.String({ pattern: '^[A-Za-z0-9_-]{1,64}$' }) });
const ImportBody = Type.Object(
  { pem: Type.String({ maxLength: 8192 }), current: Type.Optional(Type.Boolean()) },
  { additionalProperties: false },
);
const Made = Type.Object({ kid: Type.String() });
const SigningKeyRow = Type.Object({
  kid: Type.String(),
  state: Type.String(),
  imported: Type.Boolean(),
  createdAt: Moment,
  revokedAt: nullable(Moment),
});

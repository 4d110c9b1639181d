/** Admin keys: added, listed, revoked. A key goes out once, in the answer that made it. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from 'typebox';
import { changeAsAdmin } from '../state/admin.ts';
import { addAdminKey, listAdminKeys, revokeAdminKey } from '../state/admin-key-store.ts';
import type { CoreContext } from './context.ts';
import { Moment, Nothing, nullable } from './schemas.ts';

export function adminKeyRoutes({ database }: CoreContext): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get('/admin-keys', { schema: { response: { 200: Type.Array(AdminKeyRow) } } }, () =>
      listAdminKeys(database),
    );

    app.post(
      '/admin-keys',
      { schema: { body: AdminKeyBody, response: { 201: MadeRow } } },
      async (request, reply) => {
        const { name, role = 'full' } = request.body;
        const made = await changeAsAdmin(database, request.actor, async (tx) => {
          const result = await addAdminKey(tx, name, role);
          return {
            result,
            event: { action: 'admin_key.make', subject: name, detail: { id: result.id, role } },
          };
        });
        return reply.code(201).send({ ...made, key: made.key.reveal() });
      },
    );

    app.post(
      '/admin-keys/:key/revoke',
      { schema: { params: ByKey, response: { 204: Nothing } } },
      async (request, reply) => {
        await changeAsAdmin(database, request.actor, async (tx) => {
          const revoked = await revokeAdminKey(tx, request.params.key);
          if (!revoked) return { result: null, event: null };
          const { id, name, role } = revoked;
          return { result: null, event: { action: 'admin_key.revoke', subject: name, detail: { id, role } } };
        });
        return reply.code(204).send(null);
      },
    );
  };
}

const ByKey = Type.Object({ key: Type.String({ pattern: '^adk_[0-9a-f]{32}$' }) });
const Role = Type.Union([Type.Literal('full'), Type.Literal('read_only')]);
const AdminKeyBody = Type.Object(
  { name: Type.String({ pattern: '^[^\\p{Cc}\\p{Cs}]{1,128}$' }), role: Type.Optional(Role) },
  { additionalProperties: false },
);
const AdminKeyFields = {
  id: Type.String(),
  name: Type.String(),
  role: Role,
  createdAt: Moment,
  revokedAt: nullable(Moment),
};
const AdminKeyRow = Type.Object(AdminKeyFields);
const MadeRow = Type.Object({ ...AdminKeyFields, key: Type.String() });

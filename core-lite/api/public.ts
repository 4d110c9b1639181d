/** What anyone may read: health, the public keys, the egress CA's certificate, the API's own description. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from 'typebox';
import { Fault } from '../errors.ts';
import { loadPublicJwks } from '../tokens/signing-keys.ts';
import type { CoreContext } from './context.ts';

export function publicRoutes({ database }: CoreContext): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get('/health', { schema: { security: [], response: { 200: Status } } }, async () => ({
      status: 'ok',
    }));

    app.get('/ready', { schema: { security: [], response: { 200: Status } } }, async () => {
      await database.query('SELECT 1');
      return { status: 'ok' };
    });

    app.get('/.well-known/jwks.json', { schema: { security: [] } }, async (_request, reply) =>
      reply.header('cache-control', 'max-age=60').send(await loadPublicJwks(database)),
    );

    app.get(
      '/authority.pem',
      { schema: { security: [], produces: ['application/x-pem-file'] } },
      async (_request, reply) => {
        const [row] = await database.query<{ certificate: string }>(
          `SELECT certificate FROM authorities WHERE state = 'current'`,
        );
        if (!row) throw new Fault('not_found', 'the egress CA has not been made yet');
        return reply.type('application/x-pem-file').send(row.certificate);
      },
    );

    app.get('/openapi.json', { schema: { hide: true, security: [] } }, async () => app.swagger());
  };
}

const Status = Type.Object({ status: Type.String() });

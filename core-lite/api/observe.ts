/** Each service's health and metrics, on a port of its own, loopback by default. */
import { type FastifyInstance, fastify } from 'fastify';
import type { Registry } from 'prom-client';
import type { Queryable } from '../database/pool.ts';

export interface Observed {
  readonly registry: Registry;
  readonly database: Queryable;
}

/** `/health` says that the process serves, `/ready` that it also reaches the database, `/metrics` is Prometheus text. */
export function buildObserve({ registry, database }: Observed): FastifyInstance {
  const app = fastify({ forceCloseConnections: true });
  app.get('/health', async () => ({ status: 'ok' }));
  app.get('/ready', async (_request, reply) => {
    const reached = await database.query('SELECT 1').then(
      () => true,
      () => false,
    );
    return reply.code(reached ? 200 : 503).send({ status: reached ? 'ok' : 'database_unreachable' });
  });
  app.get('/metrics', async (_request, reply) =>
    reply.type(registry.contentType).send(await registry.metrics()),
  );
  return app;
}

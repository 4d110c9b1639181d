/** What every group of routes is given, and what every request carries once it is authenticated. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { Database } from '../database/pool.ts';
import type { Actor } from '../state/admin.ts';
import type { Seals } from '../vault/credential-store.ts';

/** What the routes work with. */
export interface CoreContext {
  readonly database: Database;
  readonly seals: Seals;
  readonly tenantId: string;
  readonly now: () => Date;
}

/** A group of routes. */
export type Routes = (context: CoreContext) => FastifyPluginAsyncTypebox;

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by authentication before any handler of /v1 runs. */
    actor: Actor;
  }
}

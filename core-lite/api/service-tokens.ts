/**
 * Service tokens: for one call, or a few, at a gate outside a run. Each names one server or one HTTP tool of an open
 * session and lives a minute; there is no standing password of a service.
 */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from 'typebox';
import { Fault } from '../errors.ts';
import { changeAsAdmin } from '../state/admin.ts';
import { loadSessionFacts, type SessionFacts } from '../state/session.ts';
import { mintToken } from '../tokens/mint.ts';
import { loadSigningKey } from '../tokens/signing-keys.ts';
import type { CoreContext } from './context.ts';
import { Moment, SessionId } from './schemas.ts';

export function serviceTokenRoutes({
  database,
  seals,
  tenantId,
  now,
}: CoreContext): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.post(
      '/sessions/:session/service-tokens',
      {
        schema: {
          params: Type.Object({ session: SessionId }),
          body: Body,
          response: { 201: Answer },
          description: 'For calls at a gate outside a run: one server, or one HTTP tool, of an open session.',
        },
      },
      async (request, reply) => {
        const { session } = request.params;
        const scope = request.body;
        const minted = await changeAsAdmin(database, request.actor, async (tx) => {
          const facts = await loadSessionFacts(tx, session);
          const agent = judgeScope(facts, scope);
          const key = await loadSigningKey(tx, seals.signing);
          const claims = {
            ...{ sub: session, agt: agent },
            ...('server' in scope ? { srv: scope.server } : { tol: scope.tool }),
          };
          const result = await mintToken('service', claims, key, tenantId, now());
          return {
            result,
            event: { action: 'token.service', subject: session, detail: { tokenId: result.id, ...scope } },
          };
        });
        return reply
          .code(201)
          .send({ serviceToken: minted.token.reveal(), serviceTokenExpiresAt: minted.expiresAt });
      },
    );
  };
}

/** @returns the session's agent */
function judgeScope(facts: SessionFacts | null, scope: { server: string } | { tool: string }): string {
  if (!facts) throw new Fault('not_found', 'there is no such session');
  if (facts.ended) throw new Fault('conflict', 'the session has ended');
  const { mcpServers, httpTools } = facts.manifest;
  const declared =
    'server' in scope ? Object.hasOwn(mcpServers, scope.server) : Object.hasOwn(httpTools, scope.tool);
  if (!declared) throw new Fault('input_invalid', 'the session’s manifest declares none of that name');
  return facts.agent;
}

const Named = Type.String({ pattern: '^[\\w.:@/-]{1,128}$' });
const Body = Type.Union([
  Type.Object({ server: Named }, { additionalProperties: false }),
  Type.Object({ tool: Named }, { additionalProperties: false }),
]);
const Answer = Type.Object({ serviceToken: Type.String(), serviceTokenExpiresAt: Moment });

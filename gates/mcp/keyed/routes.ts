/** The product's own routes of MCP: what a harness connects, lists and closes servers with, and calls tools under a key. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { isRefusal, openWay } from '../../come-in.ts';
import type { Gate } from '../../gate.ts';
import { authenticateCaller, refuse } from '../../listen.ts';
import { isKeyFit, readKey } from '../../read/idempotency-key.ts';
import { bodyOf, judgeMedia, origin } from '../../read/own-request.ts';
import type { DeclaredServers } from '../middle/declared-servers.ts';
import { serveToolCall } from './handle-call.ts';
import { serveServer } from './handle-server.ts';
import { type KeyedArrival, serveKeyed } from './serve.ts';

export function addKeyedRoutes(app: FastifyInstance, gate: Gate, servers: DeclaredServers): void {
  void app.register(async (keyed) => {
    keyed.addHook('onRequest', (request, reply) => authenticateCaller(gate, request, reply));
    keyed.addHook('preHandler', async (request, reply) =>
      isRefusal(request.body) ? refuse(gate, request, reply, request.body) : undefined,
    );
    const onRequest = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
      const refusal =
        judgeMedia(request) ??
        (isKeyFit(request.raw.rawHeaders) ? null : 'key_malformed') ??
        (await openWay(gate, request, reply, BODY_BYTES));
      return refusal ? refuse(gate, request, reply, refusal) : undefined;
    };
    for (const operation of ['connect', 'list', 'close'] as const) {
      keyed.post(`/v1/mcp/${operation}`, { onRequest }, async (request, reply) => {
        reply.hijack();
        const arrival = arrivalOf(request);
        await serveKeyed(gate, arrival, reply.raw, (call) =>
          serveServer(gate, servers, operation, arrival, call),
        );
      });
    }
    keyed.post('/v1/tool-calls', { onRequest }, async (request, reply) => {
      reply.hijack();
      const arrival = arrivalOf(request);
      await serveKeyed(gate, arrival, reply.raw, (call) => serveToolCall(gate, servers, arrival, call));
    });
  });
}

function arrivalOf(request: FastifyRequest): KeyedArrival {
  const { token } = request.caller;
  return { token, key: readKey(request.raw.rawHeaders), body: bodyOf(request), ...origin(request) };
}

const BODY_BYTES = 1024 * 1024;

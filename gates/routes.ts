/** Which paths the gates serve. Two base URLs fit both families of clients, so each model route is there with and without `/v1`. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type Dialect, FAMILIES } from '../core-lite/state/dialect.ts';
import { headerValue } from './act/headers.ts';
import type { Gate } from './gate.ts';
import { handleHttpCall } from './handle-http-call.ts';
import { handleModelCall } from './handle-model-call.ts';
import { handleModels } from './handle-models.ts';
import { authenticate, refuse, surfaceOf } from './listen.ts';
import type { ToolSchemas } from './tool-schemas.ts';

export function addRoutes(app: FastifyInstance, gate: Gate, schemas: ToolSchemas): void {
  // Claude Code looks whether somebody is there.
  app.route({ method: ['GET', 'HEAD'], url: '/', handler: async () => 'sallyport gates\n' });
  void app.register(async (calls) => {
    calls.addHook('onRequest', (request, reply) => authenticate(gate, request, reply));
    for (const [path, dialect] of MODEL_ROUTES) addModelRoute(calls, gate, path, dialect);
    for (const path of ['/v1/models', '/models']) {
      calls.get(path, async (request, reply) => {
        reply.hijack();
        await handleModels(
          gate,
          { token: request.caller.token, surface: surfaceOf(request), ...origin(request) },
          reply.raw,
        );
      });
    }
    addToolRoute(calls, gate, schemas);
  });
}

function addModelRoute(app: FastifyInstance, gate: Gate, path: string, dialect: Dialect): void {
  app.post(
    path,
    { bodyLimit: MODEL_BODY_BYTES, config: { surface: FAMILIES[dialect] } },
    async (request, reply) => {
      const { token, text: tokenText } = request.caller;
      const headers = request.raw.rawHeaders;
      const query = /\?.*$/s.exec(request.url)?.[0] ?? '';
      const encoding = headerValue(headers, 'content-encoding');
      const arrival = {
        dialect,
        token,
        tokenText,
        headers,
        query,
        encoding,
        body: bodyOf(request),
        ...origin(request),
      };
      reply.hijack();
      await handleModelCall(gate, { ...arrival, maxBytes: MODEL_BODY_BYTES }, reply.raw);
    },
  );
}

function addToolRoute(app: FastifyInstance, gate: Gate, schemas: ToolSchemas): void {
  const onRequest = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    const refusal = judgeMedia(request);
    return refusal ? refuse(gate, request, reply, refusal) : undefined;
  };
  app.post<{ Params: { tool: string } }>('/v1/http-calls/:tool', { onRequest }, async (request, reply) => {
    reply.hijack();
    const { token } = request.caller;
    const arrival = { token, tool: request.params.tool, body: bodyOf(request), ...origin(request) };
    await handleHttpCall(gate, schemas, arrival, reply.raw);
  });
}

/** A web page can send other types than JSON without asking first. */
function judgeMedia(request: FastifyRequest): 'media_type_refused' | 'encoding_refused' | null {
  const raw = request.raw.rawHeaders;
  if (!JSON_TYPE.test(headerValue(raw, 'content-type'))) return 'media_type_refused';
  return headerValue(raw, 'content-encoding') === '' ? null : 'encoding_refused';
}

function bodyOf(request: FastifyRequest): Buffer {
  return Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
}

function origin(request: FastifyRequest): { source: string; userAgent: string } {
  return { source: request.ip, userAgent: request.headers['user-agent'] ?? '' };
}

const MODEL_ROUTES: readonly (readonly [path: string, dialect: Dialect])[] = [
  ['/v1/chat/completions', 'openai'],
  ['/chat/completions', 'openai'],
  ['/v1/messages', 'anthropic'],
  ['/messages', 'anthropic'],
];
const MODEL_BODY_BYTES = 32 * 1024 * 1024;
const JSON_TYPE = /^application\/json(?:\s*;\s*charset="?utf-8"?)?$/;

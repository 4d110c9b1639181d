/** Which paths the gates serve. Two base URLs fit both families of clients, so each model route is there with and without `/v1`. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { FAMILIES } from '../core-lite/state/dialect.ts';
import { contentCoding } from './act/headers.ts';
import { readTrace } from './act/tool-identity.ts';
import { isRefusal, openWay } from './come-in.ts';
import { BODY_PATHS, type Operation, parseModelPath } from './dialects/operations.ts';
import type { Gate } from './gate.ts';
import { handleCancel } from './handle-cancel.ts';
import { handleHttpCall } from './handle-http-call.ts';
import { handleModelCall } from './handle-model-call.ts';
import { handleModels } from './handle-models.ts';
import { authenticate, authenticateCaller, familyOf, queryOf, refuse, runOf } from './listen.ts';
import { isKeyFit, readKey } from './read/idempotency-key.ts';
import { isJsonHead, judgeModelHead } from './read/model-request.ts';
import { bodyOf, judgeMedia, origin } from './read/own-request.ts';
import { providerQuery } from './read/query.ts';
import type { ToolSchemas } from './tool-schemas.ts';

export function addRoutes(app: FastifyInstance, gate: Gate, schemas: ToolSchemas): void {
  // Claude Code looks whether somebody is there.
  app.route({ method: ['GET', 'HEAD'], url: '/', handler: async () => 'sallyport gates\n' });
  void app.register(async (calls) => {
    calls.addHook('onRequest', (request, reply) => authenticate(gate, request, reply));
    calls.addHook('preHandler', (request, reply) => refuseBody(gate, request, reply));
    for (const [path, operation] of Object.entries(BODY_PATHS)) addBodyRoute(calls, gate, path, operation);
    for (const version of MODEL_VERSIONS) {
      addModelPathRoute(calls, gate, `${version}/models/*`);
      addModelsRoutes(calls, gate, `${version}/models`);
    }
    addCancelRoute(calls, gate);
  });
  void app.register(async (calls) => {
    calls.addHook('onRequest', (request, reply) => authenticateCaller(gate, request, reply));
    calls.addHook('preHandler', (request, reply) => refuseBody(gate, request, reply));
    addToolRoute(calls, gate, schemas);
  });
}

async function refuseBody(gate: Gate, request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  return isRefusal(request.body) ? refuse(gate, request, reply, request.body) : undefined;
}

/** A route whose body names the model. */
function addBodyRoute(app: FastifyInstance, gate: Gate, path: string, operation: Operation): void {
  const options = { ...modelRoute(gate), config: { surface: FAMILIES[operation.dialect] } };
  for (const version of ['/v1', '']) {
    app.post(version + path, options, (request, reply) => hand(gate, request, reply, operation, null));
  }
}

/** What each route of a model has: its limit, and room for the body as it comes. */
function modelRoute(gate: Gate) {
  const onRequest = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    const google = request.routeOptions.config.surface === 'gemini';
    const wrong = judgeModelHead(request.raw.rawHeaders, queryOf(request), google);
    if (wrong) return refuse(gate, request, reply, 'request_malformed', { text: wrong });
    if (!isJsonHead(request.raw.rawHeaders)) return refuse(gate, request, reply, 'media_type_refused');
    const refusal = await openWay(gate, request, reply, MODEL_BODY_BYTES);
    return refusal ? refuse(gate, request, reply, refusal) : undefined;
  };
  return { onRequest };
}

/** Routes whose path names the model and what is asked of it. */
function addModelPathRoute(app: FastifyInstance, gate: Gate, path: string): void {
  const options = { ...modelRoute(gate), config: { surface: 'gemini' } } as const;
  app.post<Behind>(path, options, async (request, reply) => {
    const asked = parseModelPath(request.params['*']);
    if (typeof asked === 'string') return refuse(gate, request, reply, asked);
    await hand(gate, request, reply, asked.operation, asked.model);
  });
}

function addModelsRoutes(app: FastifyInstance, gate: Gate, path: string): void {
  const list = async (request: FastifyRequest, reply: FastifyReply, name: string | null): Promise<void> => {
    const token = runOf(request);
    const family = familyOf(request) ?? 'openai';
    const query = new URLSearchParams(queryOf(request));
    reply.hijack();
    await handleModels(gate, { token, family, query, name, ...origin(request) }, reply.raw);
  };
  app.get(path, (request, reply) => list(request, reply, null));
  app.get<Behind>(`${path}/*`, (request, reply) => list(request, reply, request.params['*']));
}

async function hand(
  gate: Gate,
  request: FastifyRequest,
  reply: FastifyReply,
  operation: Operation,
  pathModel: string | null,
): Promise<void> {
  const token = runOf(request);
  const { text: tokenText } = request.caller;
  const headers = request.raw.rawHeaders;
  const arrival = {
    operation,
    pathModel,
    token,
    tokenText,
    headers,
    query: providerQuery(queryOf(request), tokenText),
    encoding: contentCoding(headers),
    body: bodyOf(request),
    hold: request.coming?.hold ?? gate.room.open(token.claims.sub),
    maxBytes: MODEL_BODY_BYTES,
    ...origin(request),
  };
  // The call lets go of it when it can.
  request.body = undefined;
  reply.hijack();
  await handleModelCall(gate, arrival, reply.raw);
}

/** What a `*` in a route stands for, decoded. */
interface Behind {
  readonly Params: { readonly '*': string };
}

function addToolRoute(app: FastifyInstance, gate: Gate, schemas: ToolSchemas): void {
  const onRequest = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    const refusal =
      judgeMedia(request) ??
      (isKeyFit(request.raw.rawHeaders) ? null : 'key_malformed') ??
      (await openWay(gate, request, reply, TOOL_BODY_BYTES));
    return refusal ? refuse(gate, request, reply, refusal) : undefined;
  };
  app.post<{ Params: { tool: string } }>('/v1/http-calls/:tool', { onRequest }, async (request, reply) => {
    reply.hijack();
    const { token } = request.caller;
    const { rawHeaders } = request.raw;
    const [key, trace] = [readKey(rawHeaders), readTrace(rawHeaders)];
    const { tool } = request.params;
    const arrival = { token, tool, key, trace, body: bodyOf(request), ...origin(request) };
    await handleHttpCall(gate, schemas, arrival, reply.raw);
  });
}

function addCancelRoute(app: FastifyInstance, gate: Gate): void {
  const onRequest = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    const refusal = await openWay(gate, request, reply, TOOL_BODY_BYTES);
    return refusal ? refuse(gate, request, reply, refusal) : undefined;
  };
  app.post<{ Params: { key: string } }>(
    '/v1/tool-calls/:key/cancel',
    { onRequest },
    async (request, reply) => {
      reply.hijack();
      const token = runOf(request);
      await handleCancel(gate, { token, key: request.params.key, ...origin(request) }, reply.raw);
    },
  );
}

/** The versions under which clients ask for models by their path. */
const MODEL_VERSIONS = ['/v1', '/v1beta', '/v1alpha', ''];
const MODEL_BODY_BYTES = 32 * 1024 * 1024;
const TOOL_BODY_BYTES = 1024 * 1024;

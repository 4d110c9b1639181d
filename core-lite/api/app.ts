/**
 * The admin API as an application: who may call, how errors answer, which routes there are, and the OpenAPI document
 * that is made from their schemas. Never opened to pods: it listens on loopback by default.
 */
import swagger from '@fastify/swagger';
import { TypeBoxValidatorCompiler } from '@fastify/type-provider-typebox';
import {
  type FastifyError,
  type FastifyInstance,
  type FastifyPluginAsync,
  type FastifyReply,
  type FastifyRequest,
  fastify,
} from 'fastify';
import { Fault } from '../errors.ts';
import { makeId } from '../id.ts';
import type { Logger } from '../log.ts';
import { VERSION } from '../version.ts';
import { adminEventRoutes } from './admin-events.ts';
import { adminKeyRoutes } from './admin-keys.ts';
import { authenticateAdmin } from './authenticate.ts';
import { budgetRoutes } from './budgets.ts';
import { cancelRoutes } from './cancel.ts';
import { connectionRoutes } from './connections.ts';
import type { CoreContext, Routes } from './context.ts';
import { destinationRoutes } from './destinations.ts';
import { environmentRoutes } from './environments.ts';
import { exchangeRoutes } from './exchanges.ts';
import { leaseRoutes } from './leases.ts';
import { modelRoutes } from './models.ts';
import { publicRoutes } from './public.ts';
import { describeMisfit } from './schemas.ts';
import { serviceTokenRoutes } from './service-tokens.ts';
import { sessionRoutes } from './sessions.ts';
import { signingKeyRoutes } from './signing-keys.ts';
import { tenantSettingRoutes } from './tenant-settings.ts';
import { toolCallRoutes } from './tool-calls.ts';
import { turnRoutes } from './turns.ts';
import { usageRoutes } from './usage.ts';
import { vaultRoutes } from './vaults.ts';

export async function buildApp(context: CoreContext, log: Logger): Promise<FastifyInstance> {
  const app = fastify({
    bodyLimit: MAX_BODY_BYTES,
    requestIdHeader: false,
    forceCloseConnections: true,
    routerOptions: { caseSensitive: true, ignoreTrailingSlash: false, maxParamLength: 4_096 },
  });
  app.setValidatorCompiler(TypeBoxValidatorCompiler);
  app.decorateRequest('actor');
  app.setErrorHandler((error: FastifyError, request, reply) => answerError(error, request, reply, log));
  app.setNotFoundHandler((request, reply) => {
    const fault = new Fault('not_found', `there is no ${request.method} ${request.url.split('?')[0]}`);
    return sendFault(reply, fault);
  });
  app.addHook('onResponse', async (request, reply) => logCall(log, request, reply));
  await app.register(swagger, { openapi: OPENAPI });
  await app.register(publicRoutes(context));
  await app.register(
    async (routes) => {
      routes.addHook('preValidation', refuseUnasked);
      routes.addHook('preValidation', refuseHalfCharacters);
      await routes.register(adminRoutes(context));
      await routes.register(cancelRoutes(context));
    },
    { prefix: '/v1' },
  );
  return app;
}

/** Every route that only an admin key opens. */
function adminRoutes(context: CoreContext): FastifyPluginAsync {
  return async (admin) => {
    admin.addHook('onRequest', (request) => authenticateAdmin(context, request));
    for (const routes of ADMIN_ROUTES) await admin.register(routes(context));
  };
}

/** A body or a query that the route does not have: a field that is silently dropped was meant by somebody. */
async function refuseUnasked(request: FastifyRequest): Promise<void> {
  const { body, querystring } = request.routeOptions.schema ?? {};
  for (const [where, asked, given] of [
    ['body', body, request.body],
    ['query', querystring, request.query],
  ] as const) {
    if (asked || given === undefined || given === null) continue;
    if (typeof given === 'object' && Object.keys(given).length === 0) continue;
    throw new Fault('input_invalid', `this route takes no ${where}`);
  }
}

/** Half a surrogate pair is stored as another character: two names would become one. */
async function refuseHalfCharacters({ body }: FastifyRequest): Promise<void> {
  if (body === undefined || body === null || isWellFormed(body)) return;
  throw new Fault('input_invalid', 'a text in the body has half a character (a lone surrogate)');
}

function isWellFormed(value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed();
  if (typeof value !== 'object' || value === null) return true;
  return Object.entries(value).every(([name, part]) => name.isWellFormed() && isWellFormed(part));
}

function answerError(
  error: FastifyError,
  request: FastifyRequest,
  reply: FastifyReply,
  log: Logger,
): unknown {
  if (error instanceof Fault && error.code !== 'internal') return sendFault(reply, error);
  if (error.validation) return sendFault(reply, new Fault('input_invalid', describeValidation(error)));
  // Fastify's own: a body that is too large, not JSON, of another media type. Their texts name no content.
  if (error.statusCode && error.statusCode < 500) {
    return reply.code(error.statusCode).send({ error: { code: 'input_invalid', message: error.message } });
  }
  const id = makeId('flt');
  log.error({ id, method: request.method, route: request.routeOptions.url, err: error }, 'call failed');
  return sendFault(reply, new Fault('internal', `something went wrong on our side (${id})`));
}

function sendFault(reply: FastifyReply, fault: Fault): FastifyReply {
  const message = `${fault.message}; ${fault.remedy}`;
  return reply.code(fault.status).send({ error: { code: fault.code, message } });
}

function describeValidation(error: FastifyError): string {
  const found = error.validation ?? [];
  const [first] = found;
  const where = namePlace(error.validationContext ?? 'input', first?.instancePath ?? '');
  // An unknown field fails against the schema that admits nothing.
  if (first?.message === 'schema is false') return `${where} is not a field of this route`;
  if (first?.keyword === 'pattern') return `${where} ${describeMisfit(first.params['pattern'])}`;
  if (first?.keyword === 'const') {
    const same = found.filter(
      ({ keyword, instancePath }) => keyword === 'const' && instancePath === first.instancePath,
    );
    const words = same.map(({ params }) => String(params['allowedValue']));
    return `${where} is not ${words.length > 1 ? `one of ${words.join(', ')}` : words[0]}`;
  }
  return `${where} ${first?.message ?? 'is malformed'}`;
}

/** As a user would say it: a parameter of the path has a name of its own. */
function namePlace(context: string, path: string): string {
  if (context === 'params') return `the ${path.slice(1)} in the path`;
  if (context === 'querystring') return `the query’s ${path.slice(1)}`;
  return context + path;
}

function logCall(log: Logger, request: FastifyRequest, reply: FastifyReply): void {
  const route = request.routeOptions.url;
  if (!route?.startsWith('/v1')) return;
  const { method } = request;
  log.info(
    { method, route, status: reply.statusCode, actor: request.actor?.id, ms: Math.round(reply.elapsedTime) },
    'call',
  );
}

const ADMIN_ROUTES: readonly Routes[] = [
  environmentRoutes,
  destinationRoutes,
  vaultRoutes,
  signingKeyRoutes,
  connectionRoutes,
  exchangeRoutes,
  adminEventRoutes,
  adminKeyRoutes,
  sessionRoutes,
  turnRoutes,
  leaseRoutes,
  serviceTokenRoutes,
  modelRoutes,
  budgetRoutes,
  tenantSettingRoutes,
  toolCallRoutes,
  usageRoutes,
];
const MAX_BODY_BYTES = 256 * 1024;
const OPENAPI = {
  openapi: '3.1.0',
  info: { title: 'Sallyport core', description: 'The operator’s API', version: VERSION },
  components: {
    securitySchemes: {
      adminKey: { type: 'http' as const, scheme: 'bearer' },
      runToken: { type: 'http' as const, scheme: 'bearer', bearerFormat: 'JWT' },
    },
  },
  security: [{ adminKey: [] }],
};

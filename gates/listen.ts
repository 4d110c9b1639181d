/**
 * Stage 1: listens, refuses what is not a request to the gates, authenticates before a body is read, reads the body
 * within its route's limit, and hands the call on. Nothing about models or tools is decided here.
 */
import { createServer } from 'node:http';
import type { Socket } from 'node:net';
import {
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  fastify,
} from 'fastify';
import type { ListenAddress } from '../core-lite/setting-kinds.ts';
import type { Family } from '../core-lite/state/dialect.ts';
import type { VerifyingKeys } from '../core-lite/tokens/signing-keys.ts';
import { SENTINEL } from '../core-lite/vault/placement.ts';
import { headerValue } from './act/headers.ts';
import { formatRefusal, type RefusalDetail, type Surface } from './answer.ts';
import { readToken } from './authenticate.ts';
import type { CallerToken } from './caller-token.ts';
import type { RunToken } from './calls.ts';
import { comeIn } from './come-in.ts';
import type { Gate } from './gate.ts';
import { queryKeys } from './read/query.ts';
import { judgeRequest } from './read/request.ts';
import type { RefusalReason } from './reasons.ts';

export interface ListenOptions {
  readonly gate: Gate;
  /** `Host` names besides loopback. */
  readonly hosts: readonly string[];
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by authentication before any call is handled. */
    caller: Authenticated;
  }
  interface FastifyContextConfig {
    /** In which shape the route answers; the product's own where it is not said. */
    readonly surface?: Surface;
  }
}

interface Authenticated {
  readonly token: CallerToken;
  /** The token as it came. */
  readonly text: string;
}

/** An application without routes that is not listening yet. */
export function buildListener({ gate, hosts }: ListenOptions): FastifyInstance {
  const app = fastify({
    serverFactory: (handler) => {
      const server = createServer(SERVER_OPTIONS, handler);
      server.on('upgrade', (_request, socket: Socket) => refuseUpgrade(socket));
      return server;
    },
    requestIdHeader: false,
    routerOptions: {
      caseSensitive: true,
      ignoreTrailingSlash: false,
      ignoreDuplicateSlashes: false,
      // The longest key of a call, each character escaped.
      maxParamLength: 1024,
    },
    frameworkErrors: (_error, request, reply) => refuse(gate, request, reply, 'route_unknown'),
    clientErrorHandler: (error, socket) => refuseBroken(error, socket),
  });
  const names = answeredNames(hosts);
  app.decorateRequest('caller');
  app.decorateRequest('coming');
  app.removeAllContentTypeParsers();
  // The bytes as they are: what a body holds is its route's to read.
  app.addContentTypeParser('*', (request: FastifyRequest) => comeIn(gate, request));
  app.addHook('onRequest', async (request, reply) => {
    const refusal = judgeRequest(request.raw, names);
    if (refusal) return refuse(gate, request, reply, refusal);
    // Fastify refuses a type that it cannot parse; a route that minds the type reads the raw header.
    request.raw.headers['content-type'] = 'application/octet-stream';
    // A body that nobody reads must not hold its connection for as long as it comes.
    if (request.method === 'GET' || request.method === 'HEAD') closeBehindBody(request, reply);
  });
  // What was asked is not said back: it may be a key, put into a path by mistake.
  app.setNotFoundHandler((request, reply) => refuse(gate, request, reply, 'route_unknown'));
  app.setErrorHandler((error: FastifyError, request, reply) => {
    const reason = reasonOf(error);
    if (reason === 'internal') gate.record.failure(error);
    return refuse(gate, request, reply, reason);
  });
  return app;
}

/** Sets `request.caller`, or answers why not. For routes that ask for a run token, before their body is read. */
export function authenticate(gate: Gate, request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  return authenticateWith(gate, request, reply, (text, keys) => gate.tokens.verify(text, keys, gate.now()));
}

/** For routes that core calls outside a run too. */
export function authenticateCaller(
  gate: Gate,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  return authenticateWith(gate, request, reply, async (text, keys) => {
    const run = await gate.tokens.verify(text, keys, gate.now());
    if (run !== 'token_untrusted') return run;
    return gate.serviceTokens.verify(text, keys, gate.now());
  });
}

/** The token of a route that asks for a run's. */
export function runOf({ caller: { token } }: FastifyRequest): RunToken {
  if (token.kind !== 'run') throw new TypeError('a route of runs has let another token in');
  return token;
}

async function authenticateWith(
  gate: Gate,
  request: FastifyRequest,
  reply: FastifyReply,
  verify: (text: string, keys: VerifyingKeys) => Promise<CallerToken | RefusalReason>,
): Promise<unknown> {
  const found = readToken(request.raw.rawHeaders, queryOf(request));
  if (typeof found === 'string') return refuse(gate, request, reply, found, MORE_THAN_ONE[found]);
  const keys = await gate.facts.keys().catch(() => null);
  if (!keys) return refuse(gate, request, reply, 'facts_unavailable');
  const token = await verify(found.text, keys);
  const standsIn = found.text === SENTINEL ? STANDS_IN : undefined;
  if (typeof token === 'string') return refuse(gate, request, reply, token, standsIn);
  request.caller = { token, text: found.text };
  return undefined;
}

/** The shape in which this request is answered. */
function surfaceOf(request: FastifyRequest): Surface {
  return request.routeOptions.config.surface ?? familyOf(request) ?? 'own';
}

/** Whose client asks, where the route does not tell; `null` where nothing does. */
export function familyOf(request: FastifyRequest): Family | null {
  const { rawHeaders } = request.raw;
  if (GEMINI_PATH.test(request.url)) return 'gemini';
  if (headerValue(rawHeaders, 'anthropic-version')) return 'anthropic';
  const keyed = headerValue(rawHeaders, 'x-goog-api-key') !== '' || queryKeys(queryOf(request)).length > 0;
  return keyed ? 'gemini' : null;
}

/** With its `?`; empty where there is none. */
export function queryOf({ url }: FastifyRequest): string {
  const mark = url.indexOf('?');
  return mark < 0 ? '' : url.slice(mark);
}

/** The hosts that a request may be for. */
export function answeredNames(hosts: readonly string[]): ReadonlySet<string> {
  return new Set([...LOOPBACK_NAMES, ...hosts]);
}

export function addressHosts({ host }: ListenAddress): string[] {
  return WILDCARDS.has(host) ? [] : [host.includes(':') ? `[${host}]` : host.toLowerCase()];
}

/** Answers a request whose way ends before its body is read. */
export function refuse(
  gate: Gate,
  request: FastifyRequest,
  reply: FastifyReply,
  reason: RefusalReason,
  detail?: RefusalDetail,
): FastifyReply {
  gate.record.refusal(reason, request.ip);
  const { status, headers, body } = formatRefusal(surfaceOf(request), reason, {
    userAgent: request.headers['user-agent'],
    detail,
  });
  // What is still to come of a body that nobody reads must not be taken for the next request.
  if (!request.raw.complete) reply.header('connection', 'close');
  return reply.code(status).headers(headers).send(body);
}

function closeBehindBody({ raw: { headers } }: FastifyRequest, reply: FastifyReply): void {
  const none = headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === 0;
  if (!none) reply.raw.setHeader('connection', 'close');
}

function reasonOf(error: FastifyError): RefusalReason {
  if (error.statusCode === 415) return 'media_type_refused';
  return error.statusCode && error.statusCode < 500 ? 'request_malformed' : 'internal';
}

/** Codex tries seven times before it falls back to HTTP, on any answer but this. */
function refuseUpgrade(socket: Socket): void {
  socket.on('error', () => {});
  const { status, body } = formatRefusal('own', 'upgrade_refused');
  const head = `HTTP/1.1 ${status} Upgrade Required\r\nUpgrade: HTTP/1.1\r\nConnection: Upgrade, close\r\nContent-Type: application/json\r\nSallyport-Reason: upgrade_refused`;
  socket.end(`${head}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`, () => socket.destroy());
}

/** What is not HTTP, is too large, or came too slowly. */
function refuseBroken(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const line = BROKEN_STATUS.get(error.code ?? '') ?? '400 Bad Request';
  const { body } = formatRefusal('own', 'request_malformed');
  const head = `HTTP/1.1 ${line}\r\nConnection: close\r\nContent-Type: application/json`;
  socket.end(`${head}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`, () => socket.destroy());
}

const BROKEN_STATUS: ReadonlyMap<string, string> = new Map([
  ['HPE_HEADER_OVERFLOW', '431 Request Header Fields Too Large'],
  ['ERR_HTTP_REQUEST_TIMEOUT', '408 Request Timeout'],
]);
/** Of a token that was looked for: nothing else of the request was read yet. */
const MORE_THAN_ONE: Partial<Record<RefusalReason, RefusalDetail>> = {
  request_malformed: { text: 'two different credentials were sent, or one header of a credential twice' },
};
/** What a pod's variables have for a key. */
const STANDS_IN: RefusalDetail = {
  text: `${SENTINEL} stands for a key only on the way to a host that a credential is bound to, or to the base URL of the pod’s relay`,
  remedy: 'send the run token itself here, or set the client’s base URL to the relay’s, as pod env prints it',
};
const GEMINI_PATH = /^\/v1(?:alpha|beta)\//;
const LOOPBACK_NAMES = ['localhost', '127.0.0.1', '[::1]'];
const WILDCARDS: ReadonlySet<string> = new Set(['0.0.0.0', '::']);
const SERVER_OPTIONS = {
  maxHeaderSize: 32 * 1024,
  headersTimeout: 10_000,
  /** A body has its own: a large one over a slow line takes what it takes, while it brings something. */
  requestTimeout: 0,
  connectionsCheckingInterval: 1_000,
  keepAliveTimeout: 65_000,
  noDelay: true,
  requireHostHeader: true,
  // curl offers h2c with every request and takes HTTP/1.1 for an answer; a WebSocket client waits for a refusal.
  shouldUpgradeCallback: ({ headers }: { headers: { upgrade?: string | undefined } }): boolean =>
    !/^h2c$/i.test(headers.upgrade ?? ''),
};

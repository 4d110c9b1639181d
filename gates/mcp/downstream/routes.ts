/** The paths of MCP: one for each server that the session's manifest declares, and one for all of them as one. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { contentCoding } from '../../act/headers.ts';
import { isRefusal, openWay } from '../../come-in.ts';
import type { Gate } from '../../gate.ts';
import { authenticate, refuse, runOf } from '../../listen.ts';
import { readBody } from '../../read/body.ts';
import type { RefusalReason } from '../../reasons.ts';
import type { Arrival, Downstream } from './context.ts';
import { readHeader } from './head.ts';
import { endSession } from './legacy.ts';
import { findSession } from './legacy-session.ts';
import { resumeStream, serveStream } from './legacy-stream.ts';
import { MODERN_VERSION } from './names.ts';
import { judgeOrigin } from './origin.ts';
import { servePost } from './post.ts';

/** @param names the hosts that we answer to */
export function addMcpRoutes(
  app: FastifyInstance,
  gate: Gate,
  down: Downstream,
  names: ReadonlySet<string>,
): void {
  void app.register(async (mcp) => {
    mcp.addHook('onRequest', async (request, reply) => {
      const refused = judgeOrigin(readHeader(request.raw.rawHeaders, 'origin'), names);
      return refused ? refuse(gate, request, reply, refused) : authenticate(gate, request, reply);
    });
    mcp.addHook('preHandler', async (request, reply) =>
      isRefusal(request.body) ? refuse(gate, request, reply, request.body) : undefined,
    );
    for (const url of ['/mcp', '/mcp/:server']) addPath(mcp, gate, down, url);
  });
}

interface Params {
  readonly Params: { readonly server?: string };
}

function addPath(app: FastifyInstance, gate: Gate, down: Downstream, url: string): void {
  const config = { surface: 'mcp' } as const;
  const onRequest = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    const refused = judgePost(request.raw.rawHeaders) ?? (await openWay(gate, request, reply, BODY_BYTES));
    return refused ? refuse(gate, request, reply, refused) : undefined;
  };
  app.post<Params>(url, { config, onRequest }, async (request, reply) => {
    const body = await takeBody(gate, request, reply);
    if (body === 'stopped') return reply.hijack();
    if (typeof body === 'string') return refuse(gate, request, reply, body);
    reply.hijack();
    await servePost(down, arrivalOf(request), body, reply.raw);
    return undefined;
  });
  app.get<Params>(url, { config, exposeHeadRoute: false }, async (request, reply) => {
    if (!namesSession(request)) return refuse(gate, request, reply.header('allow', 'POST'), 'method_refused');
    reply.hijack();
    const arrival = arrivalOf(request);
    const session = await findSession(down, arrival, reply.raw);
    if (!session) return undefined;
    const last = readHeader(arrival.headers, 'last-event-id');
    const resumed = last !== undefined && resumeStream(down, session, last, reply.raw);
    if (!resumed) await serveStream(down, arrival, session, reply.raw);
    return undefined;
  });
  app.delete<Params>(url, { config }, async (request, reply) => {
    if (!namesSession(request)) return refuse(gate, request, reply.header('allow', 'POST'), 'method_refused');
    reply.hijack();
    const session = await findSession(down, arrivalOf(request), reply.raw);
    if (!session) return undefined;
    await endSession(down, session, reply.raw);
    return undefined;
  });
}

/** @returns `stopped` where its caller has left */
async function takeBody(
  { decoding }: Gate,
  request: FastifyRequest,
  { raw: response }: FastifyReply,
): Promise<Buffer | RefusalReason | 'stopped'> {
  const coding = contentCoding(request.raw.rawHeaders);
  const sent = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
  request.body = undefined;
  if (coding === '' || coding === 'identity') return sent;
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  const { sub } = request.caller.token.claims;
  return decoding.decode(sub, gone.signal, () => readBody(sent, coding, BODY_BYTES));
}

function arrivalOf(request: FastifyRequest<Params>): Arrival {
  return {
    token: runOf(request),
    server: request.params.server ?? null,
    source: request.ip,
    userAgent: request.headers['user-agent'] ?? '',
    headers: request.raw.rawHeaders,
  };
}

/** Only legacy clients have sessions, and with them other methods than POST. */
function namesSession({ raw: { rawHeaders } }: FastifyRequest): boolean {
  const version = readHeader(rawHeaders, 'mcp-protocol-version');
  return readHeader(rawHeaders, 'mcp-session-id') !== undefined && version !== MODERN_VERSION;
}

function judgePost(headers: readonly string[]): RefusalReason | null {
  if (!JSON_TYPE.test(readHeader(headers, 'content-type') ?? '')) return 'media_type_refused';
  const accept = readHeader(headers, 'accept')?.toLowerCase() ?? '';
  const both = accept.includes('application/json') && accept.includes('text/event-stream');
  return both || accept.includes('*/*') ? null : 'accept_refused';
}

const JSON_TYPE = /^application\/json\s*(?:;|$)/i;
const BODY_BYTES = 4 * 1024 * 1024;

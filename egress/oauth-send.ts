/**
 * Sends a token request as egress reaches every origin: resolved, each address judged, those very addresses dialled, the
 * certificate verified. One request, one connection, no redirect. Where the client's secret leaves.
 */
import { type IncomingMessage, request as requestHttp } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { Allow } from '../core-lite/decision.ts';
import type { Nat64Prefix } from '../core-lite/network/nat64.ts';
import type { OpenNetwork } from '../core-lite/network/open-network.ts';
import { ResolveFailure, type Resolver } from '../core-lite/network/resolve.ts';
import { formatTarget, type Target } from '../core-lite/network/target.ts';
import { Secret } from '../core-lite/secret.ts';
import { OauthFailure } from '../core-lite/vault/oauth-failure.ts';
import type { SendTokenRequest } from '../core-lite/vault/oauth-renewer.ts';
import type { TokenReply, TokenRequest } from '../core-lite/vault/oauth-request.ts';
import { dial } from './act/dial.ts';
import type { OriginTls } from './act/secure-origin.ts';
import { decideTokenName, decideTokenRequest } from './decide/token-request.ts';
import { ParentFailure } from './parent/failure.ts';
import type { Parent } from './parent/parent.ts';

export interface TokenRoute {
  readonly resolver: Resolver;
  readonly openNetworks: readonly OpenNetwork[];
  readonly nat64Prefixes: readonly Nat64Prefix[];
  readonly originTls: OriginTls;
  readonly parent: Parent | null;
}

export function makeTokenSender(route: TokenRoute): SendTokenRequest {
  return async (request, signal) => {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(LIMIT_MS)]);
    const secured = await reach(route, request.url.target, limit);
    if (secured instanceof OauthFailure) return secured;
    try {
      return await exchange(secured, request, limit);
    } catch {
      // Its message may repeat what was sent.
      return new OauthFailure('OAUTH_UNREACHABLE');
    } finally {
      secured.destroy();
    }
  };
}

async function reach(route: TokenRoute, target: Target, signal: AbortSignal): Promise<Duplex | OauthFailure> {
  const socket = await (route.parent
    ? throughParent(route.parent, target, signal)
    : dialDirect(route, target, signal));
  if (socket instanceof OauthFailure) return socket;
  const scope = `oauth ${formatTarget(target)}`;
  const secured = await route.originTls.secure(socket, target.host, ['http/1.1'], scope, signal);
  if (!('refusal' in secured)) return secured;
  socket.destroy();
  return new OauthFailure(
    secured.refusal === 'origin_certificate' ? 'OAUTH_CERTIFICATE' : 'OAUTH_UNREACHABLE',
  );
}

/** As for every origin: nothing goes past the parent. */
async function throughParent(
  parent: Parent,
  target: Target,
  signal: AbortSignal,
): Promise<Socket | OauthFailure> {
  const decision = decideTokenName(target);
  if (!(decision instanceof Allow)) return new OauthFailure('OAUTH_ADDRESS_REFUSED');
  const socket = await parent.tunnel(decision, target, signal);
  return socket instanceof ParentFailure ? new OauthFailure('OAUTH_UNREACHABLE') : socket;
}

async function dialDirect(
  { resolver, openNetworks, nat64Prefixes }: TokenRoute,
  target: Target,
  signal: AbortSignal,
): Promise<Socket | OauthFailure> {
  const addresses = await resolver.resolve(target.host, signal).catch((error: unknown) => {
    if (signal.aborted || error instanceof ResolveFailure) return [];
    throw error;
  });
  if (addresses.length === 0) return new OauthFailure('OAUTH_UNREACHABLE');
  const { decision, allowed } = decideTokenRequest({ target, addresses, openNetworks, nat64Prefixes });
  if (!(decision instanceof Allow)) return new OauthFailure('OAUTH_ADDRESS_REFUSED');
  const dialled = await dial(decision, allowed, target.port, signal);
  return dialled?.socket ?? new OauthFailure('OAUTH_UNREACHABLE');
}

async function exchange(secured: Duplex, request: TokenRequest, signal: AbortSignal): Promise<TokenReply> {
  const { target } = request.url;
  const body = Buffer.from(request.form.reveal());
  const outgoing = requestHttp({
    createConnection: () => secured,
    method: 'POST',
    path: request.path,
    signal,
    maxHeaderSize: MAX_HEAD_BYTES,
    setDefaultHeaders: false,
    headers: {
      Host: target.port === 443 ? target.host : formatTarget(target),
      Accept: 'application/json',
      'Content-Type': 'application/x-www-form-urlencoded',
      'Content-Length': body.length,
      ...(request.authorization ? { Authorization: request.authorization.reveal() } : {}),
      'User-Agent': 'sallyport',
      Connection: 'close',
    },
  });
  const answered = Promise.withResolvers<IncomingMessage>();
  outgoing.once('response', answered.resolve);
  // Stays: a late error without a listener would end the process.
  outgoing.on('error', answered.reject);
  outgoing.end(body);
  const answer = await answered.promise;
  const after = answer.headers['retry-after'] ?? '';
  return {
    status: answer.statusCode ?? 0,
    retryAfterS: /^[0-9]{1,6}$/.test(after) ? Number(after) : 0,
    body: await readBody(answer),
  };
}

/** Nothing where it is too large, which is no answer that anybody reads. Rejects where it breaks off. */
async function readBody(answer: IncomingMessage): Promise<Secret> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of answer) {
    bytes += (chunk as Buffer).length;
    if (bytes > MAX_BODY_BYTES) return new Secret('');
    chunks.push(chunk as Buffer);
  }
  return new Secret(Buffer.concat(chunks).toString('utf8'));
}

/** For everything: resolving, dialling, TLS and the answer. */
const LIMIT_MS = 10_000;
const MAX_HEAD_BYTES = 16 * 1024;
const MAX_BODY_BYTES = 64 * 1024;

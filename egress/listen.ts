/**
 * Stage 1: listens, reads a CONNECT strictly, hands it on, and answers what is refused. A bare `node:http` server:
 * its parser reads the head, everything that its parser lets pass and should not is refused here, from the raw
 * headers. Nothing is decided here.
 */
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { Socket } from 'node:net';
import { parseTarget } from '../core-lite/network/target.ts';
import type { RefusalReason } from '../core-lite/reasons.ts';
import { refuse } from './act/refuse.ts';
import type { Arrival } from './gate.ts';
import type { Refused } from './handle-connect.ts';

export interface Handlers {
  /** Serves a CONNECT; resolves to why not, or `null` after its tunnel. Never rejects. */
  readonly connect: (arrival: Arrival) => Promise<Refused | null>;
  /** Told of every refusal that never came to be a CONNECT. */
  readonly refused: (source: string, reason: RefusalReason) => void;
}

/** A proxy listener that is not listening yet. */
export function makeListener(handlers: Handlers): Server {
  const server = createServer({
    maxHeaderSize: MAX_HEAD_BYTES,
    headersTimeout: HEAD_LIMIT_MS,
    requestTimeout: 0,
    connectionsCheckingInterval: HEAD_CHECK_MS,
    requireHostHeader: false,
    noDelay: true,
    keepAlive: true,
  });
  // The parser drops headers beyond a count silently; here they are counted and refused.
  server.maxHeadersCount = 0;
  server.on('connect', (request, socket: Socket, head) => {
    void serveConnect(server, handlers, request, socket, head);
  });
  // Node answers an `Expect` by itself unless it is listened for.
  for (const event of ['request', 'checkContinue', 'checkExpectation']) {
    server.on(event, (request: IncomingMessage) => refuseRequest(handlers, request));
  }
  server.on('clientError', (error, socket) => refuseBroken(handlers, error, socket as Socket));
  return server;
}

async function serveConnect(
  server: Server,
  handlers: Handlers,
  request: IncomingMessage,
  socket: Socket,
  head: Buffer,
): Promise<void> {
  // The parser has let go of the socket: without a listener of ours an error would end the process.
  socket.on('error', ignore);
  const source = socket.remoteAddress ?? 'unknown';
  const read = readConnect(request);
  if (typeof read === 'string') {
    handlers.refused(source, read);
    refuse(socket, { reason: read, connectionId: null, keepAlive: false });
    return;
  }
  const refused = await handlers.connect({ socket, head, source, ...read });
  if (!refused) return;
  const keepAlive = mayAskAgain(request, socket, refused.reason);
  refuse(socket, { ...refused, keepAlive });
  if (keepAlive) listenAgain(server, socket, head);
}

/** The target and the credential of a CONNECT, or why it is malformed. Read from the raw headers: Node joins some. */
function readConnect(request: IncomingMessage): Pick<Arrival, 'target' | 'credential'> | RefusalReason {
  const seen = new Map<string, string[]>();
  const raw = request.rawHeaders;
  if (raw.length > MAX_HEADERS * 2) return 'request_malformed';
  for (let i = 0; i < raw.length; i += 2) {
    const name = (raw[i] ?? '').toLowerCase();
    if (!READ_HEADERS.has(name)) continue;
    seen.set(name, [...(seen.get(name) ?? []), raw[i + 1] ?? '']);
  }
  const hosts = seen.get('host')?.length ?? 0;
  const credentials = seen.get('proxy-authorization') ?? [];
  const minor = request.httpVersion;
  // RFC 9112 3.2: HTTP/1.1 has one Host; some small clients send CONNECT as HTTP/1.0 without one.
  const framed = (minor === '1.1' && hosts === 1) || (minor === '1.0' && hosts <= 1);
  // RFC 9110 9.3.6: a CONNECT has no content. A length would make two readers see two different streams.
  const body = seen.has('content-length') || seen.has('transfer-encoding');
  if (!framed || body || credentials.length > 1) return 'request_malformed';
  const target = parseTarget(request.url ?? '');
  return target ? { target, credential: credentials[0] } : 'target_malformed';
}

/**
 * git, Java and others ask without a token first and again, with it, on the same connection. Whoever sent one that is
 * refused is told that it is final: some clients wait for the close.
 */
function mayAskAgain(request: IncomingMessage, socket: Socket, reason: RefusalReason): boolean {
  const asked = ATTEMPTS.get(socket) ?? 0;
  ATTEMPTS.set(socket, asked + 1);
  return (
    reason === 'token_missing' && request.httpVersion === '1.1' && asked < MAX_ATTEMPTS && socket.writable
  );
}

function listenAgain(server: Server, socket: Socket, head: Buffer): void {
  socket.removeListener('error', ignore);
  if (head.length > 0) socket.unshift(head);
  server.emit('connection', socket);
}

/** Anything but a CONNECT. */
function refuseRequest(handlers: Handlers, request: IncomingMessage): void {
  const { socket } = request;
  // A body that nobody reads would stop the socket before its end is seen.
  request.resume();
  // One that was sent behind a refused one.
  if (socket.writableEnded) return;
  handlers.refused(socket.remoteAddress ?? 'unknown', 'method_refused');
  refuse(socket, { reason: 'method_refused', connectionId: null, keepAlive: false });
}

/** What is not HTTP, is too large, or came too slowly. */
function refuseBroken(handlers: Handlers, error: Error & { code?: string }, socket: Socket): void {
  // Refused already: what it still sends is no request either, and is read only to be dropped.
  if (socket.destroyed || socket.writableEnded) return;
  if (error.code === 'ECONNRESET' || error.code === 'EPIPE') {
    socket.destroy();
    return;
  }
  handlers.refused(socket.remoteAddress ?? 'unknown', 'request_malformed');
  refuse(socket, { reason: 'request_malformed', connectionId: null, keepAlive: false });
}

function ignore(): void {}

/** How often a socket was asked on; gone with the socket. */
const ATTEMPTS = new WeakMap<Socket, number>();
const MAX_ATTEMPTS = 4;
const READ_HEADERS = new Set(['host', 'proxy-authorization', 'content-length', 'transfer-encoding']);
/** The figures: header blocks to 64 KiB, and 10 s to send one. */
const MAX_HEAD_BYTES = 64 * 1024;
const HEAD_LIMIT_MS = 10_000;
const HEAD_CHECK_MS = 1_000;
const MAX_HEADERS = 200;

/**
 * An origin that serves every kind of client: pages, a git repository, the registries of npm and PyPI, model APIs,
 * WebSockets and gRPC, over HTTP/1.1 and HTTP/2. It shows a certificate for whichever name it is asked for, and notes
 * what each request carried. It never sends a credential back.
 */
import type { IncomingMessage } from 'node:http';
import { createSecureServer, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { createSecureContext } from 'node:tls';
import { WebSocketServer } from 'ws';
import { type Authority, makeAuthority, openAuthority } from '../../certs/authority.ts';
import { issueLeaf } from '../../certs/leaf.ts';

/** One request as it came. */
interface Seen {
  readonly host: string;
  readonly path: string;
  readonly authorization: string | undefined;
  readonly apiKey: string | undefined;
}

export interface ClientOrigin {
  readonly port: number;
  readonly caPem: string;
  readonly seen: Seen[];
  close(): Promise<void>;
}

/** By path; for all but gRPC and WebSockets, whose answers are made. */
export type Pages = ReadonlyMap<string, Buffer>;

export async function startClientOrigin(pages: Pages): Promise<ClientOrigin> {
  const authority = openAuthority(makeAuthority({ name: 'Test origin of clients', now: new Date() }));
  const { certificatePem: cert, keyPem: key } = issueLeaf(authority, 'localhost', new Date());
  const seen: Seen[] = [];
  const sockets = new Set<Socket>();
  const server = createSecureServer({ cert, key, allowHTTP1: true, SNICallback: leafFor(authority) });
  server.on('connection', (socket: Socket) => sockets.add(socket));
  server.on('request', (request, response) => {
    seen.push(note(request));
    request.resume().once('end', () => answer(pages, request, response));
  });
  const webSockets = new WebSocketServer({ noServer: true });
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    seen.push(note(request));
    webSockets.handleUpgrade(request, socket, head, (peer) =>
      peer.on('message', (data) => peer.send(String(data))),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    caPem: authority.certificatePem,
    seen,
    close: () => {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

function leafFor(authority: Authority) {
  return (name: string, done: (error: null, context: ReturnType<typeof createSecureContext>) => void) => {
    const { certificatePem: cert, keyPem: key } = issueLeaf(authority, name, new Date());
    done(null, createSecureContext({ cert, key }));
  };
}

function note({ url = '', headers }: IncomingMessage | Http2ServerRequest): Seen {
  const named = headers[':authority'] ?? headers.host;
  return {
    host: String(named).split(':')[0] ?? '',
    path: url,
    authorization: headers.authorization,
    apiKey: headers['x-api-key']?.toString(),
  };
}

function answer(pages: Pages, { url, headers }: Http2ServerRequest, response: Http2ServerResponse): void {
  const named = headers[':authority'] ?? headers.host;
  if (headers['content-type'] === 'application/grpc') {
    response.setHeader('content-type', 'application/grpc');
    response.addTrailers({ 'grpc-status': '0' });
    response.end(frame('hello by gRPC'));
    return;
  }
  const page = pages.get(new URL(url, ITSELF).pathname);
  if (page === undefined) {
    response.writeHead(404).end();
    return;
  }
  const json = page[0] === BRACE;
  response.setHeader('content-type', json ? 'application/json' : 'text/html');
  response.end(json ? page.toString().replaceAll(ITSELF, `https://${named}`) : page);
}

/** A message as gRPC has it: not compressed, its length, its bytes. */
function frame(text: string): Buffer {
  const message = Buffer.from(text);
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

/** Stands in JSON for the origin's own URL, by the name that it was asked for. */
export const ITSELF = 'https://itself.invalid';
const BRACE = '{'.charCodeAt(0);

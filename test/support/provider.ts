/** A scripted provider of models, or an HTTP tool: real sockets, TLS from a CA made in the test. */
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { Server, Socket } from 'node:net';
import { makeAuthority, openAuthority } from '../../certs/authority.ts';
import { issueLeaf } from '../../certs/leaf.ts';

/** One request as it came. */
export interface Asked {
  readonly method: string;
  readonly path: string;
  /** Name, value, name, value. */
  readonly rawHeaders: readonly string[];
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

export type Behaviour = (asked: Asked, response: ServerResponse, socket: Socket) => void;

export interface Provider {
  readonly host: string;
  readonly port: number;
  /** PEM; `null` where it speaks plain HTTP. */
  readonly caPem: string | null;
  readonly asked: Asked[];
  /** Connections that are open now. */
  readonly open: number;
  /** What it does with the next requests. */
  behave: Behaviour;
  close(): Promise<void>;
}

export async function startProvider(host: string, { plain = false } = {}): Promise<Provider> {
  const now = new Date();
  const authority = openAuthority(makeAuthority({ name: `Test provider ${host}`, now }));
  const leaf = issueLeaf(authority, host, now);
  const asked: Asked[] = [];
  const sockets = new Set<Socket>();
  const serve = (request: IncomingMessage, response: ServerResponse): void => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method = '', url: path = '', rawHeaders, headers } = request;
      const one = { method, path, rawHeaders, headers, body: Buffer.concat(chunks) };
      asked.push(one);
      provider.behave(one, response, request.socket);
    });
  };
  const server: Server = plain
    ? createHttpServer(serve)
    : createHttpsServer({ cert: leaf.certificatePem, key: leaf.keyPem }, serve);
  server.on(plain ? 'connection' : 'secureConnection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => {}).once('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const provider: Provider = {
    host,
    port: typeof address === 'object' && address !== null ? address.port : 0,
    caPem: plain ? null : authority.certificatePem,
    asked,
    get open() {
      return sockets.size;
    },
    behave: (_asked, response) => {
      response.end('{}');
    },
    close: () => {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
  return provider;
}

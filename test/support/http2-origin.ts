/**
 * An HTTP/2 origin on loopback with TLS, which also takes HTTP/1.1 where the test says so. What it answers is the
 * test's: a handler for each stream, which sees the raw headers.
 */
import {
  createSecureServer,
  type Http2SecureServer,
  type SecureServerOptions,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { Socket } from 'node:net';
import { makeAuthority, openAuthority } from '../../certs/authority.ts';
import { issueLeaf } from '../../certs/leaf.ts';

interface Asked {
  readonly stream: ServerHttp2Stream;
  /** Names and values in turns, as they came. */
  readonly raw: readonly string[];
  readonly flags: number;
}

export interface Http2Origin {
  readonly port: number;
  readonly caPem: string;
  readonly server: Http2SecureServer;
  /** Open sessions, oldest first. */
  readonly sessions: readonly ServerHttp2Session[];
  /** Serves each stream from now on. */
  serve(handler: (asked: Asked) => void): void;
  close(): Promise<void>;
}

export async function startHttp2Origin(
  name: string,
  options: SecureServerOptions = {},
): Promise<Http2Origin> {
  const authority = openAuthority(makeAuthority({ name: `Test origin ${name}`, now: new Date() }));
  const leaf = issueLeaf(authority, name, new Date());
  const sockets = new Set<Socket>();
  const sessions: ServerHttp2Session[] = [];
  let handler: (asked: Asked) => void = ({ stream }) => stream.close(2);
  const server = createSecureServer({ cert: leaf.certificatePem, key: leaf.keyPem, ...options });
  server.on('connection', (socket) => sockets.add(socket));
  server.on('session', (session) => {
    sessions.push(session);
    session.on('error', () => {});
    session.once('close', () => sessions.splice(sessions.indexOf(session), 1));
  });
  server.on('stream', (stream: ServerHttp2Stream, _headers: unknown, flags: number, raw: string[]) => {
    stream.on('error', () => {});
    handler({ stream, raw, flags });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    caPem: authority.certificatePem,
    server,
    sessions,
    serve: (next) => {
      handler = next;
    },
    close: () => {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

/** A TLS server on loopback that shows a LeafCache's contexts, and a client that verifies it. */
import { once } from 'node:events';
import { createServer as createPlainServer, type Server } from 'node:net';
import { type ConnectionOptions, connect, createServer, TLSSocket } from 'node:tls';
import type { LeafCache } from '../../certs/leaf-cache.ts';

export type TestServer = {
  readonly port: number;
  /** The error codes of the handshakes that the server refused. */
  readonly refusals: readonly string[];
  close(): Promise<void>;
};

/** Serves whatever host SNI asks for, sends `hello` and ends. */
export function serve(cache: LeafCache): Promise<TestServer> {
  const refusals: string[] = [];
  const server = createServer(
    { ...cache.serverOptions, SNICallback: (host, done) => done(null, cache.contextFor(host, new Date())) },
    (socket) => socket.on('error', () => socket.destroy()).end('hello'),
  );
  server.on('tlsClientError', (error) => refusals.push(codeOf(error)));
  return listen(server, refusals);
}

/**
 * Serves one host to clients that send no SNI: each connection is wrapped by hand, so its context is the
 * server's.
 */
export function serveOneHost(cache: LeafCache, host: string): Promise<TestServer> {
  const refusals: string[] = [];
  const server = createPlainServer((plain) => {
    const secureContext = cache.contextFor(host, new Date());
    const socket = new TLSSocket(plain, { isServer: true, secureContext });
    socket.on('error', (error) => refusals.push(codeOf(error)));
    // Data that waits for a handshake which then fails would hide the handshake's error behind its own.
    socket.once('secure', () => socket.end('hello'));
  });
  return listen(server, refusals);
}

export type Handshake = {
  readonly protocol: string | null;
  readonly cipher: string;
  readonly resumed: boolean;
  /** Whether the server sent its leaf's issuer too. */
  readonly sentIssuer: boolean;
  readonly session: Buffer | undefined;
};

/** One whole connection. Rejects with the client's error when the handshake or the verification fails. */
export async function shakeHands(port: number, options: ConnectionOptions): Promise<Handshake> {
  const socket = connect({ host: '127.0.0.1', port, ...options });
  let session: Buffer | undefined;
  socket.on('session', (ticket: Buffer) => {
    session = ticket;
  });
  socket.resume();
  await once(socket, 'secureConnect');
  const facts = {
    protocol: socket.getProtocol(),
    cipher: socket.getCipher().name,
    resumed: socket.isSessionReused(),
    sentIssuer: socket.getPeerX509Certificate()?.issuerCertificate !== undefined,
  };
  await once(socket, 'end');
  socket.destroy();
  return { ...facts, session };
}

function codeOf(error: Error): string {
  return 'code' in error ? String(error.code) : error.message;
}

async function listen(server: Server, refusals: readonly string[]): Promise<TestServer> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return {
    port: address.port,
    refusals,
    close: async () => {
      server.close();
      await once(server, 'close');
    },
  };
}

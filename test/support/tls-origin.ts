/**
 * A TLS origin on loopback whose answers are scripted by the test: raw bytes in, raw bytes out, so that what passed can be
 * compared to the letter. It has a CA of its own, made as the product makes its own.
 */
import { createServer, type TLSSocket } from 'node:tls';
import { makeAuthority, openAuthority } from '../../certs/authority.ts';
import { issueLeaf } from '../../certs/leaf.ts';
import { Peer } from './client.ts';

export interface TlsOrigin {
  readonly port: number;
  readonly caPem: string;
  /** Connections that came, oldest first. */
  readonly peers: readonly Peer[];
  /** The next connection that comes, or came and was not taken yet. */
  next(): Promise<Peer>;
  /** Connections that came and were not taken are of no interest any more. */
  forget(): void;
  close(): Promise<void>;
}

export interface TlsOriginOptions {
  /** Whose name the certificate bears. */
  readonly name: string;
  /** When the certificate is made; long ago for an expired one. */
  readonly issuedAt?: Date;
  /** Whether it still writes after its caller has finished. */
  readonly halfOpen?: boolean;
}

export async function startTlsOrigin({
  name,
  issuedAt = new Date(),
  halfOpen = false,
}: TlsOriginOptions): Promise<TlsOrigin> {
  const authority = openAuthority(makeAuthority({ name: `Test origin ${name}`, now: issuedAt }));
  const leaf = issueLeaf(authority, name, issuedAt);
  const peers: Peer[] = [];
  const arrived: Peer[] = [];
  const waiting: ((peer: Peer) => void)[] = [];
  const sockets = new Set<TLSSocket>();
  const server = createServer(
    { cert: leaf.certificatePem, key: leaf.keyPem, allowHalfOpen: halfOpen },
    (socket) => {
      sockets.add(socket);
      const peer = new Peer(socket);
      peers.push(peer);
      const waiter = waiting.shift();
      if (waiter) waiter(peer);
      else arrived.push(peer);
    },
  );
  server.on('tlsClientError', () => {});
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    caPem: authority.certificatePem,
    peers,
    next: () => {
      const peer = arrived.shift();
      return peer ? Promise.resolve(peer) : new Promise((resolve) => waiting.push(resolve));
    },
    forget: () => {
      arrived.length = 0;
      waiting.length = 0;
    },
    close: () => {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

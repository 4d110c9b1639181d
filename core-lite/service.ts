/** A service that runs in this process, and how one listens. */
import type { Server } from 'node:net';
import { Fault } from './errors.ts';
import type { ListenAddress } from './setting-kinds.ts';

export interface Service {
  /** Where it listens, for a line to print. */
  readonly address: ListenAddress;
  /** Stops taking new work, lets what runs finish for a while, gives back what it holds. */
  close(): Promise<void>;
}

/** Turns what a listener throws into a Fault `port_taken` where that is what it is. */
export function translateListenError(error: unknown, address: ListenAddress): unknown {
  const code = (error as { code?: unknown } | null)?.code;
  if (code !== 'EADDRINUSE' && code !== 'EACCES' && code !== 'EADDRNOTAVAIL') return error;
  const why = code === 'EADDRINUSE' ? 'is taken' : 'cannot be listened on';
  return new Fault('port_taken', `${formatAddress(address)} ${why}`, error);
}

/** Where a server that listens was bound: the port that the system chose where port 0 was asked. */
export function boundAddress(server: Server, asked: ListenAddress): ListenAddress {
  const bound = server.address();
  return bound && typeof bound === 'object' ? { host: asked.host, port: bound.port } : asked;
}

export function formatAddress({ host, port }: ListenAddress): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

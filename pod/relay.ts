/**
 * The relay of one run: a pair of listeners on loopback, a proxy and a base URL for models, on ports that the system
 * chooses. It holds the run's tokens so that the workload need not: a process that lives for days never holds one and
 * never sees one expire.
 */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Address } from './forward.ts';
import { makeModelSide } from './model-side.ts';
import { makeProxySide } from './proxy-side.ts';

export interface RelayOptions {
  /** What clients show, as a proxy password and as an API key. */
  readonly secret: string;
  readonly egress: Address;
  readonly gates: Address;
  /** The tokens to use now. */
  readonly egressToken: () => string;
  readonly runToken: () => string;
}

export interface Relay {
  readonly proxyPort: number;
  readonly modelPort: number;
  /** Stops listening and breaks off what is open. */
  close(): Promise<void>;
}

/** Rejects where loopback cannot be listened on; then nothing is left open. */
export async function startRelay(options: RelayOptions): Promise<Relay> {
  const { secret, egress, gates, egressToken, runToken } = options;
  const proxy = await listen(makeProxySide({ secret, egress, token: egressToken }));
  try {
    const model = await listen(makeModelSide({ secret, gates, token: runToken }));
    return {
      proxyPort: proxy.port,
      modelPort: model.port,
      close: async () => {
        await Promise.all([proxy.close(), model.close()]);
      },
    };
  } catch (error) {
    await proxy.close();
    throw error;
  }
}

interface Listening {
  readonly port: number;
  close(): Promise<void>;
}

async function listen(server: Server): Promise<Listening> {
  const sockets = new Set<Socket>();
  // A socket that was asked on comes again.
  server.on('connection', (socket: Socket) => {
    if (sockets.has(socket)) return;
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  server.on('clientError', (_error, socket) => {
    if (socket.writable && !socket.writableEnded) socket.end(MALFORMED);
    else socket.destroy();
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const bound = server.address();
  return {
    port: typeof bound === 'object' && bound !== null ? bound.port : 0,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

/** To what is no HTTP. */
const MALFORMED = 'HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n';

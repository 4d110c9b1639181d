/**
 * The relay of one run: listeners on loopback, on ports that the system chooses: a proxy, a base URL for models, and,
 * where the kernel can prove whose a client is, the proxy once more without a password. It holds the run's tokens so that the workload need not: a process that lives for days never holds one and
 * never sees one expire.
 */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Address } from './forward.ts';
import { makeModelSide } from './model-side.ts';
import { makeOwnUserSide } from './own-user-side.ts';
import type { ProveOwnUser } from './peer-user.ts';
import { admitBySecret, makeProxySide } from './proxy-side.ts';

export interface RelayOptions {
  /** What clients show, as a proxy password and as an API key. */
  readonly secret: string;
  readonly egress: Address;
  readonly gates: Address;
  /** The tokens to use now. */
  readonly egressToken: () => string;
  readonly runToken: () => string;
  /** How a client is known for our own user's; without it there is no listener that asks for no password. */
  readonly proveOwnUser?: ProveOwnUser | null;
}

export interface Relay {
  readonly proxyPort: number;
  readonly modelPort: number;
  /** A proxy that asks our own user's programs for no password; `null` where that cannot be proved. */
  readonly ownUserPort: number | null;
  /** Stops listening and breaks off what is open. */
  close(): Promise<void>;
}

/** Rejects where loopback cannot be listened on; then nothing is left open. */
export async function startRelay(options: RelayOptions): Promise<Relay> {
  const { secret, egress, gates, egressToken, runToken, proveOwnUser } = options;
  const side = { egress, token: egressToken };
  const open: Listening[] = [];
  const start = async (server: Server): Promise<number> => {
    const listening = await listen(server);
    open.push(listening);
    return listening.port;
  };
  const close = async (): Promise<void> => {
    await Promise.all(open.map((listening) => listening.close()));
  };
  try {
    return {
      proxyPort: await start(makeProxySide({ ...side, admit: admitBySecret(secret) })),
      modelPort: await start(makeModelSide({ secret, gates, token: runToken })),
      ownUserPort: proveOwnUser ? await start(makeOwnUserSide(side, proveOwnUser)) : null,
      close,
    };
  } catch (error) {
    await close();
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

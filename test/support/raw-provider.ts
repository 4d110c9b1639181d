/** A provider that is a script of bytes on plain sockets: for what no HTTP server can be brought to do. */
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';

export interface RawProvider {
  readonly host: string;
  readonly port: number;
  readonly caPem: null;
  /** Every connection that there was. */
  readonly connections: Socket[];
  /** How many came. */
  requests: number;
  onConnection: (socket: Socket) => void;
  /** A request is there. @param nth on its connection, from 1 on */
  onRequest: (socket: Socket, nth: number) => void;
  close(): Promise<void>;
}

export async function startRawProvider(host = 'raw.test'): Promise<RawProvider> {
  const connections: Socket[] = [];
  const server = createServer((socket) => {
    connections.push(socket);
    socket.setNoDelay(true).on('error', () => {});
    provider.onConnection(socket);
    countRequests(socket, (nth) => {
      provider.requests += 1;
      provider.onRequest(socket, nth);
    });
  });
  const provider: RawProvider = {
    host,
    port: await listen(server),
    caPem: null,
    connections,
    requests: 0,
    onConnection: () => {},
    onRequest: () => {},
    close: () => {
      for (const socket of connections) socket.destroy();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
  return provider;
}

/** A request is there once its JSON has ended: none is sent before the one ahead is answered. */
function countRequests(socket: Socket, onRequest: (nth: number) => void): void {
  let nth = 0;
  socket.on('data', (chunk) => {
    if (chunk.at(-1) !== BRACE) return;
    nth += 1;
    onRequest(nth);
  });
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

const BRACE = '}'.charCodeAt(0);

/** Origins on loopback. Each counts who reached it, and hands its callers to the test one by one. */
import { createServer, type Server, type Socket } from 'node:net';
import { Peer } from './client.ts';

export interface Origin {
  readonly port: number;
  /** Connections so far. */
  readonly reached: number;
  /** Connections that are open now. */
  readonly open: number;
  /** The next caller that no test has taken; what an origin without a behaviour does is the test's to say. */
  accept(): Promise<Peer>;
  close(): Promise<void>;
}

export interface OriginOptions {
  readonly host?: string;
  readonly port?: number;
  /** What it does with a caller by itself. */
  readonly behave?: (socket: Socket) => void;
}

/** Without a behaviour it takes what comes and says nothing. Half-open connections stay as they are. */
export async function startOrigin({
  host = '127.0.0.1',
  port = 0,
  behave,
}: OriginOptions = {}): Promise<Origin> {
  const waiting: Socket[] = [];
  const takers: ((socket: Socket) => void)[] = [];
  const sockets = new Set<Socket>();
  let reached = 0;
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    reached += 1;
    sockets.add(socket);
    socket.on('error', () => {}).once('close', () => sockets.delete(socket));
    if (behave) return behave(socket);
    const taker = takers.shift();
    if (taker) taker(socket);
    else waiting.push(socket);
  });
  const bound = await listen(server, port, host);
  return {
    port: bound,
    get reached() {
      return reached;
    },
    get open() {
      return sockets.size;
    },
    accept: () => takeCaller(waiting, takers),
    close: () => {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

/** Sends back what it gets, and ends when its caller has. */
export function echo(socket: Socket): void {
  socket.pipe(socket);
}

/** A port on which nothing listens. */
export async function freePort(host = '127.0.0.1'): Promise<number> {
  const server = createServer();
  const port = await listen(server, 0, host);
  await new Promise((resolve) => server.close(resolve));
  return port;
}

function takeCaller(waiting: Socket[], takers: ((socket: Socket) => void)[]): Promise<Peer> {
  const held = waiting.shift();
  if (held) return Promise.resolve(new Peer(held));
  return new Promise((resolve, reject) => {
    const limit = setTimeout(() => reject(new Error('nobody reached the origin')), LIMIT_MS);
    takers.push((socket) => {
      clearTimeout(limit);
      resolve(new Peer(socket));
    });
  });
}

function listen(server: Server, port: number, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      const address = server.address();
      resolve(typeof address === 'object' && address !== null ? address.port : 0);
    });
  });
}

const LIMIT_MS = 5_000;

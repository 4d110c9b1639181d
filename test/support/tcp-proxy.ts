/**
 * A TCP hop before a server, which a test can freeze (nothing moves, nothing is refused: a hung server or a black
 * hole) or cut (connections break and new ones are refused: a server that is down).
 */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface TcpProxy {
  /** `url` with this hop's address in place of its own. */
  readonly through: (url: string) => string;
  freeze(): void;
  onFreeze(listener: () => void): void;
  thaw(): void;
  /** Breaks every connection; new ones are refused until `mend()`. */
  cut(): Promise<void>;
  mend(): Promise<void>;
  close(): Promise<void>;
}

/** @param freezeAt freezes when a client sends this text, which then never arrives */
export async function startTcpProxy(target: string, freezeAt?: string): Promise<TcpProxy> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  let frozen = false;
  let told = (): void => {};
  const join = (from: Socket, to: Socket): void => {
    sockets.add(from);
    from.on('data', (chunk) => {
      if (!frozen) to.write(chunk);
    });
    from.on('error', () => {});
    from.on('close', () => {
      sockets.delete(from);
      to.destroy();
    });
    if (frozen) from.pause();
  };
  const server = createServer((client) => {
    client.on('data', (chunk) => {
      if (freezeAt === undefined || !chunk.includes(freezeAt)) return;
      freezeAt = undefined;
      freeze();
    });
    const upstream = connect(Number(port), hostname);
    join(client, upstream);
    join(upstream, client);
  });
  const freeze = (): void => {
    frozen = true;
    for (const socket of sockets) socket.pause();
    told();
  };
  const listen = async (at: number): Promise<number> => {
    server.listen(at, '127.0.0.1');
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  };
  const cut = async (): Promise<void> => {
    const closed = new Promise((resolve) => server.close(resolve));
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  const own = await listen(0);
  return {
    through: (url) => Object.assign(new URL(url), { host: `127.0.0.1:${own}` }).href,
    freeze,
    onFreeze: (listener) => {
      told = listener;
    },
    thaw: () => {
      frozen = false;
      for (const socket of sockets) socket.resume();
    },
    cut,
    mend: async () => void (await listen(own)),
    close: cut,
  };
}

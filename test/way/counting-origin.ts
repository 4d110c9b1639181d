/**
 * An echoing origin that says which address each of its connections came in on. It listens on every loopback address
 * (Linux has all of 127.0.0.0/8), so a name with an address of its own is told from every other name at the moment
 * when its connection is accepted: before a byte, and whatever happens to the proxy right after.
 */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface CountingOrigin {
  readonly port: number;
  /** The local address of each connection that was accepted, in order. */
  readonly accepted: readonly string[];
  /** Called at each accepted connection, before anything else happens. */
  onAccept: (address: string) => void;
  /** Resolves when every connection that was made until now has been accepted here. */
  settle(): Promise<void>;
  /** Forgets what was accepted so far. */
  forget(): void;
  close(): Promise<void>;
}

export async function startCountingOrigin(): Promise<CountingOrigin> {
  const arrivals: { readonly address: string; readonly remotePort: number | undefined }[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    const { localAddress: address = '', remotePort } = socket;
    arrivals.push({ address, remotePort });
    origin.onAccept(address);
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => sockets.delete(socket));
    socket.pipe(socket);
  });
  // There is no one address for all of loopback. Whoever else came in would be counted, and fail the test.
  await new Promise<void>((resolve) => server.listen(0, '0.0.0.0', 1024, resolve));
  const { port } = server.address() as AddressInfo;
  const origin: CountingOrigin = {
    port,
    get accepted() {
      return arrivals.map(({ address }) => address);
    },
    onAccept: () => {},
    settle: async () => {
      // Connections are handed over in the order in which they were made: when this one is here, all before it are.
      const last = connect(port, '127.0.0.1');
      await once(last, 'connect');
      const isLast = ({ remotePort }: { readonly remotePort: number | undefined }) =>
        remotePort === last.localPort;
      while (!arrivals.some(isLast)) await once(server, 'connection');
      arrivals.splice(arrivals.findIndex(isLast), 1);
      last.destroy();
    },
    forget: () => arrivals.splice(0),
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return origin;
}

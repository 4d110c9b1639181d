/**
 * Stage 1: listens, and lets no client stay that sends no head in time. A bare TCP server with a reader of our own: a
 * lenient parser drops blanks and joins lines before anyone can refuse them. Nothing is decided here.
 */
import { createServer, type Server, type Socket } from 'node:net';
import type { Server as TlsServer } from 'node:tls';
import { boundAddress, translateListenError } from '../core-lite/service.ts';
import type { ListenAddress } from '../core-lite/setting-kinds.ts';
import { Client, type Handlers } from './client.ts';

export class Listener {
  readonly #server: Server;
  readonly #handlers: Handlers;
  readonly #clients = new Map<Socket, Client>();
  /** Under a TLS server: the sockets below, also those whose TLS has come to be. */
  readonly #raw = new Set<Socket>();
  readonly #failed: (error: Error) => void;
  readonly #sweep: NodeJS.Timeout;

  /**
   * @param failed told when a client could not be accepted; the next ones are
   * @param tls a server that ends TLS before a client is heard
   */
  constructor(handlers: Handlers, failed: (error: Error) => void, tls?: TlsServer) {
    this.#handlers = handlers;
    this.#server = tls ?? createServer({ allowHalfOpen: true, noDelay: true, keepAlive: true });
    this.#server.on(tls ? 'secureConnection' : 'connection', (socket: Socket) => this.#accept(socket));
    if (tls) tls.on('connection', (socket) => this.#await(socket));
    this.#failed = failed;
    this.#sweep = setInterval(() => this.#expire(), SWEEP_MS);
    this.#sweep.unref();
  }

  /** @returns where it listens; rejects with Fault `port_taken` */
  listen(address: ListenAddress): Promise<ListenAddress> {
    return new Promise((resolve, reject) => {
      const onError = (error: Error) => reject(translateListenError(error, address));
      this.#server.once('error', onError);
      this.#server.listen({ ...address, backlog: BACKLOG }, () => {
        this.#server.off('error', onError);
        // Without a listener an error, such as too many open files, would end the process.
        this.#server.on('error', this.#failed);
        resolve(boundAddress(this.#server, address));
      });
    });
  }

  /** No new clients; those go that are not being served. */
  drain(): void {
    this.#server.close();
    for (const [socket, client] of this.#clients) if (client.waits) socket.destroy();
  }

  /** Ends all that is left. */
  async close(): Promise<void> {
    clearInterval(this.#sweep);
    const closed = new Promise((resolve) => this.#server.close(resolve));
    for (const socket of [...this.#clients.keys(), ...this.#raw]) socket.destroy();
    await closed;
  }

  /** Its TLS may never come to be. */
  #await(socket: Socket): void {
    this.#raw.add(socket);
    socket.on('close', () => this.#raw.delete(socket));
  }

  #accept(socket: Socket): void {
    const client = new Client(socket, this.#handlers);
    this.#clients.set(socket, client);
    // An error is followed by a close, which says enough.
    socket.on('error', ignore);
    socket.on('close', () => this.#clients.delete(socket));
    client.listen(NOTHING, Date.now());
  }

  /** One look at all of them costs less than a timer for each. */
  #expire(): void {
    const now = Date.now();
    for (const client of this.#clients.values()) client.expire(now);
  }
}

function ignore(): void {}

const NOTHING = Buffer.alloc(0);
const SWEEP_MS = 1_000;
/** A fleet reconnects at once after a restart. */
const BACKLOG = 1024;

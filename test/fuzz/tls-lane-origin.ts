/**
 * A TLS origin for all lanes: the name in its TLS says which. It keeps every byte, and answers each whole request with
 * a digest of what it was, so that an answer that belongs to another request is known.
 */
import { createHash } from 'node:crypto';
import { createSecureContext, createServer, type SecureContext, type Server, type TLSSocket } from 'node:tls';
import { makeAuthority, openAuthority } from '../../certs/authority.ts';
import { issueLeaf } from '../../certs/leaf.ts';
import type { Lane } from './lanes.ts';
import { type Message, readRequests, STRICT } from './reader.ts';

/** What came on one connection since the lane was watched. */
export interface Arrived {
  bytes: Buffer;
}

/** What it does with a request. @returns what is sent; the connection is closed behind it where `close` is set */
export type Respond = (
  request: Message,
  index: number,
) => { readonly bytes: Buffer; readonly close?: boolean };

export class TlsLaneOrigin {
  readonly caPem: string;
  readonly port: number;
  readonly #server: Server;
  readonly #sockets = new Map<TLSSocket, Connection>();
  readonly #watched = new Map<string, Arrived[]>();
  readonly #respond: Respond;

  private constructor(server: Server, port: number, caPem: string, respond: Respond) {
    this.#server = server;
    this.port = port;
    this.caPem = caPem;
    this.#respond = respond;
    server.on('secureConnection', (socket) => this.#take(socket));
    server.on('tlsClientError', () => {});
  }

  static async start(lanes: readonly Lane[], respond: Respond = answerWithDigest): Promise<TlsLaneOrigin> {
    const now = new Date();
    const authority = openAuthority(makeAuthority({ name: 'Fuzz origins', now }));
    const contexts = new Map<string, SecureContext>();
    for (const { host } of lanes) {
      const leaf = issueLeaf(authority, host, now);
      contexts.set(host, createSecureContext({ cert: leaf.certificatePem, key: leaf.keyPem }));
    }
    const server = createServer({
      ALPNProtocols: ['http/1.1'],
      SNICallback: (name, done) => done(null, contexts.get(name)),
    });
    await new Promise<void>((resolve) => server.listen(0, '0.0.0.0', 1024, resolve));
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    return new TlsLaneOrigin(server, port, authority.certificatePem, respond);
  }

  /** From now on, also on connections that are open. */
  watch(host: string): () => readonly Arrived[] {
    const arrived: Arrived[] = [];
    this.#watched.set(host, arrived);
    return () => arrived;
  }

  close(): Promise<void> {
    for (const socket of this.#sockets.keys()) socket.destroy();
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }

  #take(socket: TLSSocket): void {
    const connection: Connection = { bytes: Buffer.alloc(0), answered: 0, noted: null };
    this.#sockets.set(socket, connection);
    socket.on('error', () => {}).once('close', () => this.#sockets.delete(socket));
    socket.on('data', (chunk: Buffer) => this.#hear(socket, connection, chunk));
  }

  #hear(socket: TLSSocket, connection: Connection, chunk: Buffer): void {
    const watched = this.#watched.get(typeof socket.servername === 'string' ? socket.servername : '');
    if (!watched) return void socket.destroy();
    if (!connection.noted || !watched.includes(connection.noted)) {
      connection.noted = { bytes: Buffer.alloc(0) };
      watched.push(connection.noted);
    }
    connection.noted.bytes = Buffer.concat([connection.noted.bytes, chunk]);
    connection.bytes = Buffer.concat([connection.bytes, chunk]);
    const { messages, restAt } = readRequests(connection.bytes, STRICT);
    connection.bytes = connection.bytes.subarray(restAt);
    for (const message of messages) {
      const { bytes, close } = this.#respond(message, connection.answered);
      connection.answered += 1;
      if (socket.writable) socket.write(bytes);
      if (close) socket.end();
    }
  }
}

interface Connection {
  /** What was not answered yet. */
  bytes: Buffer;
  answered: number;
  noted: Arrived | null;
}

/** What stands for a request in its answer. */
export function digestOf({ first, body }: Pick<Message, 'first' | 'body'>): string {
  const [method, target] = first.split(' ');
  return createHash('sha256').update(`${method} ${target}\n`).update(body).digest('hex').slice(0, 16);
}

export function answerWithDigest(request: Message): { bytes: Buffer } {
  const digest = digestOf(request);
  const chunked = /[0-7]$/.test(digest) && request.first.endsWith('1.1');
  const body = request.first.startsWith('HEAD ')
    ? ''
    : chunked
      ? `10\r\n${digest}\r\n0\r\nX-Trailer: 1\r\n\r\n`
      : digest;
  const framing = chunked ? 'Transfer-Encoding: chunked' : 'Content-Length: 16';
  return { bytes: Buffer.from(`HTTP/1.1 200 OK\r\nX-Of: ${digest}\r\n${framing}\r\n\r\n${body}`) };
}

/** The provider's end of a connection, for a script of bytes: what it sends of an answer's body is kept, to be compared. */
import type { Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';

export class Wire {
  readonly #socket: Socket;
  readonly #arrived: (bytes: number) => Promise<void>;
  readonly #payload: Buffer[] = [];

  /** @param arrived resolves once the caller has so many bytes of the body */
  constructor(socket: Socket, arrived: (bytes: number) => Promise<void>) {
    this.#socket = socket;
    this.#arrived = arrived;
  }

  /** All of the body that was sent. */
  get payload(): Buffer {
    return Buffer.concat(this.#payload);
  }

  /** What is no part of a body. */
  raw(text: string): this {
    this.#socket.write(text);
    return this;
  }

  head(status: string, ...lines: readonly string[]): this {
    return this.raw([`HTTP/1.1 ${status}`, ...lines, '', ''].join('\r\n'));
  }

  /** A part of the body as it is, where its length or the end of the connection frames it. */
  plain(data: string | Buffer): this {
    this.#payload.push(Buffer.from(data));
    this.#socket.write(data);
    return this;
  }

  /** A part of the body in chunked coding. */
  chunk(data: string | Buffer): this {
    const bytes = Buffer.from(data);
    this.#payload.push(bytes);
    this.#socket.cork();
    this.#socket.write(`${bytes.length.toString(16)}\r\n`);
    this.#socket.write(bytes);
    this.#socket.write('\r\n');
    this.#socket.uncork();
    return this;
  }

  /** Part by part, each on its own on the wire. */
  async chunks(parts: Iterable<string | Buffer>): Promise<this> {
    for (const part of parts) {
      this.chunk(part);
      await turn();
    }
    return this;
  }

  last(trailers = ''): void {
    this.raw(`0\r\n${trailers}\r\n`);
  }

  /** Says that nothing more comes. */
  fin(): void {
    this.#socket.end();
  }

  reset(): void {
    this.#socket.resetAndDestroy();
  }

  /** Resolves once the caller has all of the body that was sent. */
  delivered(): Promise<void> {
    return this.#arrived(this.payload.length);
  }

  /** Resolves once nobody is at the other end. */
  left(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#socket.destroyed) resolve();
      else this.#socket.once('close', () => resolve()).resume();
    });
  }
}

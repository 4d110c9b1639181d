/**
 * One end of a TCP connection, in a test's hands: raw bytes out, bytes and heads in, how the other side ended. It is
 * the client of the proxy, and what an origin sees of its caller. Every wait is bounded; nothing sleeps.
 */
import { connect, type Socket } from 'node:net';

export interface Answer {
  readonly status: number;
  /** By lower-case name; repeated ones are joined by a comma. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
  /** Head and body as they came. */
  readonly text: string;
}

export class Peer {
  readonly socket: Socket;
  #chunks: Buffer[] = [];
  #length = 0;
  #ended = false;
  #error: NodeJS.ErrnoException | null = null;
  #closed = false;

  constructor(socket: Socket) {
    this.socket = socket;
    socket.on('data', this.#onData);
    socket.on('end', () => {
      this.#ended = true;
    });
    socket.on('error', (error) => {
      this.#error = error;
    });
    socket.on('close', () => {
      this.#closed = true;
    });
  }

  /** What came and was not taken yet. */
  get received(): Buffer {
    if (this.#chunks.length > 1) this.#chunks = [Buffer.concat(this.#chunks)];
    return this.#chunks[0] ?? Buffer.alloc(0);
  }

  send(data: string | Uint8Array): this {
    this.socket.write(data);
    return this;
  }

  /** Sends FIN; what the other side sends is still read. */
  finish(): this {
    this.socket.end();
    return this;
  }

  reset(): void {
    this.socket.resetAndDestroy();
  }

  close(): void {
    this.socket.destroy();
  }

  /** The next `count` bytes. */
  async read(count: number, limitMs = LIMIT_MS): Promise<Buffer> {
    await this.#until(() => this.#length >= count, `${count} bytes`, limitMs);
    return this.#take(count);
  }

  /** Gives back what was read: it comes first again. */
  unread(bytes: Buffer): void {
    this.#chunks.unshift(bytes);
    this.#length += bytes.length;
  }

  /** The next `count` bytes as text. */
  async text(count: number): Promise<string> {
    return (await this.read(count)).toString('latin1');
  }

  /** The next answer of the proxy, with its body where it has a length. */
  async answer(limitMs = LIMIT_MS): Promise<Answer> {
    await this.#until(() => this.received.includes(HEAD_END), 'a head', limitMs);
    const head = this.#take(this.received.indexOf(HEAD_END) + HEAD_END.length).toString('latin1');
    const [first = '', ...lines] = head.trimEnd().split('\r\n');
    const headers = new Map<string, string>();
    for (const line of lines) {
      const [, name = '', value = ''] = /^([^:]+):\s*(.*)$/.exec(line) ?? [];
      const held = headers.get(name.toLowerCase());
      headers.set(name.toLowerCase(), held === undefined ? value : `${held}, ${value}`);
    }
    const body = await this.text(Number(headers.get('content-length') ?? 0));
    return { status: Number(first.split(' ')[1]), headers, body, text: head + body };
  }

  /** How the other side ended: with a FIN, or by breaking off. */
  async ending(limitMs = LIMIT_MS): Promise<'end' | 'reset'> {
    const over = () => this.#ended || this.#error !== null || this.#closed;
    await this.#until(over, 'an end', limitMs, true);
    if (this.#error === null) return 'end';
    if (this.#error.code === 'ECONNRESET' || this.#error.code === 'EPIPE') return 'reset';
    throw this.#error;
  }

  /** Stops taking what comes: the connection fills up, or the test reads the socket itself. */
  detach(): Socket {
    this.socket.off('data', this.#onData);
    this.socket.pause();
    return this.socket;
  }

  readonly #onData = (chunk: Buffer): void => {
    this.#chunks.push(chunk);
    this.#length += chunk.length;
  };

  #take(count: number): Buffer {
    const all = this.received;
    this.#chunks = [all.subarray(count)];
    this.#length = all.length - count;
    return all.subarray(0, count);
  }

  #until(holds: () => boolean, what: string, limitMs: number, ending = false): Promise<void> {
    return new Promise((resolve, reject) => {
      const { socket } = this;
      const events = ['data', 'end', 'error', 'close'] as const;
      const settle = (how: () => void) => {
        clearTimeout(limit);
        for (const event of events) socket.off(event, look);
        how();
      };
      const fail = (why: string) =>
        settle(() =>
          reject(new Error(`waited for ${what}: ${why}; came: ${this.received.toString('latin1', 0, 500)}`)),
        );
      const look = () => {
        if (holds()) settle(resolve);
        else if (!ending && (this.#ended || this.#closed)) fail(this.#error?.code ?? 'the other side ended');
      };
      const limit = setTimeout(() => fail(`nothing in ${limitMs} ms`), limitMs);
      for (const event of events) socket.on(event, look);
      look();
    });
  }
}

/** A connection to a port on loopback. */
export function connectTo(port: number, host = '127.0.0.1'): Promise<Peer> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host, allowHalfOpen: true, noDelay: true });
    const peer = new Peer(socket);
    socket.once('connect', () => resolve(peer));
    socket.once('error', reject);
  });
}

/** The head of a CONNECT as most clients send it. @param token none is sent where it is left out */
export function connectHead(target: string, token?: string): string {
  const credential = token === undefined ? '' : `Proxy-Authorization: ${basic(token)}\r\n`;
  return `CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n${credential}\r\n`;
}

/** A `Proxy-Authorization` with the token as the password. */
export function basic(token: string, user = 'sallyport'): string {
  return `Basic ${Buffer.from(`${user}:${token}`).toString('base64')}`;
}

const HEAD_END = '\r\n\r\n';
const LIMIT_MS = 10_000;

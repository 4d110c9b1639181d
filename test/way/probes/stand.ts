/**
 * Where the probes run: one gate, an origin in the clear and one in TLS whose host a secret is bound to, and the ways in
 * which a client speaks HTTP/1.1 with them. A probe sees a client, an origin and what is between them, not which way it is.
 */
import type { Socket } from 'node:net';
import { connect } from 'node:tls';
import { connectHead, connectTo, Peer } from '../../support/client.ts';
import { type Inside, startInside } from '../../support/inside.ts';
import { type Origin, startOrigin } from '../../support/origin.ts';
import { startTlsOrigin, type TlsOrigin } from '../../support/tls-origin.ts';

export interface Way {
  readonly name: 'a tunnel' | 'an interception' | 'plain HTTP';
  /** `host:port` of the origin. */
  readonly authority: string;
  /** A client whose next bytes are a request. */
  enter(): Promise<Peer>;
  /** The next connection at the origin. */
  accept(): Promise<Peer>;
  /** A request's head as a client writes it for this way. @param lines each with its CRLF */
  head(method: string, path: string, lines?: string, version?: string): string;
}

export interface Asking {
  readonly client: Peer;
  readonly origin: Peer;
  /** The head as the origin got it. */
  readonly head: string;
}

export class Stand {
  readonly inside: Inside;
  readonly open: Origin;
  readonly bound: TlsOrigin;
  #token = '';
  readonly #peers: Peer[] = [];

  private constructor(inside: Inside, open: Origin, bound: TlsOrigin) {
    this.inside = inside;
    this.open = open;
    this.bound = bound;
  }

  /** @param behave what the origin in the clear does with each caller by itself */
  static async start(
    settings: Readonly<Record<string, string>> = {},
    behave?: (socket: Socket) => void,
  ): Promise<Stand> {
    const [open, bound] = await Promise.all([
      startOrigin(behave ? { behave } : {}),
      startTlsOrigin({ name: BOUND }),
    ]);
    const inside = await startInside([OPEN, BOUND], [bound.caPem], settings);
    return new Stand(inside, open, bound);
  }

  get port(): number {
    return this.inside.gate.egress.address.port;
  }

  get token(): string {
    return this.#token;
  }

  get targets(): { readonly open: string; readonly bound: string } {
    return { open: `${OPEN}:${this.open.port}`, bound: `${BOUND}:${this.bound.port}` };
  }

  /** Before each test: an environment of its own, so that no connection kept for another serves it. */
  async renew(environment: string): Promise<void> {
    const { open, bound } = this.targets;
    this.bound.forget();
    await this.inside.bind(environment, [bound]);
    await this.inside.gate.put(environment, {
      allow: [open, bound],
      credentials: ['v/secret'],
      // Each plain request counts as a connection.
      newPerSecond: 100_000,
    });
    this.#token = await this.inside.gate.world.token(environment);
  }

  /** After each test. */
  release(): void {
    for (const peer of this.#peers.splice(0)) peer.close();
  }

  async close(): Promise<void> {
    this.release();
    await this.inside.close();
    await Promise.all([this.open.close(), this.bound.close()]);
  }

  way(name: Way['name']): Way {
    if (name === 'a tunnel') return this.#tunnel();
    return name === 'an interception' ? this.#interception() : this.#plain();
  }

  /** A connection to the gate itself. */
  async knock(): Promise<Peer> {
    return this.keep(await connectTo(this.port));
  }

  /** A client that has sent this request, and the origin that has its head. */
  async ask(way: Way, ...request: Parameters<Way['head']>): Promise<Asking> {
    const client = await way.enter();
    client.send(way.head(...request));
    const origin = await way.accept();
    return { client, origin, head: await readHead(origin) };
  }

  keep(peer: Peer): Peer {
    this.#peers.push(peer);
    return peer;
  }

  async tunnelTo(target: string): Promise<Peer> {
    const peer = await this.knock();
    const answer = await peer.send(connectHead(target, this.#token)).answer();
    if (answer.status !== 200) throw new Error(answer.text);
    return peer;
  }

  #tunnel(): Way {
    const authority = this.targets.open;
    return {
      name: 'a tunnel',
      authority,
      enter: () => this.tunnelTo(authority),
      accept: async () => this.keep(await this.open.accept()),
      head: (method, path, lines = '', version = '1.1') =>
        `${method} ${path} HTTP/${version}\r\nHost: ${authority}\r\n${lines}\r\n`,
    };
  }

  #interception(): Way {
    const authority = this.targets.bound;
    return {
      ...this.#tunnel(),
      name: 'an interception',
      authority,
      enter: async () => this.keep(await secure(await this.tunnelTo(authority), this.inside.caPem)),
      accept: async () => this.keep(await this.bound.next()),
      head: (method, path, lines = '', version = '1.1') =>
        `${method} ${path} HTTP/${version}\r\nHost: ${authority}\r\n${lines}\r\n`,
    };
  }

  #plain(): Way {
    const authority = this.targets.open;
    return {
      ...this.#tunnel(),
      name: 'plain HTTP',
      enter: () => this.knock(),
      head: (method, path, lines = '', version = '1.1') =>
        `${method} http://${authority}${path} HTTP/${version}\r\nHost: ${authority}\r\n` +
        `Proxy-Authorization: Bearer ${this.#token}\r\n${lines}\r\n`,
    };
  }
}

export function secure(outer: Peer, ca: string, servername = BOUND): Promise<Peer> {
  const socket = connect({ socket: outer.detach(), servername, ca: [ca], ALPNProtocols: ['http/1.1'] });
  return new Promise((resolve, reject) => {
    socket.once('secureConnect', () => resolve(new Peer(socket)));
    socket.once('error', reject);
  });
}

/** Up to and with the empty line; a body that is announced stays. */
export async function readHead(peer: Peer): Promise<string> {
  let head = '';
  while (!head.endsWith('\r\n\r\n')) head += await peer.text(1);
  return head;
}

const OPEN = 'open.test';
export const BOUND = 'api.bound.test';

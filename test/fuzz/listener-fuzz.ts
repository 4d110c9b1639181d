/**
 * A fuzzer of the live listener. Nothing may reach an origin but the one tunnel that a strict reading of the client's
 * bytes permits, with just the bytes behind its head; and every client is answered and let go.
 */
import { createServer, type Server, type Socket } from 'node:net';
import { basic, connectTo, type Peer } from '../support/client.ts';
import { type ConnectInput, connectInputs, renderConnect } from './connect-input.ts';
import { judgePlain, permittedPlain, permittedTunnel, readAnswers } from './connect-oracle.ts';
import { FuzzRig } from './fuzz-rig.ts';
import { fuzz } from './fuzz-run.ts';
import { hostsFile, type Lane, LanePool, makeLanes } from './lanes.ts';
import { cutUp } from './mutate.ts';
import type { Message } from './reader.ts';

export class ListenerFuzz {
  readonly rig: FuzzRig;
  readonly #origin: LaneOrigin;
  readonly #lanes = new LanePool(LANES);
  /** Tunnels that were opened: a fuzzer that opens none finds nothing. */
  opened = 0;
  /** Plain requests that reached an origin. */
  plain = 0;

  private constructor(rig: FuzzRig, origin: LaneOrigin) {
    this.rig = rig;
    this.#origin = origin;
  }

  static async start(): Promise<ListenerFuzz> {
    const origin = await LaneOrigin.start();
    const rig = await FuzzRig.start({
      hosts: hostsFile(LANES),
      open: '*.open.test=127.0.0.0/8',
      environment: { allow: [`*.open.test:${origin.port}`] },
    });
    return new ListenerFuzz(rig, origin);
  }

  run(inputs: number, seed?: number): Promise<number> {
    return fuzz({
      name: 'the listener',
      input: connectInputs(),
      inputs,
      ...(seed === undefined ? {} : { seed }),
      check: async (batch) => {
        const token = await this.rig.token();
        await Promise.all(batch.map((input) => this.#lanes.use((lane) => this.#try(input, lane, token))));
        this.rig.assertSound();
        if (this.#origin.stray > 0) throw new Error('a lane was reached that nobody asked for');
      },
    });
  }

  async close(): Promise<void> {
    await this.rig.close();
    await this.#origin.close();
  }

  async #try(input: ConnectInput, lane: Lane, token: string): Promise<void> {
    const target = `${lane.host}:${this.#origin.port}`;
    const bytes = renderConnect(input, target, token);
    const permitted = permittedTunnel(bytes, token);
    const arrived = this.#origin.watch(lane.address);
    try {
      const client = await connectTo(this.rig.port);
      const got = await play(client, cutUp(bytes, input.cuts), input.leaving);
      const plain = permitted ? null : permittedPlain(bytes, token, target);
      if (plain) return this.#judgePlain(arrived(), plain, target, token);
      const tunnelled = permitted?.target.toLowerCase() === target ? permitted.tail : null;
      const answer = readAnswers(got, token, bytes.includes('HEAD '));
      this.#judge({ got: answer, whole: input.leaving === 'finish', arrived, tunnelled });
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      throw new Error(
        `${why}\nsent: ${JSON.stringify(bytes.toString('latin1').replaceAll(token, 'TOKEN').replaceAll(basic(token), 'BASIC'))}`,
      );
    }
  }

  /** The origin echoes, which is no answer. */
  #judgePlain(arrived: readonly string[], asked: Message, authority: string, token: string): void {
    const [first, ...others] = arrived;
    if (others.length > 0) throw new Error('the origin was reached more than once');
    if (first === undefined || first === '') return;
    this.plain += 1;
    judgePlain(first, asked, authority, token);
  }

  #judge({ got, whole, arrived, tunnelled }: Outcome): void {
    const [first, ...others] = arrived();
    if (others.length > 0) throw new Error('the origin was reached more than once');
    if (got === null && (first === undefined || !whole)) return;
    this.opened += 1;
    if (tunnelled === null) throw new Error('a tunnel that the bytes do not ask for');
    const expected = tunnelled.toString('latin1');
    if (first !== undefined && !expected.startsWith(first))
      throw new Error(`the origin got ${JSON.stringify(first)}`);
    if (whole && (first !== expected || got !== expected)) {
      throw new Error(
        `of the tunnel’s bytes came ${JSON.stringify(first)} and, back, ${JSON.stringify(got)}`,
      );
    }
  }
}

interface Outcome {
  /** What came back through the tunnel. */
  readonly got: string | null;
  /** Whether the client stayed to the end. */
  readonly whole: boolean;
  /** What each connection to the lane brought. */
  readonly arrived: () => readonly string[];
  readonly tunnelled: Buffer | null;
}

/** Sends the pieces, leaves, and gives back all that came. */
async function play(
  client: Peer,
  pieces: readonly Buffer[],
  leaving: ConnectInput['leaving'],
): Promise<string> {
  try {
    for (const piece of pieces) {
      if (client.socket.writable) await new Promise((resolve) => client.socket.write(piece, resolve));
    }
    if (leaving === 'reset') client.reset();
    else client.finish();
    const ending = await client.ending(PATIENCE_MS);
    if (leaving === 'finish' && ending === 'reset') throw new Error('the client was broken off');
    return client.received.toString('latin1');
  } finally {
    client.close();
  }
}

/** One listener for all lanes: the address says which. It sends back what it gets. */
class LaneOrigin {
  readonly #server: Server;
  readonly #watched = new Map<string, string[]>();
  readonly #sockets = new Set<Socket>();
  readonly port: number;
  stray = 0;

  private constructor(server: Server, port: number) {
    this.#server = server;
    this.port = port;
    server.on('connection', (socket) => this.#take(socket));
  }

  static async start(): Promise<LaneOrigin> {
    const server = createServer({ allowHalfOpen: true, noDelay: true });
    // There is no one address for all of loopback.
    await new Promise<void>((resolve) => server.listen(0, '0.0.0.0', 1024, resolve));
    const address = server.address();
    return new LaneOrigin(server, typeof address === 'object' && address !== null ? address.port : 0);
  }

  /** From now on. @returns what each connection to the address has brought so far */
  watch(address: string): () => readonly string[] {
    const arrived: string[] = [];
    this.#watched.set(address, arrived);
    return () => arrived;
  }

  close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }

  #take(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => {}).once('close', () => this.#sockets.delete(socket));
    const arrived = this.#watched.get(socket.localAddress ?? '');
    if (!arrived) {
      this.stray += 1;
      socket.destroy();
      return;
    }
    const index = arrived.push('') - 1;
    socket.on('data', (chunk: Buffer) => {
      arrived[index] += chunk.toString('latin1');
    });
    socket.pipe(socket);
  }
}

const LANES = makeLanes('open.test', 512);
const PATIENCE_MS = 8_000;

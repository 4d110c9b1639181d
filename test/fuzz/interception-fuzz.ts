/**
 * A fuzzer inside a live interception, in HTTP/1.1: what reaches the origin is, request by request, what a strict
 * reading of the client's bytes permits; every reader sees the same borders; nobody gets another's answer.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import { connectHead, connectTo, Peer } from '../support/client.ts';
import { type ExchangeInput, exchangeInputs, isPlain, renderExchange } from './exchange-input.ts';
import { judgeAnswers, judgeArrived, judgeOrder, permittedRequests, show } from './exchange-oracle.ts';
import { FuzzRig } from './fuzz-rig.ts';
import { fuzz } from './fuzz-run.ts';
import { hostsFile, type Lane, LanePool, makeLanes } from './lanes.ts';
import { cutUp } from './mutate.ts';
import { type Arrived, type Respond, TlsLaneOrigin } from './tls-lane-origin.ts';

export class InterceptionFuzz {
  readonly rig: FuzzRig;
  readonly origin: TlsLaneOrigin;
  readonly #folder: string;
  readonly #authority: string;
  readonly lanes = new LanePool(LANES);
  /** Requests that the origin answered: a fuzzer that gets none through finds nothing. */
  answered = 0;
  /** Clients that stayed to the end and saw the gate break off. */
  brokenOff = 0;

  private constructor(rig: FuzzRig, origin: TlsLaneOrigin, folder: string, authority: string) {
    this.rig = rig;
    this.origin = origin;
    this.#folder = folder;
    this.#authority = authority;
  }

  static async start(respond?: Respond): Promise<InterceptionFuzz> {
    const folder = await mkdtemp(join(tmpdir(), 'sallyport-fuzz-ca-'));
    const origin = await TlsLaneOrigin.start(LANES, respond);
    const roots = join(folder, 'roots.pem');
    await writeFile(roots, origin.caPem);
    const hosts = `*.bound.test:${origin.port}`;
    const rig = await FuzzRig.start({
      hosts: hostsFile(LANES),
      open: '*.bound.test=127.0.0.0/8',
      environment: { allow: [hosts], credentials: ['v/s'] },
      settings: { SALLYPORT_EXTRA_CA: roots },
      prepare: async ({ call }) => {
        await call('PUT', '/v1/vaults/v');
        await call('PUT', '/v1/vaults/v/credentials/s', {
          kind: 'environment_secret',
          variable: 'KEY',
          hosts: [hosts],
          secret: { value: SECRET },
        });
      },
    });
    const { port } = rig.world.core.address;
    const authority = await (await fetch(`http://127.0.0.1:${port}/authority.pem`)).text();
    return new InterceptionFuzz(rig, origin, folder, authority);
  }

  run(inputs: number, seed?: number): Promise<number> {
    return fuzz({
      name: 'an interception',
      input: exchangeInputs(),
      inputs,
      ...(seed === undefined ? {} : { seed }),
      check: async (batch) => {
        await Promise.all(batch.map((input) => this.lanes.use((lane) => this.#try(input, lane))));
        this.rig.assertSound();
      },
    });
  }

  async close(): Promise<void> {
    await this.rig.close();
    await this.origin.close();
    await rm(this.#folder, { recursive: true, force: true });
  }

  async #try(input: ExchangeInput, lane: Lane): Promise<void> {
    const authority = `${lane.host}:${this.origin.port}`;
    const bytes = renderExchange(input, authority);
    try {
      const arrived = this.origin.watch(lane.host);
      const got = await this.exchange(lane, cutUp(bytes, input.cuts), input.leaving);
      this.#judge(input, permittedRequests(bytes, authority), got, arrived());
      if (arrived().length > 0) await this.probe(lane);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      throw new Error(`${why}\nsent: ${show(bytes)}`);
    }
  }

  #judge(
    input: ExchangeInput,
    permitted: ReturnType<typeof permittedRequests>,
    { bytes: got, whole }: Got,
    arrived: readonly Arrived[],
  ): void {
    if (got.includes(SECRET)) throw new Error('the client got the secret');
    judgeOrder(
      arrived.flatMap(({ bytes }) => judgeArrived(bytes, SECRET)),
      permitted,
    );
    const answered = judgeAnswers(got, permitted, whole);
    this.answered += answered;
    if (whole && isPlain(input) && answered !== input.requests.length) {
      throw new Error(`${answered} of ${input.requests.length} plain requests were answered: ${show(got)}`);
    }
  }

  /** The next client of the lane, which may get the connection that the one before left. */
  async probe(lane: Lane): Promise<void> {
    const authority = `${lane.host}:${this.origin.port}`;
    const request = Buffer.from(`GET /probe HTTP/1.1\r\nHost: ${authority}\r\nConnection: close\r\n\r\n`);
    this.origin.watch(lane.host);
    const { bytes: got } = await this.exchange(lane, [request], 'finish');
    const answered = judgeAnswers(got, permittedRequests(request, authority), true);
    if (answered !== 1) throw new Error(`the next client got ${show(got)}`);
  }

  async exchange(lane: Lane, pieces: readonly Buffer[], leaving: 'finish' | 'reset'): Promise<Got> {
    const outer = await connectTo(this.rig.port);
    try {
      const target = `${lane.host}:${this.origin.port}`;
      const answer = await outer.send(connectHead(target, await this.rig.token())).answer();
      if (answer.status !== 200) throw new Error(`the CONNECT was refused: ${answer.text}`);
      const client = new Peer(await this.#secure(outer, lane.host));
      for (const piece of pieces) {
        if (client.socket.writable) await new Promise((resolve) => client.socket.write(piece, resolve));
      }
      if (leaving === 'reset') outer.socket.resetAndDestroy();
      else client.finish();
      const ending = await client.ending(PATIENCE_MS);
      if (leaving === 'finish' && ending === 'reset') this.brokenOff += 1;
      return { bytes: client.received, whole: leaving === 'finish' && ending === 'end' };
    } finally {
      outer.close();
    }
  }

  #secure(outer: Peer, servername: string): Promise<TLSSocket> {
    const socket = outer.detach();
    return new Promise((resolve, reject) => {
      const secured = connect({ socket, servername, ca: [this.#authority], ALPNProtocols: ['http/1.1'] });
      secured.once('secureConnect', () => resolve(secured)).once('error', reject);
      socket.once('close', () => reject(new Error('closed within the handshake')));
    });
  }
}

/** What a client got. */
export interface Got {
  readonly bytes: Buffer;
  /** Whether it stayed to the end, and saw one. */
  readonly whole: boolean;
}

export const SECRET = 'the-real-secret-value';
const LANES = makeLanes('bound.test', 256);
const PATIENCE_MS = 8_000;

/**
 * A fuzzer of HTTP/2 inside live interceptions: whatever frames a client sends, each stream that reaches the origin is
 * for its host, has the secret once and was asked for; the client never gets the secret, and the next one is served.
 */
import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect as connectHttp2 } from 'node:http2';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import { connectHead, connectTo, Peer } from '../support/client.ts';
import { type Http2Origin, startHttp2Origin } from '../support/http2-origin.ts';
import { readStream } from '../support/inside.ts';
import { type FrameInput, frameInputs, pathsOf, renderFrames } from './frame-input.ts';
import { FuzzRig } from './fuzz-rig.ts';
import { fuzz } from './fuzz-run.ts';

export class FrameFuzz {
  readonly rig: FuzzRig;
  readonly #origin: Http2Origin;
  readonly #folder: string;
  readonly #ca: string;
  /** What came of the batch that is tried. */
  readonly #arrived: (readonly string[])[] = [];
  /** Streams that reached the origin: a fuzzer that gets none through finds nothing. */
  reached = 0;

  private constructor(rig: FuzzRig, origin: Http2Origin, folder: string, ca: string) {
    this.rig = rig;
    this.#origin = origin;
    this.#folder = folder;
    this.#ca = ca;
    origin.serve(({ stream, raw }) => {
      this.#arrived.push(raw);
      stream.respond({ ':status': 200, 'x-of': digestOf(raw) });
      stream.resume();
      stream.end('answer');
    });
  }

  static async start(): Promise<FrameFuzz> {
    const folder = await mkdtemp(join(tmpdir(), 'sallyport-frames-'));
    const origin = await startHttp2Origin(HOST);
    await writeFile(join(folder, 'roots.pem'), origin.caPem);
    const target = `${HOST}:${origin.port}`;
    const rig = await FuzzRig.start({
      hosts: `127.0.0.1 ${HOST}\n`,
      open: '*.bound.test=127.0.0.0/8',
      environment: { allow: [target], credentials: ['v/s'] },
      settings: { SALLYPORT_EXTRA_CA: join(folder, 'roots.pem') },
      prepare: async ({ call }) => {
        await call('PUT', '/v1/vaults/v');
        await call('PUT', '/v1/vaults/v/credentials/s', {
          kind: 'environment_secret',
          variable: 'KEY',
          hosts: [target],
          secret: { value: SECRET },
        });
      },
    });
    const { port } = rig.world.core.address;
    const ca = await (await fetch(`http://127.0.0.1:${port}/authority.pem`)).text();
    return new FrameFuzz(rig, origin, folder, ca);
  }

  run(inputs: number, seed?: number): Promise<number> {
    return fuzz({
      name: 'frames',
      input: frameInputs(),
      inputs,
      batch: 16,
      ...(seed === undefined ? {} : { seed }),
      check: (batch) => this.#tryAll(batch),
    });
  }

  async close(): Promise<void> {
    await this.rig.close();
    await this.#origin.close();
    await rm(this.#folder, { recursive: true, force: true });
  }

  async #tryAll(batch: readonly FrameInput[]): Promise<void> {
    this.#arrived.length = 0;
    const authority = `${HOST}:${this.#origin.port}`;
    await Promise.all(
      batch.map(async (input) => {
        const got = await this.#send(renderFrames(input, authority));
        if (got.includes(SECRET)) throw new Error('the client got the secret');
      }),
    );
    this.reached += this.#arrived.length;
    // What bytes a change makes of a path is the client’s own business.
    const paths = batch.some(({ changes }) => changes.length > 0)
      ? null
      : new Set(batch.flatMap((input) => [...pathsOf(input)]));
    for (const raw of this.#arrived) judgeStream(raw, authority, paths);
    await this.#probe(authority);
    this.rig.assertSound();
  }

  /** @returns all that the client got, once the gate has answered what stands behind the frames, or has hung up */
  async #send(frames: Buffer): Promise<Buffer> {
    const client = new Peer(await this.#enter());
    client.send(frames);
    // A session that lives answers; by the last one, what was let through has come to the origin and back.
    for (let round = 1; round <= PINGS && !client.socket.destroyed; round += 1) {
      client.send(PING);
      if (!(await heard(client, round))) break;
    }
    client.finish();
    await client.ending(PATIENCE_MS).catch((error: unknown) => {
      if (!(error instanceof Error && 'code' in error)) throw error;
    });
    const got = client.received;
    client.close();
    return got;
  }

  /** The next client, over a session of the origin that others have used. */
  async #probe(authority: string): Promise<void> {
    const secured = await this.#enter();
    const session = connectHttp2(`https://${authority}`, { createConnection: () => secured });
    session.on('error', () => {});
    const path = `/probe/${this.reached}`;
    const { status, body, raw } = await readStream(
      session.request({ ':path': path, ':authority': authority }, { endStream: true }),
    );
    session.destroy();
    const asked = this.#arrived.at(-1) ?? [];
    if (status !== 200 || body !== 'answer' || !raw.includes(digestOf(asked)) || !asked.includes(path))
      throw new Error(`the next client got ${status} ${body}`);
  }

  async #enter(): Promise<TLSSocket> {
    const outer = await connectTo(this.rig.port);
    const target = `${HOST}:${this.#origin.port}`;
    const answer = await outer.send(connectHead(target, await this.rig.token())).answer();
    if (answer.status !== 200) throw new Error(`the CONNECT was refused: ${answer.text}`);
    const socket = outer.detach();
    return new Promise((resolve, reject) => {
      const secured = connect({ socket, servername: HOST, ca: [this.#ca], ALPNProtocols: ['h2'] });
      secured.once('secureConnect', () => resolve(secured)).once('error', reject);
    });
  }
}

/** Whether so many answers to a PING have come, soon. */
function heard(client: Peer, count: number): Promise<boolean> {
  const { socket } = client;
  return new Promise((resolve) => {
    const settle = (came: boolean) => {
      clearTimeout(limit);
      socket.off('data', look).off('close', gone).off('end', gone);
      resolve(came);
    };
    const gone = () => settle(false);
    const look = () => {
      if (client.received.toString('latin1').split('fuzzping').length > count) settle(true);
    };
    const limit = setTimeout(gone, ANSWER_MS);
    socket.on('data', look).once('close', gone).once('end', gone);
    look();
  });
}

function judgeStream(raw: readonly string[], authority: string, paths: ReadonlySet<string> | null): void {
  const valuesOf = (wanted: string) => raw.filter((_, at) => at % 2 === 1 && raw[at - 1] === wanted);
  const shown = JSON.stringify(raw);
  if (valuesOf('authorization').join() !== `Bearer ${SECRET}`) throw new Error(`not the secret: ${shown}`);
  // A host is the same in any case.
  if (valuesOf(':authority').join().toLowerCase() !== authority)
    throw new Error(`another authority: ${shown}`);
  if (valuesOf(':scheme').join() !== 'https') throw new Error(`another scheme: ${shown}`);
  if (/^(connect|trace)$/i.test(valuesOf(':method').join()))
    throw new Error(`a method that is refused: ${shown}`);
  if (valuesOf('host').some((host) => host.toLowerCase() !== authority))
    throw new Error(`another host: ${shown}`);
  const names = raw.filter((_, at) => at % 2 === 0);
  if (names.some((name) => /[^!#$%&'*+.^_`|~0-9a-z:-]/.test(name))) throw new Error(`no name: ${shown}`);
  if (names.some((name) => HOP_BY_HOP.test(name))) throw new Error(`a line for one hop: ${shown}`);
  if (raw.some((text) => /[\r\n\0]/.test(text))) throw new Error(`a line end within a value: ${shown}`);
  const [path = ''] = valuesOf(':path');
  if (paths && !paths.has(path)) throw new Error(`a path that nobody asked for: ${shown}`);
}

function digestOf(raw: readonly string[]): string {
  return createHash('sha256').update(raw.join('\n')).digest('hex').slice(0, 16);
}

const HOST = 'two.bound.test';
const SECRET = 'the-real-secret-value';
const PATIENCE_MS = 8_000;
const PINGS = 6;
const ANSWER_MS = 200;
const PING = Buffer.concat([Buffer.from([0, 0, 8, 6, 0, 0, 0, 0, 0]), Buffer.from('fuzzping')]);
/** `proxy-status` and its like are not for one hop. */
const HOP_BY_HOP =
  /^(connection|keep-alive|proxy-(authenticate|authentication-info|authorization|connection)|transfer-encoding|upgrade|http2-settings)$/;

/** 2 GiB down and up through an interception, in both protocols: memory stays flat, and every byte is counted. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect as connectHttp2, createSecureServer } from 'node:http2';
import { createServer, request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { connect, type TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeAuthority, openAuthority } from '../../certs/authority.ts';
import { issueLeaf } from '../../certs/leaf.ts';
import { FuzzRig } from '../fuzz/fuzz-rig.ts';
import { connectHead, connectTo } from '../support/client.ts';

const HOST = 'bulk.bound.test';
const SIZE = 2 * 1024 ** 3;
const PIECE = Buffer.alloc(1 << 18, 'bulk-');

let folder: string;
let rig: FuzzRig;
let egressCa: string;
const closers: (() => void)[] = [];
const ports: Record<string, number> = {};

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sallyport-bulk-'));
  const authority = openAuthority(makeAuthority({ name: 'Bulk origins', now: new Date() }));
  const { certificatePem: cert, keyPem: key } = issueLeaf(authority, HOST, new Date());
  const one = createServer({ cert, key }, (asked, answer) => void serve(asked, answer));
  const two = createSecureServer({ cert, key, settings: { initialWindowSize: 1 << 20 } });
  two.on('stream', (stream, headers) => {
    stream.on('error', () => {});
    stream.respond({ ':status': 200 });
    void serve(Object.assign(stream, { method: String(headers[':method']) }), stream);
  });
  for (const [name, server] of Object.entries({ 'HTTP/1.1': one, 'HTTP/2': two })) {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    ports[name] = typeof address === 'object' && address !== null ? address.port : 0;
    closers.push(() => server.close());
  }
  await writeFile(join(folder, 'roots.pem'), authority.certificatePem);
  const targets = Object.values(ports).map((port) => `${HOST}:${port}`);
  rig = await FuzzRig.start({
    hosts: `127.0.0.1 ${HOST}\n`,
    open: '*.bound.test=127.0.0.0/8',
    environment: { allow: targets, credentials: ['v/s'] },
    settings: { SALLYPORT_EXTRA_CA: join(folder, 'roots.pem') },
    prepare: async ({ call }) => {
      await call('PUT', '/v1/vaults/v');
      await call('PUT', '/v1/vaults/v/credentials/s', {
        kind: 'environment_secret',
        variable: 'KEY',
        hosts: targets,
        secret: { value: 'the-real-secret-value' },
      });
    },
  });
  const { port } = rig.world.core.address;
  egressCa = await (await fetch(`http://127.0.0.1:${port}/authority.pem`)).text();
}, 60_000);

afterAll(async () => {
  await rig?.close();
  for (const close of closers) close();
  await rm(folder, { recursive: true, force: true });
}, 60_000);

/** A GET is answered with all the bytes, anything else with how many came. */
async function serve(asked: Readable & { method?: string | undefined }, answer: Writable): Promise<void> {
  if (asked.method === 'GET') await pipeline(source(), answer).catch(() => {});
  else answer.end(String(await countOf(asked)));
}

function source(): Readable {
  let left = SIZE;
  return new Readable({
    highWaterMark: 1 << 20,
    read() {
      if (left > 0) this.push(PIECE);
      else this.push(null);
      left -= PIECE.length;
    },
  });
}

async function countOf(stream: Readable): Promise<number> {
  let count = 0;
  for await (const chunk of stream) count += (chunk as Buffer).length;
  return count;
}

async function enter(target: string, protocol: string): Promise<TLSSocket> {
  const outer = await connectTo(rig.port);
  const answer = await outer.send(connectHead(target, await rig.token())).answer();
  if (answer.status !== 200) throw new Error(answer.text);
  return new Promise((resolve, reject) => {
    const socket = connect({
      socket: outer.detach(),
      servername: HOST,
      ca: [egressCa],
      ALPNProtocols: [protocol === 'HTTP/2' ? 'h2' : 'http/1.1'],
    });
    socket.once('secureConnect', () => resolve(socket)).once('error', reject);
  });
}

/** @returns what the client read: the bytes of a GET, else what the origin counted */
async function transfer(protocol: string, method: string): Promise<number> {
  const target = `${HOST}:${ports[protocol]}`;
  const secured = await enter(target, protocol);
  const [upstream, answer] =
    protocol === 'HTTP/2' ? overStream(secured, target, method) : overMessage(secured, target, method);
  const sent = method === 'GET' ? upstream.end() : pipeline(source(), upstream);
  const came = await answer;
  const count = method === 'GET' ? await countOf(came) : Number((await came.toArray()).join(''));
  await sent;
  secured.destroy();
  return count;
}

type Exchange = readonly [up: Writable, answer: Promise<Readable>];

function overMessage(secured: TLSSocket, host: string, method: string): Exchange {
  const asked = request({ createConnection: () => secured, method, path: '/', headers: { host } });
  return [asked, new Promise((resolve, reject) => asked.once('response', resolve).once('error', reject))];
}

function overStream(secured: TLSSocket, target: string, method: string): Exchange {
  const session = connectHttp2(`https://${target}`, {
    createConnection: () => secured,
    settings: { initialWindowSize: 1 << 20 },
  });
  const stream = session.request(
    { ':method': method, ':path': '/', ':authority': target },
    { endStream: false },
  );
  return [
    stream,
    new Promise((resolve, reject) => {
      stream.once('response', () => resolve(stream)).once('error', reject);
    }),
  ];
}

describe.each(['HTTP/1.1', 'HTTP/2'])('in %s, 2 GiB', (protocol) => {
  it.each([
    ['down', 'GET'],
    ['up', 'PUT'],
  ])('%s move memory by less than 64 MiB', async (_, method) => {
    let peak = 0;
    // What is compiled and grown at the first use is there.
    const before = await rig.residentBytes();
    const watch = setInterval(async () => {
      peak = Math.max(peak, await rig.residentBytes());
    }, 100);
    const startedAt = performance.now();
    expect(await transfer(protocol, method)).toBe(SIZE);
    clearInterval(watch);
    const seconds = (performance.now() - startedAt) / 1_000;
    console.info(
      `${protocol} ${method}: ${((peak - before) / 2 ** 20).toFixed(1)} MiB, ${seconds.toFixed(1)} s`,
    );
    expect(peak - before).toBeLessThan(64 << 20);
    rig.assertSound();
  });
});

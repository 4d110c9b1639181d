/**
 * 2 GiB down and up through an interception, in both protocols: memory stays where it was. Client, gate and origin share
 * this process, so what is measured is more than the gate's.
 */
import { createServer, request, type Server } from 'node:https';
import { Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { makeAuthority, openAuthority } from '../../certs/authority.ts';
import { issueLeaf } from '../../certs/leaf.ts';
import { type Http2Origin, startHttp2Origin } from '../support/http2-origin.ts';
import { type Inside, startInside } from '../support/inside.ts';

const ONE = 'one.bound.test';
const TWO = 'two.bound.test';
const MIB = 1024 * 1024;
const SIZE = 2048 * MIB;
const WARM_UP = 64 * MIB;

let one: Server;
let two: Http2Origin;
let inside: Inside;
let targets: { readonly one: string; readonly two: string };

beforeAll(async () => {
  const authority = openAuthority(makeAuthority({ name: 'Test origin one', now: new Date() }));
  const leaf = issueLeaf(authority, ONE, new Date());
  one = createServer({ cert: leaf.certificatePem, key: leaf.keyPem }, (asked, answer) => {
    if (asked.method === 'GET') void pipeline(pour(Number(asked.url?.slice(1))), answer);
    else void count(asked).then((bytes) => answer.end(String(bytes)));
  });
  one.requestTimeout = 0;
  await new Promise<void>((resolve) => one.listen(0, '127.0.0.1', resolve));
  const address = one.address();
  two = await startHttp2Origin(TWO);
  two.serve(({ stream, raw }) => {
    stream.respond({ ':status': 200 });
    const path = raw[raw.indexOf(':path') + 1] ?? '';
    if (raw.includes('GET')) void pipeline(pour(Number(path.slice(1))), stream);
    else void count(stream).then((bytes) => stream.end(String(bytes)));
  });
  inside = await startInside([ONE, TWO], [authority.certificatePem, two.caPem]);
  targets = {
    one: `${ONE}:${typeof address === 'object' && address !== null ? address.port : 0}`,
    two: `${TWO}:${two.port}`,
  };
  await inside.bind('e', Object.values(targets));
});

afterAll(async () => {
  await inside?.close();
  one?.closeAllConnections();
  await Promise.all([new Promise((resolve) => one?.close(resolve)), two?.close()]);
});

const CHUNK = Buffer.alloc(65_536, 'x');

function pour(bytes: number): Readable {
  let left = bytes;
  return new Readable({
    read() {
      left -= CHUNK.length;
      this.push(left >= 0 ? CHUNK : null);
    },
  });
}

/** Reads to the end. @param watch told of each chunk */
async function count(from: Readable, watch: () => void = () => {}): Promise<number> {
  let bytes = 0;
  const sink = new Writable({
    write(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      watch();
      done();
    },
  });
  await pipeline(from, sink);
  return bytes;
}

type Transfer = (method: 'GET' | 'POST', bytes: number, watch: () => void) => Promise<number>;

const overHttp1: Transfer = async (method, bytes, watch) => {
  const secured = await inside.enter('e', targets.one);
  const options = {
    createConnection: () => secured,
    method,
    path: `/${bytes}`,
    headers: { host: targets.one },
  };
  const asked = request(options);
  const answered = new Promise<Readable>((resolve) => asked.once('response', resolve));
  if (method === 'GET') asked.end();
  else await pipeline(watched(pour(bytes), watch), asked);
  const answer = await answered;
  const came = method === 'GET' ? await count(answer, watch) : Number((await answer.toArray()).join(''));
  secured.destroy();
  return came;
};

const overHttp2: Transfer = async (method, bytes, watch) => {
  const session = await inside.session('e', targets.two);
  const head = { ':method': method, ':path': `/${bytes}`, ':authority': targets.two };
  const stream = session.request(head, { endStream: method === 'GET' });
  if (method === 'POST') watched(pour(bytes), watch).pipe(stream);
  const came = method === 'GET' ? await count(stream, watch) : Number((await stream.toArray()).join(''));
  session.destroy();
  return came;
};

function watched(from: Readable, watch: () => void): Readable {
  from.on('data', watch).pause();
  return from;
}

it.each([
  ['down in HTTP/1.1', overHttp1, 'GET'],
  ['up in HTTP/1.1', overHttp1, 'POST'],
  ['down in HTTP/2', overHttp2, 'GET'],
  ['up in HTTP/2', overHttp2, 'POST'],
] as const)('2 GiB %s', async (_name, transfer, method) => {
  await transfer(method, WARM_UP, () => {});
  const before = process.memoryUsage.rss();
  let most = before;
  let chunks = 0;
  const came = await transfer(method, SIZE, () => {
    chunks += 1;
    if (chunks % 256 === 0) most = Math.max(most, process.memoryUsage.rss());
  });
  expect(came).toBe(SIZE);
  expect((most - before) / MIB).toBeLessThan(64);
});

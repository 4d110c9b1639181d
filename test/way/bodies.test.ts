/**
 * Large bodies through interceptions, both ways at once and in both protocols: every byte comes, in order, and a reader
 * that stops holds the sender back instead of filling the gate.
 */
import { createHash, type Hash } from 'node:crypto';
import type { ServerHttp2Stream } from 'node:http2';
import { createServer, request, type Server } from 'node:https';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeAuthority, openAuthority } from '../../certs/authority.ts';
import { issueLeaf } from '../../certs/leaf.ts';
import { type Http2Origin, startHttp2Origin } from '../support/http2-origin.ts';
import { type Inside, startInside } from '../support/inside.ts';

const ONE = 'one.bound.test';
const TWO = 'two.bound.test';
const MIB = 1024 * 1024;
const SIZE = 16 * MIB;

let one: Server;
let two: Http2Origin;
let inside: Inside;
let targets: { readonly one: string; readonly two: string };

beforeAll(async () => {
  const authority = openAuthority(makeAuthority({ name: 'Test origin one', now: new Date() }));
  const leaf = issueLeaf(authority, ONE, new Date());
  one = createServer({ cert: leaf.certificatePem, key: leaf.keyPem }, (asked, answer) => {
    answer.flushHeaders();
    asked.pipe(answer);
  });
  await new Promise<void>((resolve) => one.listen(0, '127.0.0.1', resolve));
  const address = one.address();
  two = await startHttp2Origin(TWO, { settings: { initialWindowSize: MIB } });
  two.serve(({ stream }) => {
    stream.respond({ ':status': 200 });
    stream.pipe(stream);
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

/** Bytes that repeat nowhere near, so that a lost or doubled piece shows. */
function source(hash: Hash): Readable {
  let block = 0;
  return new Readable({
    read() {
      if (block === SIZE / 65_536) {
        this.push(null);
        return;
      }
      const bytes = Buffer.alloc(65_536);
      for (let at = 0; at < bytes.length; at += 4) bytes.writeUInt32BE((block << 16) | (at >> 2), at);
      block += 1;
      hash.update(bytes);
      this.push(bytes);
    },
  });
}

function sink(hash: Hash): Transform {
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      hash.update(chunk);
      done();
    },
  });
}

describe('16 MiB there and back, each byte', { timeout: 120_000 }, () => {
  it('in HTTP/1.1', async () => {
    const sent = createHash('sha256');
    const came = createHash('sha256');
    const secured = await inside.enter('e', targets.one);
    const asked = request({
      createConnection: () => secured,
      method: 'POST',
      headers: { host: targets.one },
    });
    const answered = new Promise<Readable>((resolve) => asked.once('response', resolve));
    await Promise.all([
      pipeline(source(sent), asked),
      answered.then((answer) => pipeline(answer, sink(came).resume())),
    ]);
    expect(came.digest('hex')).toBe(sent.digest('hex'));
    secured.destroy();
  });

  it('in HTTP/2, two streams at once', async () => {
    const session = await inside.session('e', targets.two, { settings: { initialWindowSize: MIB } });
    const transfer = async () => {
      const sent = createHash('sha256');
      const came = createHash('sha256');
      const stream = session.request({ ':method': 'POST', ':path': '/', ':authority': targets.two });
      await Promise.all([pipeline(source(sent), stream), pipeline(stream, sink(came).resume())]);
      expect(came.digest('hex')).toBe(sent.digest('hex'));
    };
    await Promise.all([transfer(), transfer()]);
    session.destroy();
  });
});

describe('a reader that stops', () => {
  it('stops the origin of an HTTP/2 stream; other streams of the session go on', async () => {
    const offered: { bytes: number } = { bytes: 0 };
    const pour = (stream: ServerHttp2Stream): void => {
      const chunk = Buffer.alloc(65_536);
      const more = () => {
        for (let room = true; room && !stream.destroyed; offered.bytes += chunk.length)
          room = stream.write(chunk);
      };
      stream.on('drain', more);
      more();
    };
    two.serve(({ stream, raw }) => {
      stream.respond({ ':status': 200 });
      if (raw.includes('/pour')) pour(stream);
      else stream.end('quick');
    });
    const session = await inside.session('e', targets.two);
    const stopped = session.request({ ':path': '/pour', ':authority': targets.two });
    stopped.on('error', () => {});
    await new Promise((resolve) => stopped.once('response', resolve));
    stopped.pause();
    for (let i = 0; i < 20; i++) {
      const quick = session.request({ ':path': '/quick', ':authority': targets.two });
      const body = await quick.setEncoding('latin1').toArray();
      expect(body.join('')).toBe('quick');
    }
    // The windows of both hops, and what the sockets between them hold.
    expect(offered.bytes).toBeLessThan(8 * MIB);
    session.destroy();
  });
});

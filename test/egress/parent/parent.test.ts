/** The way through parent proxies that do what parents do: each answer, split, slow, broken, or none. */
import type { Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { Allow } from '../../../core-lite/decision.ts';
import { parseParentProxy } from '../../../core-lite/network/parent-proxy.ts';
import { Resolver } from '../../../core-lite/network/resolve.ts';
import { parseTarget } from '../../../core-lite/network/target.ts';
import { makeLine, writeRequestHead } from '../../../egress/http1/write-head.ts';
import { ParentFailure } from '../../../egress/parent/failure.ts';
import { Parent } from '../../../egress/parent/parent.ts';
import { secureParent, trustOf } from '../../../egress/parent/secure-parent.ts';
import { connectTo, Peer } from '../../support/client.ts';
import { echo, freePort, type Origin, startOrigin } from '../../support/origin.ts';
import {
  SOCKS_OPEN,
  startHttpParent,
  startSocksParent,
  type TestParent,
  type TestParentOptions,
} from '../../support/parent.ts';

const PROOF = new Allow('allowlisted');
const opened: { close(): unknown }[] = [];
const stop = new AbortController().signal;

afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each.close();
});

interface Used {
  readonly host?: string;
  readonly login?: string;
  readonly extraRoots?: readonly string[];
  readonly limitMs?: number;
  readonly hosts?: ReadonlyMap<string, readonly string[]>;
}

/** The product's side of a parent. */
function use(scheme: string, port: number, used: Used = {}): Parent {
  const { host = '127.0.0.1', login, extraRoots = [], limitMs = 5_000, hosts = new Map() } = used;
  const proxy = parseParentProxy(`${scheme}://${login === undefined ? '' : `${login}@`}${host}:${port}`);
  if (typeof proxy === 'string') throw new Error(proxy);
  const resolver = new Resolver({ servers: ['127.0.0.1:9'], hosts, timeoutMs: 200, now: () => 0 });
  opened.push(resolver);
  return new Parent({ proxy, resolver, extraRoots, limitMs });
}

async function start(scheme: string, options: TestParentOptions): Promise<TestParent> {
  const parent = await (scheme === 'socks5' ? startSocksParent : startHttpParent)(options);
  opened.push(parent);
  return parent;
}

function aim(port: number, host = 'origin.test') {
  const target = parseTarget(`${host}:${port}`);
  if (!target) throw new Error('no target');
  return target;
}

/** What a parent that answers so comes to: a code, or what came through the tunnel. */
async function outcome(scheme: string, answer: (socket: Socket) => void, count = 0): Promise<string> {
  const parent = await start(scheme, { answer });
  const result = await use(scheme, parent.port).tunnel(PROOF, aim(443), stop);
  if (result instanceof ParentFailure) {
    await expect.poll(() => parent.open).toBe(0);
    return `${result.refusal} ${result.code}`;
  }
  const peer = new Peer(result);
  opened.push(peer);
  return peer.text(count);
}

/** Writes in pieces of one byte, each in a packet of its own. */
function trickle(socket: Socket, bytes: Buffer): void {
  socket.setNoDelay(true);
  const next = (at: number): void => {
    if (at < bytes.length) socket.write(bytes.subarray(at, at + 1), () => setImmediate(next, at + 1));
  };
  next(0);
}

describe.each(['http', 'https', 'socks5'])('through a parent over %s', (scheme) => {
  const name = scheme === 'https' ? { name: 'proxy.test' } : {};
  const known = { host: 'proxy.test', hosts: new Map([['proxy.test', ['127.0.0.1']]]) };

  it.each([undefined, 'us%40er:pass'])('a tunnel carries bytes and half-closes; login %s', async (login) => {
    const origin: Origin = await startOrigin();
    opened.push(origin);
    const parent = await start(scheme, { ...name, ...(login ? { login: decodeURIComponent(login) } : {}) });
    const used = { ...known, extraRoots: parent.caPem ? [parent.caPem] : [], ...(login ? { login } : {}) };
    const socket = await use(scheme, parent.port, used).tunnel(PROOF, aim(origin.port), stop);
    if (socket instanceof ParentFailure) throw new Error(socket.code);
    expect(parent.asked).toEqual([`origin.test:${origin.port}`]);
    const [ours, theirs] = [new Peer(socket), await origin.accept()];
    ours.send('hello').finish();
    expect(await theirs.text(5)).toBe('hello');
    expect(await theirs.ending()).toBe('end');
    theirs.send('late reply').finish();
    expect(await ours.text(10)).toBe('late reply');
    ours.close();
  });

  it.each([undefined, 'user:wrong'])('none without its login: %s', async (login) => {
    const parent = await start(scheme, { ...name, login: 'user:right' });
    const used = { ...known, extraRoots: parent.caPem ? [parent.caPem] : [], ...(login ? { login } : {}) };
    const failure = await use(scheme, parent.port, used).tunnel(PROOF, aim(443), stop);
    expect(failure).toMatchObject({ refusal: 'parent_failed', code: expect.stringMatching(/^PARENT_AUTH$/) });
    expect(parent.asked).toEqual([]);
    await expect.poll(() => parent.open).toBe(0);
  });

  it('none where nothing listens, or its name is unknown', async () => {
    const port = await freePort();
    const dead = await use(scheme, port).tunnel(PROOF, aim(443), stop);
    expect(dead).toMatchObject({ refusal: 'parent_failed', code: 'PARENT_UNREACHABLE' });
    const nameless = await use(scheme, port, { host: 'gone.test' }).tunnel(PROOF, aim(443), stop);
    expect(nameless).toMatchObject({ refusal: 'parent_failed', code: 'PARENT_UNRESOLVED' });
  });

  it('one that is silent is given up in time, and freed', async () => {
    const silent = await startOrigin();
    opened.push(silent);
    const failure = await use(scheme, silent.port, { limitMs: 100 }).tunnel(PROOF, aim(443), stop);
    expect(failure).toMatchObject({ refusal: 'parent_failed', code: 'PARENT_TIMEOUT' });
    await (await silent.accept()).ending();
  });

  it('a client that leaves meanwhile frees all of it', async () => {
    const silent = await startOrigin();
    opened.push(silent);
    const leaving = new AbortController();
    const asked = use(scheme, silent.port).tunnel(PROOF, aim(443), leaving.signal);
    const theirs = await silent.accept();
    leaving.abort();
    expect(await asked).toBeInstanceOf(ParentFailure);
    await theirs.ending();
    const before = use(scheme, silent.port).tunnel(PROOF, aim(443), AbortSignal.abort());
    expect(await before).toBeInstanceOf(ParentFailure);
    expect(silent.reached).toBe(1);
  });
});

describe('an answer of an HTTP parent', () => {
  it.each([
    ['HTTP/1.1 200 OK\r\n\r\nEARLY'],
    ['HTTP/1.0 200 Connection established\r\nX: y\r\n\r\nEARLY'],
    ['HTTP/1.1 204\r\nContent-Length: 40\r\nTransfer-Encoding: chunked\r\n\r\nEARLY'],
    ['HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\n\r\nEARLY'],
  ])('opens: %j, at once and byte by byte', async (text) => {
    expect(await outcome('http', (socket) => socket.write(text), 5)).toBe('EARLY');
    expect(await outcome('http', (socket) => trickle(socket, Buffer.from(text)), 5)).toBe('EARLY');
  });

  it.each([
    ['HTTP/1.1 403 Forbidden\r\n\r\nPOISON', 'parent_failed PARENT_REFUSED_403'],
    ['HTTP/1.1 302 Found\r\nLocation: http://x/\r\n\r\n', 'parent_failed PARENT_REFUSED_302'],
    ['HTTP/1.1 500 No\r\n\r\n', 'parent_failed PARENT_REFUSED_500'],
    ['HTTP/1.1 407 No\r\nProxy-Authenticate: Basic\r\n\r\n', 'parent_failed PARENT_AUTH'],
    ['HTTP/1.1 502 Bad Gateway\r\n\r\n', 'connect_failed PARENT_ANSWERED_502'],
    ['HTTP/1.1 504 Late\r\n\r\n', 'connect_failed PARENT_ANSWERED_504'],
    ['HTTP/1.1 101 Switching Protocols\r\n\r\n', 'parent_failed PARENT_MALFORMED'],
    ['HTTP/2 200\r\n\r\n', 'parent_failed PARENT_MALFORMED'],
    ['HTTP/1.1 20 OK\r\n\r\n', 'parent_failed PARENT_MALFORMED'],
    ['HTTP/1.1 200 OK\r\n folded: x\r\n\r\n', 'parent_failed PARENT_MALFORMED'],
    ['SSH-2.0-x\r\n\r\n', 'parent_failed PARENT_MALFORMED'],
    ['x'.repeat(20_000), 'parent_failed PARENT_MALFORMED'],
    [`HTTP/1.1 200 OK\r\nX: ${'y'.repeat(20_000)}\r\n\r\n`, 'parent_failed PARENT_MALFORMED'],
    ['HTTP/1.1 100 Continue\r\n\r\n'.repeat(9), 'parent_failed PARENT_MALFORMED'],
  ])('opens nothing: %.60j', async (text, expected) => {
    expect(await outcome('http', (socket) => socket.write(text))).toBe(expected);
  });

  it.each(['', 'HTTP/1.1 200 OK\r\nX: y\r\n'])(
    'that ends or breaks off after %j opens nothing',
    async (text) => {
      const closed = 'parent_failed PARENT_CLOSED';
      expect(await outcome('http', (socket) => socket.end(text))).toBe(closed);
      expect(await outcome('http', (socket) => socket.resetAndDestroy())).toBe(closed);
    },
  );
});

describe('an answer of a SOCKS5 parent', () => {
  const bound = (...bytes: number[]) => Buffer.from([5, 0, 0, ...bytes]);

  it.each([
    ['an IPv4 address', SOCKS_OPEN],
    ['an IPv6 address', bound(4, ...new Array(18).fill(7))],
    ['a name', bound(3, 3, 97, 98, 99, 0, 80)],
  ])('opens, with %s, at once and byte by byte', async (_kind, reply) => {
    const bytes = Buffer.concat([reply, Buffer.from('EARLY')]);
    expect(await outcome('socks5', (socket) => socket.write(bytes), 5)).toBe('EARLY');
    expect(await outcome('socks5', (socket) => trickle(socket, bytes), 5)).toBe('EARLY');
  });

  it.each([
    [[5, 1, 0, 1], 'connect_failed PARENT_ANSWERED_SOCKS_1'],
    [[5, 2, 0, 1], 'parent_failed PARENT_REFUSED_SOCKS_2'],
    [[5, 3, 0, 1], 'connect_failed PARENT_ANSWERED_SOCKS_3'],
    [[5, 4, 0, 1], 'connect_failed PARENT_ANSWERED_SOCKS_4'],
    [[5, 5, 0, 1], 'connect_failed PARENT_ANSWERED_SOCKS_5'],
    [[5, 6, 0, 1], 'connect_failed PARENT_ANSWERED_SOCKS_6'],
    [[5, 7, 0, 1], 'parent_failed PARENT_REFUSED_SOCKS_7'],
    [[5, 8, 0, 1], 'parent_failed PARENT_REFUSED_SOCKS_8'],
    [[5, 9, 0, 1], 'parent_failed PARENT_MALFORMED'],
    [[4, 0, 0, 1], 'parent_failed PARENT_MALFORMED'],
    [[5, 0, 1, 1], 'parent_failed PARENT_MALFORMED'],
    [[5, 0, 0, 2], 'parent_failed PARENT_MALFORMED'],
    [[5, 0, 0, 3, 0], 'parent_failed PARENT_MALFORMED'],
  ])('opens nothing: %j', async (bytes, expected) => {
    expect(await outcome('socks5', (socket) => socket.write(Buffer.from(bytes)))).toBe(expected);
  });

  it.each([[[]], [[5, 0]], [[5, 0, 0, 3]], [[5, 0, 0, 1, 0, 0]]])(
    'that ends after %j opens nothing',
    async (bytes) => {
      const closed = 'parent_failed PARENT_CLOSED';
      expect(await outcome('socks5', (socket) => socket.end(Buffer.from(bytes)))).toBe(closed);
    },
  );

  it.each([
    [[4, 0], 'PARENT_MALFORMED'],
    [[5, 1], 'PARENT_MALFORMED'],
    [[5, 2], 'PARENT_MALFORMED'],
    [[5, 0xff], 'PARENT_AUTH'],
    [[72, 84], 'PARENT_MALFORMED'],
  ])('to the greeting: %j', async (bytes, code) => {
    const odd = await startOrigin({ behave: (socket) => socket.write(Buffer.from(bytes)) });
    opened.push(odd);
    const result = await use('socks5', odd.port).tunnel(PROOF, aim(443), stop);
    expect(result).toMatchObject({ refusal: 'parent_failed', code });
  });
});

describe('an https parent', () => {
  it('whose certificate is of no known root, or for another name, gets no byte of the login', async () => {
    const parent = await start('https', { name: 'proxy.test' });
    const hosts = new Map([
      ['proxy.test', ['127.0.0.1']],
      ['other.test', ['127.0.0.1']],
    ]);
    const login = 'user:canary';
    const unknown = use('https', parent.port, { host: 'proxy.test', hosts, login });
    expect(await unknown.tunnel(PROOF, aim(443), stop)).toMatchObject({
      code: 'PARENT_TLS_UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    });
    for (const host of ['other.test', '127.0.0.1']) {
      const wrong = use('https', parent.port, { host, hosts, login, extraRoots: [parent.caPem] });
      expect(await wrong.tunnel(PROOF, aim(443), stop)).toMatchObject({
        refusal: 'parent_failed',
        code: 'PARENT_TLS_ERR_TLS_CERT_ALTNAME_INVALID',
      });
    }
    expect(parent.heads).toEqual([]);
  });

  it('is not waited for when its client left just before', async () => {
    const silent = await startOrigin();
    opened.push(silent);
    const { socket } = await connectTo(silent.port);
    const result = await secureParent(socket, 'proxy.test', trustOf([]), AbortSignal.abort());
    expect(result).toMatchObject({ code: 'PARENT_TLS_CLOSED' });
    socket.destroy();
  });

  it('that speaks no TLS is none', async () => {
    const plain = await startOrigin({ behave: echo });
    opened.push(plain);
    const result = await use('https', plain.port).tunnel(PROOF, aim(443), stop);
    expect(result).toMatchObject({
      refusal: 'parent_failed',
      code: expect.stringMatching(/^PARENT_TLS_ERR_SSL_/),
    });
  });
});

describe('the head of a plain request', () => {
  const head = { method: 'GET', target: '/a/../b?c', minor: 1, headers: [makeLine('Host', 'origin.test')] };

  it.each([
    [80, '/a/../b?c', 'http://origin.test/a/../b?c'],
    [8080, '/', 'http://origin.test:8080/'],
    [80, '*', 'http://origin.test'],
  ])('to port %i of %s is %s for an HTTP parent, and has its login', (port, path, written) => {
    const sent = use('https', 1, { login: 'u:p' }).plainHead({ ...head, target: path }, aim(port));
    expect(writeRequestHead(sent).toString()).toBe(
      `GET ${written} HTTP/1.1\r\nHost: origin.test\r\nProxy-Authorization: Basic dTpw\r\n\r\n`,
    );
    expect(use('http', 1).plainHead({ ...head, target: path }, aim(port)).headers).toEqual(head.headers);
  });

  it('through SOCKS5 is what the origin gets', () => {
    expect(use('socks5', 1, { login: 'u:p' }).plainHead(head, aim(80))).toBe(head);
  });
});

describe('the check of doctor', () => {
  it('is content with any refusal but that of the login', async () => {
    const answer = (socket: Socket) => socket.write('HTTP/1.1 403 No\r\n\r\n');
    const parent = await start('http', { login: 'u:p', answer });
    expect(await use('http', parent.port, { login: 'u:p' }).check(stop)).toBe('answered');
    expect(parent.asked).toEqual(['sallyport.invalid:443']);
    expect(await use('http', parent.port).check(stop)).toMatchObject({ code: 'PARENT_AUTH' });
    await expect.poll(() => parent.open).toBe(0);
  });

  it.each(['http', 'socks5'] as const)('tells a hang-up of a %s parent from a failure', async (scheme) => {
    const parent = await start(scheme, { answer: (socket) => socket.end() });
    expect(await use(scheme, parent.port).check(stop)).toBe('closed');
  });

  it('is not content with words that it cannot read', async () => {
    const parent = await start('http', { answer: (socket) => socket.end('220 mail\r\n\r\n') });
    expect(await use('http', parent.port).check(stop)).toMatchObject({ code: 'PARENT_MALFORMED' });
  });
});

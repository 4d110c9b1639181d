/** One request to a tool over real sockets: whether a byte of it left, and that none does before it may. */
import { createServer, type Server, type Socket } from 'node:net';
import { Pool } from 'undici';
import { afterEach, describe, expect, it } from 'vitest';
import { exchange, type OutgoingRequest } from '../../../gates/act/tool-exchange.ts';

const POST: OutgoingRequest = {
  method: 'POST',
  path: '/a',
  headers: ['x-a', 'b'],
  body: Buffer.from('{"a":1}'),
};
const GET: OutgoingRequest = { method: 'GET', path: '/a?b=1', headers: [], body: null };
const DELETE: OutgoingRequest = { method: 'DELETE', path: '/a', headers: [], body: null };
const EMPTY: OutgoingRequest = { method: 'POST', path: '/a', headers: [], body: null };
const REQUESTS = { POST, GET, DELETE, EMPTY };
const OK = 'HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 2\r\n\r\nok';
const NEVER = new AbortController().signal;

interface Target {
  readonly pool: Pool;
  /** All that came, over all connections. */
  readonly got: () => string;
  readonly connections: Socket[];
  /** Resolves once there is one, or one more. */
  connected(count: number): Promise<void>;
}

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

async function target(
  behave: (socket: Socket, got: string) => void = (socket) => socket.write(OK),
): Promise<Target> {
  let got = '';
  const connections: Socket[] = [];
  let onConnection = (): void => {};
  const server: Server = createServer((socket) => {
    connections.push(socket);
    socket
      .on('error', () => {})
      .on('data', (chunk) => {
        got += chunk;
        behave(socket, got);
      });
    onConnection();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const pool = new Pool(`http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`);
  closing.push(
    async () => new Promise((resolve) => server.close(resolve)),
    async () => connections.map((socket) => socket.destroy()),
    () => pool.destroy(),
  );
  const connected = async (count: number): Promise<void> => {
    while (connections.length < count) await new Promise<void>((resolve) => (onConnection = resolve));
  };
  return { pool, got: () => got, connections, connected };
}

/** Asked, and answered when the test says so. */
function sender() {
  const asked = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<boolean>();
  let times = 0;
  const send = (): Promise<boolean> => {
    times += 1;
    asked.resolve();
    return answer.promise;
  };
  return { send, asked: asked.promise, answer, times: () => times };
}

/** A round trip over a connection of its own: whatever was written before has come by then. */
async function settle(server: Target): Promise<void> {
  const before = server.connections.length;
  const other = new Pool(`http://127.0.0.1:${server.connections[0]?.localPort}`);
  await new Promise<void>((resolve) => {
    other.connect({ path: 'x:1' }).then(
      () => resolve(),
      () => resolve(),
    );
    void server.connected(before + 1).then(async () => {
      for (const socket of server.connections.slice(before)) socket.destroy();
    });
  });
  await other.destroy();
}

describe('a request that asks before it is sent', () => {
  it.each(['POST', 'GET', 'DELETE', 'EMPTY'] as const)(
    '%s: writes nothing before the word, and then all',
    async (name) => {
      const server = await target();
      const run = sender();
      const ended = exchange(server.pool, REQUESTS[name], run, NEVER);
      await run.asked;
      await server.connected(1);
      await settle(server);
      expect(server.connections[0]?.bytesRead).toBe(0);
      run.answer.resolve(true);
      expect(await ended).toMatchObject({ status: 200, body: Buffer.from('ok') });
      const { method, path, body } = REQUESTS[name];
      expect(server.got()).toMatch(new RegExp(`^${method} ${path.replace('?', '\\?')} HTTP/1\\.1\r\n`));
      expect(server.got().endsWith(`\r\n\r\n${body ?? ''}`)).toBe(true);
      expect(run.times()).toBe(1);
    },
  );

  it.each(['POST', 'GET'] as const)('%s: writes nothing where it may not', async (name) => {
    const server = await target();
    const ended = await exchange(server.pool, REQUESTS[name], { send: async () => false }, NEVER);
    expect(ended).toEqual({ failure: 'http.stopped' });
    await settle(server);
    expect(server.connections[0]?.bytesRead).toBe(0);
  });

  it('writes nothing where nobody can tell, and says so', async () => {
    const server = await target();
    const fault = new Error('the database');
    const send = () => Promise.reject(fault);
    await expect(exchange(server.pool, POST, { send }, NEVER)).rejects.toBe(fault);
    await settle(server);
    expect(server.connections[0]?.bytesRead).toBe(0);
  });

  it('was not sent where the connection went while it was asked', async () => {
    const server = await target();
    const run = sender();
    const ended = exchange(server.pool, POST, run, NEVER);
    await run.asked;
    await server.connected(1);
    server.connections[0]?.resetAndDestroy();
    expect(await ended).toEqual({ failure: 'http.unreachable' });
    run.answer.resolve(true);
    expect(server.got()).toBe('');
  });

  it('is not asked where there is no connection', async () => {
    const server = await target();
    const gone = new Pool('http://127.0.0.1:1');
    closing.push(() => gone.destroy());
    const run = sender();
    expect(await exchange(gone, POST, run, NEVER)).toEqual({ failure: 'http.unreachable' });
    expect([run.times(), server.got()]).toEqual([0, '']);
  });

  it('writes nothing when it is stopped while it is asked', async () => {
    const server = await target();
    const run = sender();
    const stop = new AbortController();
    const ended = exchange(server.pool, POST, run, stop.signal);
    await run.asked;
    stop.abort(new Error('stopped'));
    await expect(ended).rejects.toThrow('stopped');
    run.answer.resolve(true);
    await settle(server);
    expect(server.got()).toBe('');
  });

  it('does nothing when it is stopped before', async () => {
    const server = await target();
    const run = sender();
    await expect(exchange(server.pool, POST, run, AbortSignal.abort(new Error('before')))).rejects.toThrow(
      'before',
    );
    expect([run.times(), server.connections.length]).toEqual([0, 0]);
  });
});

describe('a request that was sent', () => {
  it.each<[name: string, behave: (socket: Socket) => void, failure: string]>([
    ['a reset before the answer', (socket) => socket.resetAndDestroy(), 'http.lost'],
    ['an end before the answer', (socket) => socket.end(), 'http.lost'],
    ['an end in the head', (socket) => socket.end('HTTP/1.1 200 OK\r\nx: 1'), 'http.lost'],
    ['an end in the body', (socket) => socket.end(`${OK.slice(0, -1)}`), 'http.lost'],
    [
      'a reset in the body',
      (socket) => socket.write(OK.slice(0, -1), () => socket.resetAndDestroy()),
      'http.lost',
    ],
    [
      'an end in a chunk',
      (socket) => socket.end('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nab'),
      'http.lost',
    ],
    ['no HTTP', (socket) => socket.end('nonsense\r\n\r\n'), 'http.invalid-response'],
    [
      'no chunk',
      (socket) => socket.end('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n'),
      'http.invalid-response',
    ],
    [
      'two lengths',
      (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n'),
      'http.invalid-response',
    ],
    [
      'a giant head',
      (socket) => socket.write(`HTTP/1.1 200 OK\r\nx: ${'x'.repeat(1 << 17)}\r\n\r\n`),
      'http.too-large',
    ],
    ['a redirect', (socket) => socket.write(`HTTP/1.1 302 Found\r\nlocation: /b\r\n\r\n`), 'http.refused'],
    ['an upgrade', (socket) => socket.write(`HTTP/1.1 101 Switching\r\nupgrade: x\r\n\r\n`), 'http.lost'],
  ])('is never sent again: %s', async (_, behave, failure) => {
    const server = await target((socket) => behave(socket));
    const ended = await exchange(server.pool, GET, null, NEVER);
    expect(ended).toMatchObject({ failure });
    expect([server.connections.length, server.got().match(/GET/g)?.length]).toEqual([1, 1]);
  });

  it.each(['POST', 'GET'] as const)(
    '%s: is not sent again from a kept connection that goes',
    async (name) => {
      let count = 0;
      const server = await target((socket) => {
        count += 1;
        if (count === 1) socket.write(OK);
        else socket.resetAndDestroy();
      });
      expect(await exchange(server.pool, POST, null, NEVER)).toMatchObject({ status: 200 });
      // undici looks at a connection that was used before it is used again.
      await new Promise((resolve) => setImmediate(resolve));
      expect(await exchange(server.pool, REQUESTS[name], null, NEVER)).toEqual({ failure: 'http.lost' });
      expect([server.connections.length, count]).toEqual([1, 2]);
    },
  );
});

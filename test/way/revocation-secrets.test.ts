/**
 * A secret that is taken away, limited or rotated while others stay bound to its host: what goes on under it ends, and
 * what has not left yet leaves with what is true now.
 */
import { createServer, type Server, type Socket, connect as tcp } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Peer } from '../support/client.ts';
import { type Http2Origin, startHttp2Origin } from '../support/http2-origin.ts';
import { type Inside, readStream, startInside } from '../support/inside.ts';
import { startTlsOrigin, type TlsOrigin } from '../support/tls-origin.ts';

const ONE = 'one.bound.test';
const TWO = 'two.bound.test';
let one: TlsOrigin;
let two: Http2Origin;
/** Before `behind`: it lets a connection wait for as long as the test wants. */
let door: Server;
let behind: { readonly port: number };
let waiting: ((open: () => void) => void) | null = null;
let inside: Inside;
let count = 0;
const open: Peer[] = [];

beforeAll(async () => {
  [one, two] = await Promise.all([startTlsOrigin({ name: ONE }), startHttp2Origin(TWO)]);
  inside = await startInside([ONE, TWO], [one.caPem, two.caPem]);
  door = createServer({ pauseOnConnect: true }, (socket) => {
    const through = () => join(socket, tcp(behind.port, '127.0.0.1'));
    if (waiting) waiting(through);
    else through();
  });
  await new Promise<void>((resolve) => door.listen(0, '127.0.0.1', resolve));
});
beforeEach(() => {
  count += 1;
  one.forget();
  behind = one;
});
afterEach(() => {
  waiting = null;
  for (const peer of open.splice(0)) peer.close();
});
afterAll(async () => {
  door?.close();
  await inside?.close();
  await Promise.all([one?.close(), two?.close()]);
});

function join(a: Socket, b: Socket): void {
  for (const [from, to] of [
    [a, b],
    [b, a],
  ] as const)
    from.on('error', () => to.destroy()).pipe(to);
}

/** An environment with two secrets for one host, each for paths of its own. */
async function bindTwo(target: string): Promise<string> {
  const environment = `two${count}`;
  for (const name of ['a', 'b']) {
    await inside.gate.world.call('PUT', `/v1/vaults/v/credentials/${name}${count}`, {
      kind: 'environment_secret',
      variable: name.toUpperCase(),
      hosts: [target],
      rules: { paths: [`/${name}/`] },
      secret: { value: `secret-of-path-${name}` },
    });
  }
  await inside.gate.put(environment, { allow: [target], credentials: [`v/a${count}`, `v/b${count}`] });
  return environment;
}

const takeAway = (environment: string, target: string) =>
  inside.gate.put(environment, { allow: [target], credentials: [`v/b${count}`] });
const upgrade = (target: string) =>
  `GET /a/ws HTTP/1.1\r\nHost: ${target}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n';
const SWITCH =
  'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
  'Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n';
const ending = () => inside.gate.rows(`&environment=two${count}`).then(([row]) => row?.end?.reason);

async function enter(environment: string, target: string): Promise<Peer> {
  const client = new Peer(await inside.enter(environment, target, { ALPNProtocols: ['http/1.1'] }));
  open.push(client);
  return client;
}

/** Each takes the secret of `/a/` away from what goes on under it. */
const LOSSES: [string, (environment: string, target: string) => Promise<unknown>][] = [
  ['bound no more', takeAway],
  ['limited to another path', (_, target) => putA(target, { paths: ['/c/'] }, 'secret-of-path-a')],
  ['limited to another method', (_, target) => putA(target, { methods: ['DELETE'] }, 'secret-of-path-a')],
];

it.each(LOSSES)('a WebSocket whose secret is %s', async (_name, lose) => {
  const target = `${ONE}:${one.port}`;
  const environment = await bindTwo(target);
  const client = await enter(environment, target);
  client.send(upgrade(target));
  const origin = await one.next();
  expect((await origin.answer()).text).toContain('Bearer secret-of-path-a');
  origin.send(SWITCH);
  expect((await client.answer()).status).toBe(101);
  await lose(environment, target);
  await client.ending();
  await origin.ending();
  await expect.poll(ending).toBe('secret_unbound');
});

it('a WebSocket whose secret is rotated goes on', async () => {
  const target = `${ONE}:${one.port}`;
  const client = await enter(await bindTwo(target), target);
  client.send(upgrade(target));
  const origin = await one.next();
  await origin.answer();
  origin.send(SWITCH);
  await client.answer();
  await putA(target, { paths: ['/a/'] }, 'the-next-secret-of-a');
  client.send('still');
  expect(await origin.text(5)).toBe('still');
});

it.each(LOSSES)('a stream of HTTP/2 whose secret is %s', async (_name, lose) => {
  const target = `${TWO}:${two.port}`;
  const environment = await bindTwo(target);
  const over = new Promise((resolve) => {
    two.serve(({ stream }) => {
      stream.on('error', () => {}).once('close', resolve);
      stream.respond({ ':status': 200 });
    });
  });
  const session = await inside.session(environment, target);
  const stream = session.request({ ':method': 'POST', ':path': '/a/x', ':authority': target });
  await new Promise((resolve) => stream.on('error', () => {}).once('response', resolve));
  await lose(environment, target);
  await over;
  await expect.poll(ending).toBe('secret_unbound');
  session.destroy();
});

it('a request that waits for its origin: the secret is never sent', async () => {
  const address = door.address();
  const target = `${ONE}:${typeof address === 'object' ? address?.port : 0}`;
  const environment = await bindTwo(target);
  const client = await enter(environment, target);
  client.send(`GET /b/1 HTTP/1.1\r\nHost: ${target}\r\n\r\n`);
  const first = await one.next();
  await first.answer();
  const knocked = new Promise<() => void>((resolve) => {
    waiting = resolve;
  });
  first.send('HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n');
  await client.answer();
  client.send(`GET /a/1 HTTP/1.1\r\nHost: ${target}\r\n\r\n`);
  const letThrough = await knocked;
  await takeAway(environment, target);
  await client.ending();
  const before = one.peers.length;
  letThrough();
  await expect.poll(ending).toBe('secret_unbound');
  expect(one.peers.slice(before).map(({ received }) => received.length)).toEqual([]);
});

/** The target behind the door of this host, in an environment of its own. */
async function throughDoor(host: string): Promise<{ environment: string; target: string }> {
  const address = door.address();
  const target = `${host}:${typeof address === 'object' ? address?.port : 0}`;
  return { environment: await bindTwo(target), target };
}

function knock(): Promise<() => void> {
  return new Promise((resolve) => {
    waiting = resolve;
  });
}

/** Another value or other rules for the secret of `/a/`; the gate knows of it when this resolves. */
async function putA(target: string, rules: object, value: string): Promise<void> {
  const marker = `marker${count}`;
  const elsewhere = `${ONE}:${one.port}`;
  await inside.gate.put(marker, { allow: [elsewhere] });
  const tunnel = await inside.gate.connect(elsewhere, await inside.gate.world.token(marker));
  expect((await tunnel.answer()).status).toBe(200);
  await inside.gate.world.call('PUT', `/v1/vaults/v/credentials/a${count}`, {
    kind: 'environment_secret',
    variable: 'A',
    hosts: [target],
    rules,
    secret: { value },
  });
  // Notices come in order: what a later one ended was told after the one before.
  await inside.gate.put(marker, { allow: [] });
  await tunnel.ending();
}

describe('a request that waits for its origin', () => {
  it('leaves with the value that its secret has by then', async () => {
    const { environment, target } = await throughDoor(ONE);
    const client = await enter(environment, target);
    client.send(`GET /b/1 HTTP/1.1\r\nHost: ${target}\r\n\r\n`);
    const first = await one.next();
    await first.answer();
    const knocked = knock();
    first.send('HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n');
    await client.answer();
    client.send(`GET /a/1 HTTP/1.1\r\nHost: ${target}\r\n\r\n`);
    const letThrough = await knocked;
    await putA(target, { paths: ['/a/'] }, 'the-next-secret-of-a');
    letThrough();
    const origin = await one.next();
    expect((await origin.answer()).text).toContain('Bearer the-next-secret-of-a');
    origin.send('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi');
    expect((await client.answer()).body).toBe('hi');
  });

  it('leaves with the value that its secret has by then, as a stream of HTTP/2', async () => {
    behind = two;
    const { environment, target } = await throughDoor(TWO);
    const seen: (readonly string[])[] = [];
    two.serve(({ stream, raw }) => {
      seen.push(raw);
      stream.respond({ ':status': 200 });
      stream.end('hi');
    });
    const session = await inside.session(environment, target);
    const knocked = knock();
    const answer = readStream(session.request({ ':path': '/a/x', ':authority': target }));
    const letThrough = await knocked;
    await putA(target, { paths: ['/a/'] }, 'the-next-secret-of-a');
    waiting = null;
    letThrough();
    expect(await answer).toMatchObject({ status: 200, body: 'hi' });
    expect(seen.map((raw) => raw.filter((text) => text.startsWith('Bearer')))).toEqual([
      ['Bearer the-next-secret-of-a'],
    ]);
    session.destroy();
  });

  it('does not leave where the rules of its secret cover it no more', async () => {
    behind = two;
    const { environment, target } = await throughDoor(TWO);
    const seen: unknown[] = [];
    two.serve(({ stream, raw }) => {
      seen.push(raw);
      stream.respond({ ':status': 200 }, { endStream: true });
    });
    const session = await inside.session(environment, target);
    const knocked = knock();
    session.request({ ':path': '/a/x', ':authority': target }).on('error', () => {});
    const letThrough = await knocked;
    await putA(target, { paths: ['/c/'] }, 'secret-of-path-a');
    letThrough();
    await expect.poll(ending).toBe('secret_unbound');
    await expect.poll(() => session.closed).toBe(true);
    expect(seen).toEqual([]);
    session.destroy();
  });
});

it('a request under the secret that stays goes on', async () => {
  const target = `${ONE}:${one.port}`;
  const environment = await bindTwo(target);
  const client = await enter(environment, target);
  client.send(`GET /b/1 HTTP/1.1\r\nHost: ${target}\r\n\r\n`);
  const origin = await one.next();
  await origin.answer();
  await takeAway(environment, target);
  client.send(`GET /b/2 HTTP/1.1\r\nHost: ${target}\r\n\r\n`);
  origin.send('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi');
  expect((await client.answer()).body).toBe('hi');
  expect((await origin.answer()).text).toContain('Bearer secret-of-path-b');
});

describe('a request that left, and then its origin went away', () => {
  /** A third secret that has the same claim to `/a/` as the first: what asks again now is refused. */
  async function contest(environment: string, target: string): Promise<void> {
    await inside.gate.world.call('PUT', `/v1/vaults/v/credentials/c${count}`, {
      kind: 'environment_secret',
      variable: 'C',
      hosts: [target],
      rules: { paths: ['/a/'] },
      secret: { value: 'another-secret-of-a' },
    });
    const credentials = ['a', 'b', 'c'].map((name) => `v/${name}${count}`);
    await inside.gate.put(environment, { allow: [target], credentials });
    await putA(target, { paths: ['/a/'] }, 'secret-of-path-a');
  }

  const rows = (environment: string) =>
    inside.gate.world.call<unknown[]>('GET', `/v1/exchanges?environment=${environment}`);
  const left = expect.objectContaining({
    path: '/a/2',
    reason: 'origin_failed',
    credentials: [expect.stringContaining('@')],
  });

  it('is recorded with the secret that it had, whatever holds when it would be asked again', async () => {
    const target = `${ONE}:${one.port}`;
    const environment = await bindTwo(target);
    const client = await enter(environment, target);
    client.send(`GET /a/1 HTTP/1.1\r\nHost: ${target}\r\n\r\n`);
    const origin = await one.next();
    await origin.answer();
    origin.send('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
    await client.answer();
    client.send(`GET /a/2 HTTP/1.1\r\nHost: ${target}\r\n\r\n`);
    await origin.answer();
    await contest(environment, target);
    origin.close();
    await client.ending();
    expect(client.received.length).toBe(0);
    await expect.poll(() => rows(environment)).toContainEqual(left);
    expect(await rows(environment)).toHaveLength(2);
  });

  it('is recorded so as a stream of HTTP/2 too', async () => {
    const target = `${TWO}:${two.port}`;
    const environment = await bindTwo(target);
    two.serve(({ stream, raw }) => {
      if (raw.includes('/a/2')) void contest(environment, target).then(() => stream.session?.destroy());
      else stream.respond({ ':status': 200 }, { endStream: true });
    });
    const session = await inside.session(environment, target);
    const ask = (path: string) => readStream(session.request({ ':path': path, ':authority': target }));
    expect((await ask('/a/1')).status).toBe(200);
    await ask('/a/2');
    await expect.poll(() => rows(environment)).toContainEqual(left);
    expect(await rows(environment)).toHaveLength(2);
    session.destroy();
  });
});

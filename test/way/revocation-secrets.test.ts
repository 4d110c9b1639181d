/** A secret that is taken away while others stay bound to its host: what goes on under it ends, whatever it is. */
import { createServer, type Server, type Socket, connect as tcp } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { Peer } from '../support/client.ts';
import { type Http2Origin, startHttp2Origin } from '../support/http2-origin.ts';
import { type Inside, startInside } from '../support/inside.ts';
import { startTlsOrigin, type TlsOrigin } from '../support/tls-origin.ts';

const ONE = 'one.bound.test';
const TWO = 'two.bound.test';
let one: TlsOrigin;
let two: Http2Origin;
/** Before `one`: it lets a connection wait for as long as the test wants. */
let door: Server;
let waiting: ((open: () => void) => void) | null = null;
let inside: Inside;
let count = 0;
const open: Peer[] = [];

beforeAll(async () => {
  [one, two] = await Promise.all([startTlsOrigin({ name: ONE }), startHttp2Origin(TWO)]);
  inside = await startInside([ONE, TWO], [one.caPem, two.caPem]);
  door = createServer({ pauseOnConnect: true }, (socket) => {
    const through = () => join(socket, tcp(one.port, '127.0.0.1'));
    if (waiting) waiting(through);
    else through();
  });
  await new Promise<void>((resolve) => door.listen(0, '127.0.0.1', resolve));
});
beforeEach(() => {
  count += 1;
  one.forget();
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
const ending = () => inside.gate.rows().then(([row]) => row?.end?.reason);

async function enter(environment: string, target: string): Promise<Peer> {
  const client = new Peer(await inside.enter(environment, target, { ALPNProtocols: ['http/1.1'] }));
  open.push(client);
  return client;
}

it('a WebSocket', async () => {
  const target = `${ONE}:${one.port}`;
  const environment = await bindTwo(target);
  const client = await enter(environment, target);
  client.send(`GET /a/ws HTTP/1.1\r\nHost: ${target}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`);
  const origin = await one.next();
  expect((await origin.answer()).text).toContain('Bearer secret-of-path-a');
  origin.send('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
  expect((await client.answer()).status).toBe(101);
  await takeAway(environment, target);
  await client.ending();
  await origin.ending();
  await expect.poll(ending).toBe('secret_unbound');
});

it('a stream of HTTP/2', async () => {
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
  await takeAway(environment, target);
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

/** A tunnel under load: every byte of both directions, memory that stays bounded, and nothing left behind. */
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectHead, connectTo, type Peer } from '../support/client.ts';
import { readMetric, startGate, type TestGate } from '../support/gate.ts';
import { freePort, type Origin, startOrigin } from '../support/origin.ts';
import { Random } from '../support/random.ts';

let gate: TestGate;
let origin: Origin;
let token: string;
let observePort: number;
const warnings: Error[] = [];
const onWarning = (warning: Error) => void warnings.push(warning);

beforeAll(async () => {
  process.on('warning', onWarning);
  [origin, observePort] = await Promise.all([startOrigin(), freePort()]);
  gate = await startGate({
    hosts: '127.0.0.1 open.test\n',
    dns: { 'slow.test': 'silence' },
    open: 'open.test=127.0.0.0/8',
    settings: { SALLYPORT_EGRESS_OBSERVE_LISTEN: `127.0.0.1:${observePort}` },
  });
  await gate.put('open', {
    allow: [`open.test:${origin.port}`, 'slow.test'],
    maxConnections: 5_000,
    newPerSecond: 5_000,
  });
  token = await gate.world.token('open');
});

afterAll(async () => {
  process.off('warning', onWarning);
  await gate?.close();
  await origin?.close();
});

/** The two sockets of a new tunnel. */
async function open(): Promise<{ readonly near: Socket; readonly far: Socket }> {
  const [client, caller] = await Promise.all([
    gate.connect(`open.test:${origin.port}`, token),
    origin.accept(),
  ]);
  expect((await client.answer()).status).toBe(200);
  return { near: client.detach(), far: caller.detach() };
}

async function sendAll(socket: Socket, data: Buffer): Promise<void> {
  for (let at = 0; at < data.length; at += PIECE) {
    if (!socket.write(data.subarray(at, at + PIECE))) await once(socket, 'drain');
  }
  socket.end();
}

async function digestAll(socket: Socket): Promise<string> {
  const digest = createHash('sha256');
  for await (const chunk of socket) digest.update(chunk);
  return digest.digest('hex');
}

const sha256 = (data: Buffer) => createHash('sha256').update(data).digest('hex');

describe('a tunnel', () => {
  it('carries 32 MiB both ways at once', async () => {
    const { near, far } = await open();
    const [up, down] = [randomBytes(BULK), randomBytes(BULK)];
    const [gotUp, gotDown] = await Promise.all([
      digestAll(far),
      digestAll(near),
      sendAll(near, up),
      sendAll(far, down),
    ]);
    expect(gotUp).toBe(sha256(up));
    expect(gotDown).toBe(sha256(down));
    const end = async () => (await gate.rows('&host=open.test'))[0]?.end;
    await expect.poll(end).toMatchObject({ bytesUp: BULK, bytesDown: BULK });
  });

  it('that is still being opened takes little of what is sent behind its head', async () => {
    const client = await gate.connect('slow.test:443', token);
    const before = client.socket.bytesWritten;
    for (let sent = 0; sent < MOST_HELD; sent += PIECE) client.send(Buffer.alloc(PIECE));
    await expect.poll(() => gate.dns.lookups.length).toBeGreaterThan(0);
    // Two kernel buffers at most, and a stream's own.
    expect(client.socket.bytesWritten - client.socket.writableLength - before).toBeLessThan(MOST_HELD / 2);
    client.reset();
    const end = async () => (await gate.rows('&host=slow.test'))[0]?.end?.reason;
    await expect.poll(end, { timeout: 8_000 }).toMatch(/^(client_closed|resolve_failed)$/);
  });

  it.each(['up', 'down'])('holds back a sender whose reader stops: %s', async (direction) => {
    const { near, far } = await open();
    const [sender, reader] = direction === 'up' ? [near, far] : [far, near];
    // What the sender still holds was not taken by the kernel, the gate or the reader.
    const taken = () => sender.bytesWritten - sender.writableLength;
    const piece = Buffer.alloc(PIECE);
    for (let sent = 0; sent < MOST_HELD * 2; sent += PIECE) sender.write(piece);
    let before = -1;
    const stands = () => {
      const [last, now] = [before, taken()];
      before = now;
      return now === last;
    };
    await expect.poll(stands, { interval: 300, timeout: 10_000 }).toBe(true);
    expect(taken()).toBeLessThan(MOST_HELD);
    sender.end();
    let got = 0;
    for await (const chunk of reader) got += chunk.length;
    expect(got).toBe(MOST_HELD * 2);
    reader.end();
  });
});

/** Ways in which a client behaves, each breaking off somewhere. */
const BEHAVIOURS: readonly ((client: Peer) => Promise<unknown> | unknown)[] = [
  (client) => client.reset(),
  (client) => client.close(),
  (client) => client.send('CONNECT open').reset(),
  (client) => client.send('nonsense\r\n\r\n').answer(),
  (client) => client.send(connectHead('open.test:1')).answer(),
  (client) => client.send(connectHead('open.test:1').repeat(8)).ending(),
  (client) => client.send(connectHead('other.test:443', token)).answer(),
  (client) => client.send(connectHead('other.test:443', token)).reset(),
  (client) => client.send(connectHead('slow.test:443', token)).finish(),
  (client) => client.send('GET http://open.test/ HTTP/1.1\r\nHost: a\r\n\r\n').answer(),
  (client) => client.send(connectHead(`open.test:${origin.port}`, token)).reset(),
  (client) => client.send(connectHead(`open.test:${origin.port}`, token)).close(),
  (client) => client.send(`${connectHead(`open.test:${origin.port}`, token)}data`).finish(),
  async (client) => (await answered(client)).reset(),
  async (client) => (await answered(client)).send('data').close(),
  async (client) => (await answered(client)).send(Buffer.alloc(300_000)).reset(),
];

async function answered(client: Peer): Promise<Peer> {
  await client.send(connectHead(`open.test:${origin.port}`, token)).answer();
  return client;
}

/** What the origin does with those who reach it: it answers, ends or breaks off. */
async function serveRandomly(random: Random, stopped: AbortSignal): Promise<void> {
  while (!stopped.aborted) {
    const caller = await origin.accept().catch(() => null);
    if (!caller) continue;
    const choice = random.below(4);
    if (choice === 0) caller.reset();
    else if (choice === 1) caller.send('bye').finish();
    else if (choice === 2) caller.socket.pipe(caller.socket);
    else caller.close();
  }
}

function openConnections(): Promise<number> {
  return readMetric(observePort, 'sallyport_egress_open_connections');
}

function handles(): number {
  return process.getActiveResourcesInfo().filter((name) => name.startsWith('TCPSocket')).length;
}

describe('five hundred connections of all kinds', () => {
  it('leave nothing behind', { timeout: 60_000 }, async () => {
    const random = new Random(20_261_129);
    const stop = new AbortController();
    const serving = serveRandomly(random, stop.signal);
    await expect.poll(openConnections).toBe(0);
    const before = handles();
    for (let round = 0; round < 25; round += 1) {
      const clients = await Promise.all(
        Array.from({ length: 20 }, () => connectTo(gate.egress.address.port)),
      );
      const behave = async (client: Peer) => BEHAVIOURS[random.below(BEHAVIOURS.length)]?.(client);
      await Promise.all(clients.map((client) => behave(client).catch(() => {})));
      for (const client of clients) client.close();
    }
    await expect.poll(openConnections, { timeout: 15_000, interval: 100 }).toBe(0);
    await expect.poll(() => origin.open, { timeout: 5_000 }).toBe(0);
    // The pool of the database and the admin API's connections are kept; a few may have been opened meanwhile.
    await expect.poll(handles, { timeout: 5_000 }).toBeLessThan(before + 30);
    expect(warnings).toEqual([]);
    const unended = async () =>
      gate.owner.query(`SELECT id FROM connections c WHERE verdict <> 'denied'
        AND NOT EXISTS (SELECT 1 FROM connection_ends e WHERE e.connection_id = c.id)`);
    await expect.poll(unended).toEqual([]);
    stop.abort();
    await gate.connect(`open.test:${origin.port}`, token).then((client) => client.close());
    await serving;
  });
});

const PIECE = 64 * 1024;
const BULK = 32 * 1024 * 1024;
/** Four kernel buffers on loopback (each grows to 6 MiB at most by default) and little else. */
const MOST_HELD = 32 * 1024 * 1024;

/**
 * The database goes away, by an orderly stop and by hanging: nothing new is opened, nothing is looked up, what is open
 * lives on for its grace, and when it comes back nobody has to lend a hand.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type EmbeddedDatabase, startEmbedded } from '../../core-lite/database/embedded.ts';
import { recallCluster } from '../../core-lite/database/embedded-cluster.ts';
import { freePort } from '../../core-lite/database/embedded-server.ts';
import type { Service } from '../../core-lite/service.ts';
import { type DnsServer, startDnsServer } from '../support/dns-server.ts';
import { signalWithChildren } from '../support/process.ts';
import { startWorld, type World } from '../support/world.ts';
import { type ConnectAnswer, connectThrough, echoes } from './connect-client.ts';
import { type CountingOrigin, startCountingOrigin } from './counting-origin.ts';

interface Row {
  readonly id: string;
  readonly host: string;
  readonly end: { readonly reason: string } | null;
}

let home: string;
let databasePort: number;
let observePort: number;
let database: EmbeddedDatabase;
let dns: DnsServer;
let origin: CountingOrigin;
let world: World;
/** Open connections outlive a loss by far; by a second. */
let patient: Service;
let impatient: Service;
let token: string;
let names = 0;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'sallyport-loss-'));
  databasePort = await freePort();
  observePort = await freePort();
  database = await startEmbedded({ home, port: databasePort });
  dns = await startDnsServer({ '*.open.test': { a: ['127.0.0.1'], ttl: 0 } });
  origin = await startCountingOrigin();
  world = await startWorld({
    DATABASE_URL: database.url,
    SALLYPORT_DNS_SERVERS: dns.address,
    SALLYPORT_OPEN_NETWORKS: '*.open.test=127.0.0.0/8',
    SALLYPORT_FEED_GRACE: '1s',
  });
  impatient = await world.egress();
  patient = await world.egress({
    SALLYPORT_FEED_GRACE: '60s',
    SALLYPORT_EGRESS_OBSERVE_LISTEN: `127.0.0.1:${observePort}`,
  });
  await world.call('PUT', '/v1/environments/e', { allow: [`*.open.test:${origin.port}`] });
  token = await world.token('e');
}, 60_000);

afterAll(async () => {
  await world?.close();
  await database?.close();
  await origin?.close();
  await dns?.close();
  const data = (await recallCluster(home))?.data;
  await rm(home, { recursive: true, force: true });
  // Root's server keeps its data elsewhere, in a folder of this cluster alone.
  if (data !== undefined && !data.startsWith(home)) await rm(dirname(data), { recursive: true, force: true });
}, 60_000);

/** A CONNECT to a name that was never asked for before. */
function ask(egress: Service): Promise<ConnectAnswer & { host: string }> {
  const host = `h${++names}.open.test`;
  return connectThrough(egress.address.port, `${host}:${origin.port}`, token).then((answer) => ({
    ...answer,
    host,
  }));
}

async function readyStatus(): Promise<number> {
  return (await fetch(`http://127.0.0.1:${observePort}/ready`)).status;
}

async function feedLive(): Promise<boolean> {
  const text = await (await fetch(`http://127.0.0.1:${observePort}/metrics`)).text();
  return text.includes('sallyport_egress_feed_live 1');
}

async function rowOf(host: string): Promise<Row | undefined> {
  return (await world.call<Row[]>('GET', `/v1/connections?host=${host}`))[0];
}

/** Asks now, and again once the loss has been noticed: each is refused, in time, and reaches nothing. */
async function expectNothingOpens(boundMs: number): Promise<void> {
  const before = { lookups: dns.lookups.length, accepted: origin.accepted.length };
  for (let round = 0; round < 2; round += 1) {
    const answers = await Promise.all([ask(patient), ask(impatient), ask(patient), ask(impatient)]);
    for (const { status, reason, ms } of answers) {
      expect(status).toBe(503);
      expect(['facts_unavailable', 'record_unavailable']).toContain(reason);
      expect(ms).toBeLessThan(boundMs);
    }
  }
  await origin.settle();
  expect({ lookups: dns.lookups.length, accepted: origin.accepted.length }).toEqual(before);
}

/** @returns a tunnel through each replica that carries bytes */
async function openTunnels() {
  await expect.poll(feedLive, IN_SECONDS).toBe(true);
  const [kept, lost, left] = await Promise.all([ask(patient), ask(impatient), ask(patient)]);
  for (const { status, socket } of [kept, lost, left]) {
    expect(status).toBe(200);
    expect(await echoes(socket, 'before')).toBe(true);
  }
  return { kept, lost, left };
}

async function expectRecovery({ kept, lost, left }: Awaited<ReturnType<typeof openTunnels>>): Promise<void> {
  await expect.poll(async () => (await ask(patient)).status, IN_SECONDS).toBe(200);
  await expect.poll(async () => (await ask(impatient)).status, IN_SECONDS).toBe(200);
  await expect.poll(readyStatus, IN_SECONDS).toBe(200);
  await expect.poll(feedLive, IN_SECONDS).toBe(true);
  expect(await echoes(kept.socket, 'after')).toBe(true);
  await expect.poll(async () => (await rowOf(lost.host))?.end?.reason, IN_SECONDS).toBe('feed_lost');
  await expect.poll(async () => (await rowOf(left.host))?.end?.reason, IN_SECONDS).toBe('client_closed');
  expect((await rowOf(kept.host))?.end).toBeNull();
  kept.socket.destroy();
}

describe.each([
  {
    way: 'stopped',
    boundMs: 5_000,
    lose: () => database.close(),
    restore: async () => {
      database = await startEmbedded({ home, port: databasePort });
    },
  },
  {
    way: 'hung',
    // A statement may take 5 s, and a row may wait for the batch before its own.
    boundMs: 12_000,
    lose: async () => signalWithChildren(database.pid, 'SIGSTOP'),
    restore: async () => signalWithChildren(database.pid, 'SIGCONT'),
  },
])('a database that is $way', ({ boundMs, lose, restore }) => {
  it('opens nothing, keeps what is open, and works again by itself', async () => {
    const tunnels = await openTunnels();
    await lose();
    try {
      await Promise.all([
        expectNothingOpens(boundMs),
        expect(readyStatus()).resolves.toBe(503),
        expect(world.call('GET', '/v1/environments')).rejects.toThrow(
          /503 .*"code":"database_unreachable".*check that the server runs/,
        ),
      ]);
      expect(await echoes(tunnels.kept.socket, 'meanwhile')).toBe(true);
      await expect.poll(() => tunnels.lost.socket.closed, IN_SECONDS).toBe(true);
      tunnels.left.socket.destroy();
    } finally {
      await restore();
    }
    await expectRecovery(tunnels);
  }, 90_000);
});

const IN_SECONDS = { timeout: 10_000 };

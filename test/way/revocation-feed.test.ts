/**
 * The change feed or the database is away: what is new is decided by what is read directly, what is open lives for
 * SALLYPORT_FEED_GRACE and no longer, and a change made meanwhile is applied as soon as it can be known.
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Service } from '../../core-lite/service.ts';
import { type Answer, connectHead, connectTo, type Peer } from '../support/client.ts';
import { readMetric, startGate, type TestGate } from '../support/gate.ts';
import { echo, freePort, type Origin, startOrigin } from '../support/origin.ts';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts';

let gate: TestGate;
let origin: Origin;
let database: TcpProxy;
let feed: TcpProxy;
let egress: Service;
let observePort: number;
let token: string;
let environment: string;
let environmentId: string;
let made = 0;

beforeAll(async () => {
  [origin, observePort] = await Promise.all([startOrigin({ behave: echo }), freePort()]);
  gate = await startGate({ hosts: '127.0.0.1 a.test b.test\n', open: '*.test=127.0.0.0/8' });
  const url = gate.world.databaseUrl;
  [database, feed] = await Promise.all([startTcpProxy(url), startTcpProxy(url)]);
  egress = await gate.world.egress({
    DATABASE_URL: database.through(url),
    SALLYPORT_DATABASE_LISTEN_URL: feed.through(url),
    SALLYPORT_EGRESS_OBSERVE_LISTEN: `127.0.0.1:${observePort}`,
    SALLYPORT_FEED_GRACE: `${GRACE_MS}ms`,
  });
});

beforeEach(async () => {
  made += 1;
  environment = `env-${made}`;
  environmentId = (await put(['a.test', 'b.test'])).id;
  token = await gate.world.token(environment);
  await feedIs(1);
});

afterEach(async () => {
  feed.thaw();
  await feed.cut();
  await Promise.all([database.mend().catch(() => {}), feed.mend()]);
});

afterAll(async () => {
  await gate?.close();
  await Promise.all([database?.close(), feed?.close(), origin?.close()]);
});

const at = (host: string) => `${host}:${origin.port}`;
const put = (hosts: readonly string[]) => gate.put(environment, { allow: hosts.map(at) });

async function feedIs(live: 0 | 1): Promise<void> {
  const read = () => readMetric(observePort, 'sallyport_egress_feed_live');
  await expect.poll(read, { timeout: 8_000, interval: 20 }).toBe(live);
}

async function ask(host: string): Promise<{ readonly client: Peer; readonly answer: Answer }> {
  const client = (await connectTo(egress.address.port)).send(connectHead(at(host), token));
  return { client, answer: await client.answer() };
}

async function open(host: string): Promise<Peer> {
  const { client, answer } = await ask(host);
  expect(answer.status).toBe(200);
  await expectAlive(client);
  return client;
}

async function expectAlive(client: Peer): Promise<void> {
  expect(await client.send('hello').text(5)).toBe('hello');
}

async function expectEnd(host: string, reason: string): Promise<void> {
  await expect
    .poll(async () => (await gate.rows(`&environment=${environmentId}&host=${host}`)).at(-1)?.end?.reason, {
      timeout: 5_000,
    })
    .toBe(reason);
}

/** What a silent feed and one that broke off have in common. */
const LOSSES: readonly [name: string, lose: () => unknown][] = [
  ['cut off', () => feed.cut()],
  ['silent', () => feed.freeze()],
];

describe.each(LOSSES)('while the feed is %s', (_, lose) => {
  it('a deleted environment is refused at once, and open tunnels outlive the grace by little', async () => {
    const tunnel = await open('a.test');
    await lose();
    await feedIs(0);
    const lostAt = Date.now();
    expect((await ask('b.test')).answer.status).toBe(200);
    await gate.world.call('DELETE', `/v1/environments/${environment}`);
    expect((await ask('a.test')).answer.headers.get('sallyport-reason')).toBe('environment_gone');
    // Nobody could tell it: it lives, but not for long.
    await expectAlive(tunnel);
    expect(await tunnel.ending(GRACE_MS + 3_000)).toBe('reset');
    expect(Date.now() - lostAt).toBeGreaterThan(GRACE_MS - 500);
    await expectEnd('a.test', 'feed_lost');
  });
});

describe('when the feed comes back in time', () => {
  it('tunnels live on, and what changed meanwhile is applied', async () => {
    const [tunnel, other] = [await open('a.test'), await open('b.test')];
    await feed.cut();
    await feedIs(0);
    await put(['b.test']);
    await expectAlive(tunnel);
    await feed.mend();
    expect(await tunnel.ending(GRACE_MS)).toBe('reset');
    await expectEnd('a.test', 'policy_changed');
    await feedIs(1);
    const until = Date.now() + GRACE_MS + 1_500;
    await expect
      .poll(() => expectAlive(other).then(() => Date.now()), { timeout: GRACE_MS + 5_000, interval: 100 })
      .toBeGreaterThan(until);
    other.close();
  });

  it('even after its session was ended again and again', async () => {
    const tunnel = await open('a.test');
    const sessions = `SELECT pid FROM pg_stat_activity
      WHERE datname = current_database() AND application_name = 'sallyport_egress' AND query LIKE '%pg_notify%'`;
    for (let i = 0; i < 3; i += 1) {
      await expect.poll(async () => (await gate.owner.query(sessions)).length).toBeGreaterThan(1);
      await gate.owner.query(`SELECT pg_terminate_backend(pid) FROM (${sessions}) AS s`);
      await feedIs(1);
    }
    await expectAlive(tunnel);
    await gate.world.call('DELETE', `/v1/environments/${environment}`);
    expect(await tunnel.ending(2_000)).toBe('reset');
    await expectEnd('a.test', 'environment_gone');
  });
});

describe('a notice whose facts cannot be read', () => {
  it('is taken up again when the database is back', async () => {
    const tunnel = await open('a.test');
    await database.cut();
    await gate.world.call('DELETE', `/v1/environments/${environment}`);
    await feedIs(1);
    await expectAlive(tunnel);
    await database.mend();
    expect(await tunnel.ending(GRACE_MS)).toBe('reset');
    await expectEnd('a.test', 'environment_gone');
  });

  it('ends what it may concern after the grace', async () => {
    const tunnel = await open('a.test');
    await database.cut();
    await gate.world.call('DELETE', `/v1/environments/${environment}`);
    expect(await tunnel.ending(GRACE_MS + 4_000)).toBe('reset');
    await feedIs(1);
    await database.mend();
    await expectEnd('a.test', 'feed_lost');
  });
});

const GRACE_MS = 2_500;

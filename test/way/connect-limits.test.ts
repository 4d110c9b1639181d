/** Limits and report mode, through the real listener. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Peer } from '../support/client.ts';
import { startGate, type TestGate } from '../support/gate.ts';
import { echo, type Origin, startOrigin } from '../support/origin.ts';

let gate: TestGate;
let origin: Origin;
const open: Peer[] = [];

beforeAll(async () => {
  origin = await startOrigin({ behave: (socket) => void socket.on('end', () => socket.end()).resume() });
  gate = await startGate({
    hosts: '127.0.0.1 open.test\n',
    open: 'open.test=127.0.0.0/8',
  });
});

afterEach(() => {
  for (const peer of open.splice(0)) peer.close();
});

afterAll(async () => {
  await gate?.close();
  await origin?.close();
});

const target = () => `open.test:${origin.port}`;

async function statuses(token: string, count: number): Promise<number[]> {
  const peers = await Promise.all(Array.from({ length: count }, () => gate.connect(target(), token)));
  open.push(...peers);
  return Promise.all(peers.map(async (peer) => (await peer.answer()).status));
}

describe('maxConnections', () => {
  it('lets through exactly so many of a burst, and more when some have ended', async () => {
    await gate.put('few', { allow: [target()], maxConnections: 5, newPerSecond: 1_000 });
    const token = await gate.world.token('few');
    const burst = await statuses(token, 20);
    expect(burst.filter((status) => status === 200)).toHaveLength(5);
    expect(burst.filter((status) => status === 429)).toHaveLength(15);
    for (const peer of open.splice(0)) peer.close();
    await expect.poll(async () => (await statuses(token, 1))[0]).toBe(200);
  });
});

describe('newPerSecond', () => {
  it('counts those too that have ended', async () => {
    await gate.put('slow', { allow: [target()], newPerSecond: 3 });
    const token = await gate.world.token('slow');
    const got: number[] = [];
    const startedAt = Date.now();
    for (let i = 0; i < 12; i += 1) {
      got.push(...(await statuses(token, 1)));
      for (const peer of open.splice(0)) peer.close();
      await expect.poll(() => origin.open).toBe(0);
    }
    const seconds = Math.floor(Date.now() / 1000) - Math.floor(startedAt / 1000) + 1;
    expect(got.filter((status) => status === 200).length).toBeLessThanOrEqual(3 * seconds);
    expect(got).toContain(429);
    await expect.poll(async () => (await statuses(token, 1))[0], { interval: 100, timeout: 3_000 }).toBe(200);
  });
});

describe('an environment that only reports', () => {
  const web = { host: '127.0.0.77', port: 443 };
  let reporting: TestGate;
  let token: string;

  beforeAll(async () => {
    reporting = await startGate({
      hosts: `${web.host} unlisted.test\n127.0.0.1 dead.test\n`,
      open: 'unlisted.test=127.0.0.0/8,dead.test=127.0.0.0/8',
    });
    await reporting.put('report', { mode: 'report', allow: [] });
    token = await reporting.world.token('report');
  });
  afterAll(() => reporting?.close());

  it('records as reported what the list would deny, before it is dialled', async () => {
    const answer = await (await reporting.connect('dead.test:80', token)).answer();
    expect(answer.headers.get('sallyport-reason')).toBe('connect_failed');
    const first = 'SELECT verdict, reason FROM connections WHERE id = $1';
    expect(await reporting.owner.query(first, [answer.headers.get('sallyport-connection')])).toEqual([
      { verdict: 'reported', reason: 'reported' },
    ]);
  });

  it('still holds ports', async () => {
    const answer = await (await reporting.connect(`unlisted.test:${origin.port}`, token)).answer();
    expect(answer.headers.get('sallyport-reason')).toBe('port_denied');
  });

  it('lets it through', async (context) => {
    const listener = await startOrigin({ ...web, behave: echo }).catch((error: NodeJS.ErrnoException) => {
      // Where an ordinary user may not listen on 443, or there is no 127.0.0.77, it cannot be tried.
      if (error.code !== 'EACCES' && error.code !== 'EADDRNOTAVAIL') throw error;
      return context.skip('port 443 of 127.0.0.77 cannot be listened on');
    });
    const peer = await reporting.connect('unlisted.test:443', token, 'hello');
    expect((await peer.answer()).status).toBe(200);
    expect(await peer.text(5)).toBe('hello');
    peer.finish();
    const rows = () => reporting.rows('&host=unlisted.test&verdict=reported');
    await expect
      .poll(rows)
      .toMatchObject([
        { reason: 'reported', end: { reason: 'client_closed', address: web.host, bytesUp: 5 } },
      ]);
    await listener.close();
  });
});

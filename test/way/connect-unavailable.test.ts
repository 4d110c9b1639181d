/** What a CONNECT is told when the gate cannot know, cannot record, or stops: a 503, and nothing is reached. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RefusalReason } from '../../core-lite/reasons.ts';
import type { Service } from '../../core-lite/service.ts';
import { type Answer, connectHead, connectTo, type Peer } from '../support/client.ts';
import { readMetric, startGate, type TestGate } from '../support/gate.ts';
import { freePort, type Origin, startOrigin } from '../support/origin.ts';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts';

let gate: TestGate;
let origin: Origin;
let database: TcpProxy;
let feed: TcpProxy;
let egress: Service;
let token: string;
let observePort: number;

beforeEach(async () => {
  origin = await startOrigin({ behave: (socket) => socket.end('here') });
  observePort = await freePort();
  gate = await startGate({
    hosts: '127.0.0.1 open.test\n',
    dns: { 'slow.test': 'silence' },
    open: 'open.test=127.0.0.0/8',
  });
  await gate.put('open', { allow: [`open.test:${origin.port}`, 'slow.test'] });
  token = await gate.world.token('open');
  database = await startTcpProxy(gate.world.databaseUrl);
  feed = await startTcpProxy(gate.world.databaseUrl);
  egress = await gate.world.egress({
    DATABASE_URL: database.through(gate.world.databaseUrl),
    SALLYPORT_DATABASE_LISTEN_URL: feed.through(gate.world.databaseUrl),
    SALLYPORT_EGRESS_OBSERVE_LISTEN: `127.0.0.1:${observePort}`,
  });
});

afterEach(async () => {
  await Promise.all([database.mend().catch(() => {}), feed.mend().catch(() => {})]);
  await gate.close();
  await Promise.all([database.close(), feed.close(), origin.close()]);
});

async function ask(target = `open.test:${origin.port}`): Promise<Peer> {
  return (await connectTo(egress.address.port)).send(connectHead(target, token));
}

async function answerOf(client: Peer): Promise<Answer> {
  const answer = await client.answer(8_000);
  client.close();
  return answer;
}

/** Until the facts are held and the feed keeps them, so that only the record needs the database. */
async function warmUp(): Promise<void> {
  const live = () => readMetric(observePort, 'sallyport_egress_feed_live');
  await expect.poll(live, { timeout: 10_000 }).toBe(1);
  expect((await answerOf(await ask())).status).toBe(200);
}

function expectRefused(answer: Answer, reason: RefusalReason): void {
  expect(answer.status).toBe(503);
  expect(answer.headers.get('sallyport-reason')).toBe(reason);
  expect(answer.body).toContain(reason);
}

describe('a gate', () => {
  it('without a database cannot know: facts_unavailable, never a 407', async () => {
    await Promise.all([database.cut(), feed.cut()]);
    const answer = await answerOf(await ask());
    expectRefused(answer, 'facts_unavailable');
    expect(answer.headers.has('sallyport-connection')).toBe(false);
    expect(gate.lines()).toContainEqual(
      expect.objectContaining({ msg: 'refused', reason: 'facts_unavailable' }),
    );
    expect(origin.reached).toBe(0);
    await Promise.all([database.mend(), feed.mend()]);
    await warmUp();
  });

  it('that knows but cannot record opens nothing: record_unavailable', async () => {
    await warmUp();
    const reached = origin.reached;
    await database.cut();
    const answer = await answerOf(await ask());
    expectRefused(answer, 'record_unavailable');
    expect(answer.headers.has('sallyport-connection')).toBe(false);
    expect(origin.reached).toBe(reached);
    await database.mend();
    await warmUp();
    const reasons = async () => (await gate.counts()).map(({ reason }) => reason);
    await expect.poll(reasons, { timeout: 8_000 }).toContain('record_unavailable');
  });

  it('that stops tells those it was opening, and ends what is open: shutting_down', async () => {
    await warmUp();
    const client = await ask('slow.test:443');
    await expect.poll(() => gate.dns.lookups.length).toBeGreaterThan(0);
    await egress.close();
    const answer = await client.answer();
    client.close();
    expectRefused(answer, 'shutting_down');
    const id = answer.headers.get('sallyport-connection');
    expect(await gate.row(id)).toMatchObject({
      verdict: 'denied',
      reason: 'shutting_down',
      end: { reason: 'shutting_down', addresses: [] },
    });
  });
});

/** The fence in time: what a bump of the epoch or a cancelled turn ends, and what can start after it: nothing. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Service } from '../../core-lite/service.ts';
import {
  answerUsed,
  BODY,
  type BudgetedGates,
  ESTIMATE,
  startBudgetedGates,
} from '../support/budgeted-gates.ts';
import { type Ask, askGates, type Reply, type TestRun } from '../support/gates.ts';

let stand: BudgetedGates;
let other: Service;
beforeAll(async () => {
  stand = await startBudgetedGates();
  other = await stand.gates.world.gates();
  // What started, and when, while it held the session: reservations are gone when their calls have ended.
  await stand.gates.owner.query(`
    CREATE TABLE started (session_id text, at timestamptz);
    CREATE FUNCTION note_start() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN
      INSERT INTO started VALUES (NEW.session_id, clock_timestamp()); RETURN NULL; END $$;
    CREATE TRIGGER note AFTER INSERT ON reservations FOR EACH ROW EXECUTE FUNCTION note_start()`);
  await stand.putBudget('all', { scope: 'session', limit: 1e9 });
});
afterAll(() => stand?.close());

const CHAT = '/v1/chat/completions';
const STREAM = BODY.replace('{', '{"stream":true,');
const ask = ({ token }: TestRun, body = BODY): Ask => ({
  body,
  headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
});

it('a bump under 200 concurrent calls: none starts after it, those before it end within a second', async () => {
  const run = await stand.gates.run();
  const ports = [stand.gates.gates.address.port, other.address.port];
  stand.provider.behave = (asked, response) => {
    if (!asked.body.includes('"stream":true')) return answerUsed(response, ESTIMATE);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write('data: {"choices":[]}\n\n');
  };
  const streams = Array.from({ length: 50 }, (_, i) => watchStream(ports[i % 2] ?? 0, run));
  await Promise.all(streams.map(({ began }) => began));
  let answered = 0;
  const bumped = Promise.withResolvers<number>();
  const bump = async (): Promise<void> => {
    await stand.gates.world.call('POST', `/v1/turns/${run.turn}/lease`, { holder: 'other' });
    bumped.resolve(performance.now());
  };
  const work = async (place: number): Promise<Reply> => {
    for (;;) {
      const reply = await askGates(ports[place % 2] ?? 0, CHAT, ask(run));
      if (reply.status !== 200) return reply;
      answered += 1;
      if (answered === 300) void bump();
    }
  };
  const refused = await Promise.all(Array.from({ length: 150 }, (_, place) => work(place)));
  expect([...new Set(refused.map(({ headers }) => headers['sallyport-reason']))]).toEqual(['run_stale']);
  const ended = await Promise.all(streams.map(({ ended }) => ended));
  expect(ended.every(({ text }) => text.includes('run_stale'))).toBe(true);
  const at = await bumped.promise;
  expect(Math.max(...ended.map((end) => end.at)) - at).toBeLessThan(1_000);
  const [row] = await stand.gates.owner.query<{ before: number; after: number }>(
    `SELECT count(*) FILTER (WHERE s.at < l.taken_at)::int AS before, count(*) FILTER (WHERE s.at >= l.taken_at)::int AS after
       FROM started s JOIN leases l ON l.session_id = s.session_id AND l.epoch = 2 WHERE s.session_id = $1`,
    [run.session],
  );
  expect(row?.after).toBe(0);
  expect(row?.before).toBeGreaterThanOrEqual(350);
}, 60_000);

it('a cancelled turn ends its running calls within a second', async () => {
  const run = await stand.gates.run();
  const closed: Promise<number>[] = [];
  stand.provider.behave = (_asked, response) => {
    const left = new Promise<void>((resolve) => response.once('close', resolve));
    closed.push(left.then(() => performance.now()));
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write('data: {"choices":[]}\n\n');
  };
  const streams = [stand.gates.gates, other].map(({ address }) => watchStream(address.port, run));
  await Promise.all(streams.map(({ began }) => began));
  const from = performance.now();
  await stand.gates.world.call('POST', `/v1/turns/${run.turn}/cancel`);
  for (const { ended } of streams) {
    const { text, at } = await ended;
    expect(text).toContain('run_stale');
    expect(at - from).toBeLessThan(1_000);
  }
  // At the provider, too: what nobody reads any more must not go on to be written.
  expect(closed).toHaveLength(2);
  for (const at of await Promise.all(closed)) expect(at - from).toBeLessThan(1_000);
  expect((await stand.gates.ask(CHAT, ask(run))).headers['sallyport-reason']).toBe('run_stale');
});

/** A stream that its provider leaves open. */
function watchStream(
  port: number,
  run: TestRun,
): {
  readonly began: Promise<void>;
  readonly ended: Promise<{ readonly text: string; readonly at: number }>;
} {
  const began = Promise.withResolvers<void>();
  const reply = askGates(port, CHAT, {
    ...ask(run, STREAM),
    onData: () => {
      began.resolve();
      return false;
    },
  });
  const ended = reply.then(({ text }) => ({ text, at: performance.now() }));
  return { began: began.promise, ended };
}

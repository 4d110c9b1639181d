/** What happens at the same time: leases, ends, cancels and heartbeats of one turn. The database must stay true. */
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { type Database, openDatabase } from '../../../core-lite/database/pool.ts';
import { Secret } from '../../../core-lite/secret.ts';
import { refusal, type Send, sendAs } from '../../support/core-client.ts';
import { startWorld, type World } from '../../support/world.ts';

let world: World;
let send: Send;
let owner: Database;

beforeAll(async () => {
  world = await startWorld();
  send = sendAs(world);
  owner = openDatabase(new Secret(world.databaseUrl), null);
});
afterAll(async () => {
  await owner?.close();
  await world?.close();
});

async function begin() {
  const session = (await send('POST', '/v1/sessions', { agent: 'coder' })).body['id'] as string;
  const turn = (await send('POST', `/v1/sessions/${session}/turns`)).body['id'] as string;
  return { session, turn };
}

const lease = (turn: string) => send('POST', `/v1/turns/${turn}/lease`, { holder: 'here' });
const heartbeat = (turn: string, leaseEpoch: number) =>
  send('POST', `/v1/turns/${turn}/heartbeat`, { leaseEpoch });
const end = (turn: string, leaseEpoch: number) => send('POST', `/v1/turns/${turn}/end`, { leaseEpoch });
const cancel = (turn: string) => send('POST', `/v1/turns/${turn}/cancel`);
const stateOf = async (turn: string) => (await send('GET', `/v1/turns/${turn}`)).body['state'];
const times = <T>(count: number, work: (place: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, place) => work(place)));
const outcome = (answer: Awaited<ReturnType<Send>>) => (answer.status < 300 ? 'done' : refusal(answer));

/** After each race, of every session that there is: what must hold whoever won. */
afterEach(async () => {
  const broken = await owner.query(`
    SELECT s.id, 'two active turns' AS what FROM sessions s JOIN turns t ON t.session_id = s.id
      WHERE t.state = 'active' GROUP BY s.id HAVING count(*) > 1
    UNION ALL SELECT s.id, 'an active turn of an ended session' FROM sessions s JOIN turns t ON t.session_id = s.id
      WHERE t.state = 'active' AND s.ended_at IS NOT NULL
    UNION ALL SELECT s.id, 'an epoch that is not its newest lease' FROM sessions s
      WHERE s.lease_epoch <> COALESCE((SELECT max(epoch) FROM leases l WHERE l.session_id = s.id), 0)
    UNION ALL SELECT s.id, 'a gap between leases' FROM sessions s
      WHERE s.lease_epoch <> (SELECT count(*) FROM leases l WHERE l.session_id = s.id)
    UNION ALL SELECT l.session_id, 'a lease of another session''s turn' FROM leases l JOIN turns t ON t.id = l.turn_id
      WHERE t.session_id <> l.session_id
    UNION ALL SELECT t.session_id, 'a lease after the end' FROM leases l JOIN turns t ON t.id = l.turn_id
      WHERE l.taken_at > t.ended_at
    UNION ALL SELECT e.subject, 'more than one end' FROM admin_events e
      WHERE e.action IN ('turn.end', 'turn.cancel') GROUP BY e.subject HAVING count(*) > 1
    UNION ALL SELECT t.session_id, 'leases and their events differ' FROM turns t
      WHERE (SELECT count(*) FROM leases l WHERE l.turn_id = t.id)
         <> (SELECT count(*) FROM admin_events e WHERE e.subject = t.id AND e.action = 'turn.lease')`);
  expect(broken).toEqual([]);
});

it('ten leases at once have ten epochs, and one heartbeat is current', async () => {
  const { turn } = await begin();
  const answers = await times(10, () => lease(turn));
  const epochs = answers.map(({ body }) => Number(body['leaseEpoch'])).sort((a, b) => a - b);
  expect(epochs).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  const beats = await times(10, (place) => heartbeat(turn, place + 1));
  expect(beats.map(outcome)).toEqual([...Array(9).fill('409 run_stale'), 'done']);
});

it('ten turns started at once are one', async () => {
  const { session, turn } = await begin();
  await cancel(turn);
  const answers = await times(10, () => send('POST', `/v1/sessions/${session}/turns`));
  expect(answers.map(outcome).sort()).toEqual([...Array(9).fill('409 conflict'), 'done']);
});

it('a lease against an end: one of them wins and the other is stale', async () => {
  for (let round = 0; round < 15; round++) {
    const { turn } = await begin();
    await lease(turn);
    const pair = [() => lease(turn), () => end(turn, 1)];
    const [leased, ended] = (
      round % 2 === 0
        ? await Promise.all(pair.map((work) => work()))
        : (await Promise.all(pair.toReversed().map((work) => work()))).toReversed()
    ).map(outcome);
    expect([leased, ended].sort()).toEqual(['409 run_stale', 'done']);
    expect(await stateOf(turn)).toBe(ended === 'done' ? 'ended' : 'active');
  }
});

it('a cancel against leases and heartbeats: it always wins', async () => {
  for (let round = 0; round < 10; round++) {
    const { turn } = await begin();
    await lease(turn);
    const others = [heartbeat(turn, 1), lease(turn), heartbeat(turn, 1), cancel(turn), heartbeat(turn, 1)];
    await Promise.all(others);
    expect(await stateOf(turn)).toBe('cancelled');
    expect(outcome(await heartbeat(turn, 1))).toBe('409 run_stale');
    expect(outcome(await lease(turn))).toBe('409 run_stale');
  }
});

it('a cancel against an end: one of them stands, with one event', async () => {
  for (let round = 0; round < 10; round++) {
    const { turn } = await begin();
    await lease(turn);
    const [cancelled, ended] = await Promise.all([cancel(turn), end(turn, 1)]);
    expect(cancelled.status).toBe(200);
    expect(await stateOf(turn)).toBe(outcome(ended) === 'done' ? 'ended' : 'cancelled');
  }
});

it('a session’s end against the start and the lease of its turns: nothing is left active', async () => {
  for (let round = 0; round < 10; round++) {
    const { session, turn } = await begin();
    const works = [
      () => lease(turn),
      () => cancel(turn),
      () => send('POST', `/v1/sessions/${session}/turns`),
      () => send('POST', `/v1/sessions/${session}/end`),
      () => send('POST', `/v1/sessions/${session}/turns`),
    ];
    const answers = await Promise.all(works.map((work) => work()));
    expect(answers.filter(({ status }) => status >= 500)).toEqual([]);
    const { body } = await send('GET', `/v1/sessions/${session}`);
    expect(body).toMatchObject({ activeTurn: null, endedAt: expect.any(String) });
  }
});

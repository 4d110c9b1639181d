/** The life of a turn over HTTP: leases, heartbeats, tokens, its end. Tokens are verified as a gate does. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openDatabase } from '../../../core-lite/database/pool.ts';
import { makeId } from '../../../core-lite/id.ts';
import { Secret } from '../../../core-lite/secret.ts';
import { decideRunStaleness, loadSessionFacts } from '../../../core-lite/state/session.ts';
import { loadVerifyingKeys } from '../../../core-lite/tokens/signing-keys.ts';
import type { TokenKind } from '../../../core-lite/tokens/token-kinds.ts';
import { type VerifiedToken, verifyToken } from '../../../core-lite/tokens/verify.ts';
import { type CoreAnswer, type Row, refusal, type Send, sendAs } from '../../support/core-client.ts';
import { startWorld, type World } from '../../support/world.ts';

let world: World;
let send: Send;

beforeAll(async () => {
  world = await startWorld();
  send = sendAs(world);
  await world.call('PUT', '/v1/environments/dev', {});
});
afterAll(() => world?.close());

interface Begun {
  readonly session: string;
  readonly turn: string;
}

async function begin(body: object = {}): Promise<Begun> {
  const session = (await send('POST', '/v1/sessions', { agent: 'coder', ...body })).body['id'] as string;
  return { session, turn: await startIn(session) };
}

async function startIn(session: string): Promise<string> {
  return (await send('POST', `/v1/sessions/${session}/turns`)).body['id'] as string;
}

const lease = (turn: string, holder = 'here') => send('POST', `/v1/turns/${turn}/lease`, { holder });
const heartbeat = (turn: string, body: object) => send('POST', `/v1/turns/${turn}/heartbeat`, body);
const end = (turn: string, leaseEpoch: number) => send('POST', `/v1/turns/${turn}/end`, { leaseEpoch });
const cancel = (turn: string, by: Send = send) => by('POST', `/v1/turns/${turn}/cancel`);
const stateOf = async (turn: string) => (await send('GET', `/v1/turns/${turn}`)).body['state'];
const runToken = (answer: CoreAnswer) => answer.body['runToken'] as string;
const inMs = (ms: number) => new Date(Date.now() + ms).toISOString();

async function verify<Kind extends TokenKind>(kind: Kind, token: unknown): Promise<VerifiedToken<Kind>> {
  const core = openDatabase(new Secret(world.databaseUrl), 'sallyport_core');
  try {
    const verified = await verifyToken(kind, String(token), await loadVerifyingKeys(core), new Date());
    if (typeof verified === 'string') throw new Error(verified);
    return verified;
  } finally {
    await core.close();
  }
}

async function isStale(token: string): Promise<boolean> {
  const { claims } = await verify('run', token);
  const gates = openDatabase(new Secret(world.databaseUrl), 'sallyport_gates');
  try {
    return decideRunStaleness(claims, await loadSessionFacts(gates, claims.sub)) !== null;
  } finally {
    await gates.close();
  }
}

describe('a lease', () => {
  it('bumps the epoch and gives a run token; none for egress where there is no environment', async () => {
    const { session, turn } = await begin();
    const answer = await lease(turn);
    expect(answer.status).toBe(200);
    expect(Object.keys(answer.body).sort()).toEqual(['leaseEpoch', 'runToken', 'runTokenExpiresAt']);
    const { claims, expiresAt } = await verify('run', runToken(answer));
    expect(claims).toEqual({ sub: session, trn: turn, agt: 'coder', epc: 1 });
    expect(new Date(answer.body['runTokenExpiresAt'] as string).getTime()).toBe(expiresAt * 1000);
    expect((await send('GET', `/v1/sessions/${session}`)).body).toMatchObject({
      leaseEpoch: 1,
      activeTurn: turn,
      lease: { holder: 'here' },
    });
  });

  it('gives an egress token that proves its turn', async () => {
    const { session, turn } = await begin({ environment: 'dev' });
    const { body } = await lease(turn);
    const { claims } = await verify('egress', body['egressToken']);
    const environment = (await send('GET', '/v1/environments/dev')).body['id'];
    expect(claims).toEqual({ sub: environment, hep: 0, pod: 'none', ses: session, trn: turn });
    expect(body['egressTokenExpiresAt']).toBe(body['runTokenExpiresAt']);
  });

  it('makes every older run token stale', async () => {
    const { turn } = await begin();
    const first = runToken(await lease(turn));
    expect(await isStale(first)).toBe(false);
    const second = runToken(await lease(turn, 'there'));
    expect([await isStale(first), await isStale(second)]).toEqual([true, false]);
  });

  it('leaves an event that holds no token', async () => {
    const { session, turn } = await begin({ environment: 'dev' });
    const answer = await lease(turn, 'worker 7');
    const { rows } = await send('GET', '/v1/admin-events?limit=1');
    const { id } = await verify('run', runToken(answer));
    expect(rows[0]).toMatchObject({
      action: 'turn.lease',
      subject: turn,
      detail: { session, leaseEpoch: 1, holder: 'worker 7', tokenIds: [id, expect.stringMatching(/^tok_/)] },
    });
    expect(JSON.stringify(rows)).not.toContain(runToken(answer));
    expect(world.logged()).not.toContain(runToken(answer));
  });

  it('is refused where the environment was deleted, and the epoch stays', async () => {
    await world.call('PUT', '/v1/environments/gone', {});
    const { session, turn } = await begin({ environment: 'gone' });
    await world.call('DELETE', '/v1/environments/gone');
    expect(refusal(await lease(turn))).toBe('409 conflict');
    expect((await send('GET', `/v1/sessions/${session}`)).body['leaseEpoch']).toBe(0);
  });

  it.each(['', 'a\nb', 'x'.repeat(201)])('needs a holder that can be shown: %j', async (holder) => {
    const { turn } = await begin();
    expect(refusal(await lease(turn, holder))).toBe('400 input_invalid');
  });
});

describe('a heartbeat', () => {
  it.each<[name: string, leftMs: number | null, renewed: boolean]>([
    ['whose caller holds no token', null, true],
    ['with an expired token', -1_000, true],
    ['with less than five minutes left', 4.9 * 60_000, true],
    ['with more than five minutes left', 5.1 * 60_000, false],
  ])('%s', async (_, leftMs, renewed) => {
    const { turn } = await begin({ environment: 'dev' });
    await lease(turn);
    const held = leftMs === null ? {} : { runTokenExpiresAt: inMs(leftMs) };
    const answer = await heartbeat(turn, { leaseEpoch: 1, ...held });
    expect(answer.status).toBe(200);
    expect(Object.keys(answer.body).length).toBe(renewed ? 5 : 1);
    expect(answer.body['leaseEpoch']).toBe(1);
    if (renewed) expect((await verify('run', runToken(answer))).claims.epc).toBe(1);
  });

  it('is heard, and is no event', async () => {
    const { session, turn } = await begin();
    await lease(turn);
    const heardAt = async () =>
      String(((await send('GET', `/v1/sessions/${session}`)).body['lease'] as Row)['heardAt']);
    const before = await heardAt();
    const [newest] = (await send('GET', '/v1/admin-events?limit=1')).rows;
    await heartbeat(turn, { leaseEpoch: 1 });
    expect((await heardAt()) > before).toBe(true);
    expect((await send('GET', '/v1/admin-events?limit=1')).rows[0]).toEqual(newest);
  });

  it('of a lease that was taken over is stale', async () => {
    const { turn } = await begin();
    await lease(turn);
    await lease(turn);
    expect(refusal(await heartbeat(turn, { leaseEpoch: 1 }))).toBe('409 run_stale');
    expect((await heartbeat(turn, { leaseEpoch: 2 })).status).toBe(200);
  });

  it('of a turn that nobody leased is stale, at whatever epoch the session is', async () => {
    const { session, turn } = await begin();
    expect(refusal(await heartbeat(turn, { leaseEpoch: 0 }))).toBe('409 run_stale');
    await lease(turn);
    await end(turn, 1);
    const next = await startIn(session);
    expect(refusal(await heartbeat(next, { leaseEpoch: 1 }))).toBe('409 run_stale');
  });

  it.each(['1', null, -1, 1.5, 2 ** 53])('refuses the epoch %j', async (leaseEpoch) => {
    const { turn } = await begin();
    expect(refusal(await heartbeat(turn, { leaseEpoch }))).toBe('400 input_invalid');
  });

  it('refuses a moment that is none', async () => {
    const { turn } = await begin();
    await lease(turn);
    const answer = await heartbeat(turn, { leaseEpoch: 1, runTokenExpiresAt: 'soon' });
    expect(refusal(answer)).toBe('400 input_invalid');
  });
});

describe('the end of a turn', () => {
  it.each<[over: string, finish: (begun: Begun) => Promise<CoreAnswer>, state: string]>([
    ['ended', ({ turn }) => end(turn, 1), 'ended'],
    ['cancelled', ({ turn }) => cancel(turn), 'cancelled'],
    ['ended with its session', ({ session }) => send('POST', `/v1/sessions/${session}/end`), 'ended'],
  ])('%s: everything after it is stale', async (_, finish, state) => {
    const begun = await begin();
    const token = runToken(await lease(begun.turn));
    expect((await finish(begun)).status).toBe(200);
    expect(await stateOf(begun.turn)).toBe(state);
    expect(await isStale(token)).toBe(true);
    for (const answer of [
      await heartbeat(begun.turn, { leaseEpoch: 1 }),
      await end(begun.turn, 1),
      await lease(begun.turn),
      await send('POST', `/v1/turns/${begun.turn}/run-tokens`),
    ]) {
      expect(refusal(answer)).toBe('409 run_stale');
    }
    expect((await cancel(begun.turn)).body['state']).toBe(state);
  });

  it('is for the holder of the newest lease alone', async () => {
    const { turn } = await begin();
    await lease(turn);
    await lease(turn);
    expect(refusal(await end(turn, 1))).toBe('409 run_stale');
    expect(refusal(await end(turn, 3))).toBe('409 run_stale');
    expect(await stateOf(turn)).toBe('active');
    expect((await end(turn, 2)).body).toMatchObject({ state: 'ended', endedAt: expect.any(String) });
  });

  it('lets the next turn start, whose leases go on counting', async () => {
    const { session, turn } = await begin();
    expect(refusal(await send('POST', `/v1/sessions/${session}/turns`))).toBe('409 conflict');
    await lease(turn);
    await end(turn, 1);
    const next = await startIn(session);
    expect((await lease(next)).body['leaseEpoch']).toBe(2);
    const { rows } = await send('GET', `/v1/sessions/${session}/turns`);
    expect(rows.map((row) => [row['id'], row['state']])).toEqual([
      [next, 'active'],
      [turn, 'ended'],
    ]);
    const older = await send('GET', `/v1/sessions/${session}/turns?before=${next}`);
    expect(older.rows.map((row) => row['id'])).toEqual([turn]);
  });

  it('is refused for a turn that is not there', async () => {
    const missing = makeId('trn');
    for (const answer of [
      await send('GET', `/v1/turns/${missing}`),
      await lease(missing),
      await heartbeat(missing, { leaseEpoch: 1 }),
      await end(missing, 1),
      await cancel(missing),
      await send('POST', `/v1/turns/${missing}/run-tokens`),
    ]) {
      expect(refusal(answer)).toBe('404 not_found');
    }
  });
});

describe('a run token by hand', () => {
  it('is of the lease as it stands, and leaves it there', async () => {
    const { turn } = await begin({ environment: 'dev' });
    const held = runToken(await lease(turn));
    const made = await send('POST', `/v1/turns/${turn}/run-tokens`);
    expect(made.status).toBe(201);
    expect([await isStale(held), await isStale(runToken(made))]).toEqual([false, false]);
    expect((await verify('egress', made.body['egressToken'])).claims.trn).toBe(turn);
    const { rows } = await send('GET', '/v1/admin-events?limit=1');
    expect(rows[0]).toMatchObject({ action: 'token.run', subject: turn });
  });
});

describe('the record', () => {
  it('is read by turn', async () => {
    const owner = openDatabase(new Secret(world.databaseUrl), null);
    const [turn, other] = [makeId('trn'), makeId('trn')];
    for (const [id, of] of [
      [makeId('con'), turn],
      [makeId('con'), other],
      [makeId('con'), null],
    ]) {
      await owner.query(
        `INSERT INTO connections VALUES ($1, now(), 'e', 't', 'p', null, $2, 'r', 's', 'h', 443, 'allowed', 'allowlisted')`,
        [id, of],
      );
    }
    await owner.close();
    const { rows } = await send('GET', `/v1/connections?turn=${turn}`);
    expect(rows.map((row) => row['turnId'])).toEqual([turn]);
    expect(refusal(await send('GET', '/v1/connections?turn=x'))).toBe('400 input_invalid');
  });
});

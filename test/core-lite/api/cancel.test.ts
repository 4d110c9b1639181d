/** Cancelling with a run token: its own turn and nothing else, whatever became of its lease. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeId } from '../../../core-lite/id.ts';
import { refusal, type Send, sendAs } from '../../support/core-client.ts';
import { startWorld, type World } from '../../support/world.ts';

let world: World;
let send: Send;

beforeAll(async () => {
  world = await startWorld();
  send = sendAs(world);
  await world.call('PUT', '/v1/environments/dev', {});
});
afterAll(() => world?.close());

interface Run {
  readonly turn: string;
  readonly token: string;
  readonly egressToken: string;
}

async function begin(): Promise<Run> {
  const opened = await send('POST', '/v1/sessions', { agent: 'coder', environment: 'dev' });
  const started = await send('POST', `/v1/sessions/${opened.body['id']}/turns`);
  return leaseAgain(started.body['id'] as string);
}

async function leaseAgain(turn: string): Promise<Run> {
  const { body } = await send('POST', `/v1/turns/${turn}/lease`, { holder: 'here' });
  return { turn, token: body['runToken'] as string, egressToken: body['egressToken'] as string };
}

const cancel = (turn: string, bearer: string) => sendAs(world, bearer)('POST', `/v1/turns/${turn}/cancel`);
const stateOf = async (turn: string) => (await send('GET', `/v1/turns/${turn}`)).body['state'];

describe('a run token', () => {
  it('cancels its own turn; the event names the token, not what it is', async () => {
    const run = await begin();
    const answer = await cancel(run.turn, run.token);
    expect(answer).toMatchObject({ status: 200, body: { id: run.turn, state: 'cancelled' } });
    const { rows } = await send('GET', '/v1/admin-events?limit=1');
    expect(rows[0]).toMatchObject({
      action: 'turn.cancel',
      subject: run.turn,
      actor: expect.stringMatching(/^tok_/),
    });
    expect(world.logged()).not.toContain(run.token);
  });

  it('does not cancel its turn after its lease was taken over', async () => {
    const old = await begin();
    await leaseAgain(old.turn);
    expect(refusal(await cancel(old.turn, old.token))).toBe('409 run_stale');
    expect((await send('GET', `/v1/turns/${old.turn}`)).body['state']).toBe('active');
  });

  it('finds its own turn as it is once it is over', async () => {
    const run = await begin();
    await send('POST', `/v1/turns/${run.turn}/end`, { leaseEpoch: 1 });
    expect((await cancel(run.turn, run.token)).body['state']).toBe('ended');
  });

  it('has one answer for turns of others and for turns that are not there', async () => {
    const [mine, theirs] = [await begin(), await begin()];
    const missing = makeId('trn');
    const answers = [await cancel(theirs.turn, mine.token), await cancel(missing, mine.token)];
    expect(answers.map(refusal)).toEqual(['404 not_found', '404 not_found']);
    const [foreign, absent] = answers.map(({ body }) => JSON.stringify(body));
    expect(foreign?.replace(theirs.turn, missing)).toBe(absent);
    expect(await stateOf(theirs.turn)).toBe('active');
  });

  it('does not cancel an earlier turn of its own session', async () => {
    const first = await begin();
    const session = (await send('GET', `/v1/turns/${first.turn}`)).body['sessionId'];
    await send('POST', `/v1/turns/${first.turn}/end`, { leaseEpoch: 1 });
    const started = await send('POST', `/v1/sessions/${session}/turns`);
    const second = started.body['id'] as string;
    expect(refusal(await cancel(second, first.token))).toBe('404 not_found');
    expect(await stateOf(second)).toBe('active');
  });

  it('is no key to anything else', async () => {
    const { turn, token } = await begin();
    const run = sendAs(world, token);
    for (const [method, path] of [
      ['GET', `/v1/turns/${turn}`],
      ['GET', '/v1/sessions'],
      ['POST', `/v1/turns/${turn}/lease`],
      ['POST', `/v1/turns/${turn}/heartbeat`],
      ['POST', `/v1/turns/${turn}/end`],
      ['POST', `/v1/turns/${turn}/run-tokens`],
    ] as const) {
      expect(`${method} ${path} ${refusal(await run(method, path))}`).toBe(
        `${method} ${path} 401 unauthorized`,
      );
    }
  });
});

describe('nobody else', () => {
  it.each<[name: string, bearer: (run: Run) => string]>([
    ['nothing', () => ''],
    ['an egress token of the same turn', ({ egressToken }) => egressToken],
    ['a token with a broken signature', ({ token }) => `${token.slice(0, -4)}AAAA`],
    ['a token without its signature', ({ token }) => token.slice(0, token.lastIndexOf('.') + 1)],
    ['an admin key of another installation', () => `sak_${'A'.repeat(43)}`],
    ['something long', () => 'x'.repeat(5_000)],
  ])('%s', async (_, bearer) => {
    const run = await begin();
    expect(refusal(await cancel(run.turn, bearer(run)))).toBe('401 unauthorized');
    expect(await stateOf(run.turn)).toBe('active');
  });

  it('a token whose signing key was revoked', async () => {
    const run = await begin();
    const [{ kid } = { kid: '' }] = await world.call<{ kid: string }[]>('GET', '/v1/signing-keys');
    await world.call('POST', '/v1/signing-keys/rotate');
    await world.call('POST', `/v1/signing-keys/${kid}/revoke`);
    expect(refusal(await cancel(run.turn, run.token))).toBe('401 unauthorized');
    expect(await stateOf(run.turn)).toBe('active');
  });
});

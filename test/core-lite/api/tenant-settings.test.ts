/** What is set for the whole installation, over HTTP: a change is an event, and no change is none. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Send, sendAs } from '../../support/core-client.ts';
import { startWorld, type World } from '../../support/world.ts';

let world: World;
let send: Send;

beforeAll(async () => {
  world = await startWorld();
  send = sendAs(world);
});
afterAll(() => world?.close());

const set = (body: object) => send('PATCH', '/v1/tenant/settings', body);

it('is shown, set and taken back', async () => {
  expect((await send('GET', '/v1/tenant/settings')).body).toEqual({ fixtureModel: null });
  expect((await set({ fixtureModel: 'fixture/echo' })).body).toEqual({ fixtureModel: 'fixture/echo' });
  expect((await set({ fixtureModel: 'fixture/echo' })).body).toEqual({ fixtureModel: 'fixture/echo' });
  expect((await set({})).body).toEqual({ fixtureModel: 'fixture/echo' });
  expect((await set({ fixtureModel: null })).body).toEqual({ fixtureModel: null });
  const events = await send('GET', '/v1/admin-events');
  const changes = events.rows.filter((row) => row['action'] === 'tenant.set');
  expect(changes.map((row) => row['detail'])).toEqual([
    { fixtureModel: null },
    { fixtureModel: 'fixture/echo' },
  ]);
});

it.each([
  { fixtureModel: 'gpt-5' },
  { fixtureModel: 'fixture/none' },
  { fixture: null },
  { fixtureModel: 1 },
])('is refused: %j', async (body) => expect((await set(body)).status).toBe(400));

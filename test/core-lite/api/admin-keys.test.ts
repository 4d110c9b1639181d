/** Admin keys over HTTP: several, named, revocable; a key that may only read changes nothing on any route there is. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { refusal, type Send, sendAs } from '../../support/core-client.ts';
import { startWorld, type World } from '../../support/world.ts';

let world: World;
let send: Send;

beforeAll(async () => {
  world = await startWorld();
  send = sendAs(world);
});
afterAll(() => world?.close());

interface Made {
  readonly id: string;
  readonly key: string;
}

async function add(name: string, role: string): Promise<Made> {
  const { status, body } = await send('POST', '/v1/admin-keys', { name, role });
  expect(status).toBe(201);
  return { id: body['id'] as string, key: body['key'] as string };
}

const revoke = (id: string, by: Send = send) => by('POST', `/v1/admin-keys/${id}/revoke`);
const canRead = async (key: string) => (await sendAs(world, key)('GET', '/v1/environments')).status === 200;

describe('a key', () => {
  it('works from its answer on, which is the only time that it is shown', async () => {
    const { id, key } = await add('alice', 'full');
    expect((await sendAs(world, key)('PUT', '/v1/environments/of-alice', {})).status).toBe(200);
    const list = await send('GET', '/v1/admin-keys');
    expect(list.rows.find((row) => row['id'] === id)).toEqual({
      id,
      name: 'alice',
      role: 'full',
      createdAt: expect.any(String),
      revokedAt: null,
    });
    const events = await send('GET', '/v1/admin-events');
    expect(events.rows.find((row) => row['action'] === 'environment.put')?.['actor']).toBe(id);
    expect(events.rows.find((row) => row['action'] === 'admin_key.make')).toMatchObject({
      subject: 'alice',
      detail: { id, role: 'full' },
    });
    expect(JSON.stringify([list, events]) + world.logged()).not.toContain(key);
  });

  it('may do everything if nobody says otherwise', async () => {
    expect((await send('POST', '/v1/admin-keys', { name: 'plain' })).body['role']).toBe('full');
  });

  it('is refused at once when it was revoked, by the same and by others', async () => {
    const [one, other] = [await add('one', 'full'), await add('other', 'read_only')];
    expect((await revoke(other.id)).status).toBe(204);
    expect((await revoke(one.id, sendAs(world, one.key))).status).toBe(204);
    expect([await canRead(one.key), await canRead(other.key)]).toEqual([false, false]);
    const [event] = (await send('GET', '/v1/admin-events?limit=1')).rows;
    expect(event).toMatchObject({ action: 'admin_key.revoke', subject: 'one', actor: one.id });
    expect((await revoke(one.id)).status).toBe(204);
    expect((await send('GET', '/v1/admin-events?limit=1')).rows[0]).toEqual(event);
  });

  it('has a name that no other live key has', async () => {
    const first = await add('bob', 'read_only');
    expect(refusal(await send('POST', '/v1/admin-keys', { name: 'bob' }))).toBe('409 conflict');
    await revoke(first.id);
    await add('bob', 'full');
  });

  it('has one holder of a name, however many ask at once', async () => {
    const ask = () => send('POST', '/v1/admin-keys', { name: 'race', role: 'read_only' });
    const answers = await Promise.all(Array.from({ length: 8 }, ask));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(7).fill(409)]);
  });

  it.each<[name: string, body: object]>([
    ['no name', {}],
    ['an empty name', { name: '' }],
    ['a name of two lines', { name: 'a\nb' }],
    ['a long name', { name: 'a'.repeat(129) }],
    ['another role', { name: 'x', role: 'root' }],
    ['an unknown field', { name: 'x', read_only: true }],
  ])('is refused with %s', async (_, body) => {
    expect(refusal(await send('POST', '/v1/admin-keys', body))).toBe('400 input_invalid');
  });

  it('is refused where it is not there', async () => {
    expect(refusal(await revoke(`adk_${'0'.repeat(32)}`))).toBe('404 not_found');
  });
});

describe('a key that may only read', () => {
  it('reads every list', async () => {
    const { key } = await add('auditor', 'read_only');
    const read = sendAs(world, key);
    const paths = (await routes()).filter(({ method, path }) => method === 'GET' && !path.includes('{'));
    expect(paths.length).toBeGreaterThan(5);
    for (const { path } of paths) expect(`${path} ${(await read('GET', path)).status}`).toBe(`${path} 200`);
  });

  it('changes nothing on any route', async () => {
    const { key } = await add('watcher', 'read_only');
    const read = sendAs(world, key);
    const before = await send('GET', '/v1/admin-events?limit=1000');
    const changing = (await routes()).filter(({ method }) => method !== 'GET' && method !== 'HEAD');
    expect(changing.length).toBeGreaterThan(15);
    for (const { method, path } of changing) {
      // Refused before its parameters and its body are looked at: what stands there does not matter.
      for (const body of [undefined, {}]) {
        const answer = await read(method, path.replaceAll(/\{\w+\}/g, 'x'), body);
        expect(`${method} ${path} ${refusal(answer)}`).toBe(`${method} ${path} 403 forbidden`);
      }
    }
    expect(await send('GET', '/v1/admin-events?limit=1000')).toEqual(before);
  });
});

describe('the last full key', () => {
  it('cannot be revoked, a read-only one left or not', async () => {
    const { rows } = await send('GET', '/v1/admin-keys');
    const live = rows.filter((row) => row['revokedAt'] === null && row['role'] === 'full');
    const [first, ...others] = live.toSorted((a, b) => (String(a['id']) < String(b['id']) ? -1 : 1));
    for (const row of others) await revoke(row['id'] as string);
    expect(refusal(await revoke(first?.['id'] as string))).toBe('409 conflict');
    expect(await canRead(world.adminKey)).toBe(true);
  });

  it('is left when all are revoked at once', async () => {
    const made = await Promise.all(Array.from({ length: 6 }, (_, i) => add(`full ${i}`, 'full')));
    const { rows } = await send('GET', '/v1/admin-keys');
    const full = rows.filter((row) => row['revokedAt'] === null && row['role'] === 'full');
    await Promise.all(full.map((row) => revoke(row['id'] as string)));
    const alive = await Promise.all([world.adminKey, ...made.map(({ key }) => key)].map(canRead));
    expect(alive.filter(Boolean).length).toBe(1);
  });
});

/** Every operation under /v1 of the OpenAPI document. */
async function routes(): Promise<{ method: string; path: string }[]> {
  const { body } = await send('GET', '/openapi.json');
  return Object.entries(body['paths'] ?? {})
    .filter(([path]) => path.startsWith('/v1/'))
    .flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => ({ method: method.toUpperCase(), path })),
    );
}

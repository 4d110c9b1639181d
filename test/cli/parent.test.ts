/** What `doctor`, `explain` and `config` say of a parent proxy, and that none of them shows its login. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startHttpParent, type TestParent } from '../support/parent.ts';
import { startWorld, type World } from '../support/world.ts';
import { sallyport, settingsOf } from './sallyport.ts';

let world: World;
let parent: TestParent;

beforeAll(async () => {
  world = await startWorld();
  parent = await startHttpParent({ login: 'user:canary-word' });
  await world.call('PUT', '/v1/environments/one', { allow: ['a.test', 'localhost'] });
});
afterAll(async () => {
  await world?.close();
  await parent?.close();
});

async function type(line: string, login: string) {
  const proxy = { SALLYPORT_PARENT_PROXY: `http://${login}@127.0.0.1:${parent.port}` };
  const result = await sallyport(line.split(' '), { variables: { ...settingsOf(world), ...proxy } });
  expect([...result.out, ...result.err].join('\n')).not.toContain('canary');
  return result;
}

async function examine(login: string) {
  const findings = (await type('doctor --json', login)).json<
    { check: string; state: string; detail: string }[]
  >();
  return findings.find(({ check }) => check === 'parent proxy');
}

describe('doctor', () => {
  it('says that the parent answers and what cannot be judged, or that it refuses the login', async () => {
    const shown = `http://127.0.0.1:${parent.port}`;
    expect(await examine('user:canary-word')).toMatchObject({
      state: 'ok',
      detail: `${shown} answers; it looks names up, so no address is judged here`,
    });
    expect(await examine('user:canary-wrong')).toMatchObject({
      state: 'wrong',
      detail: expect.stringContaining(`${shown}: PARENT_AUTH`),
    });
    const { json } = await sallyport(['doctor', '--json'], { variables: settingsOf(world) });
    expect(json<unknown[]>()).toContainEqual(
      expect.objectContaining({ check: 'parent proxy', state: 'skipped' }),
    );
  });

  it('says that a parent which hangs up may be one that cannot reach nobody’s host', async () => {
    const closing = await startHttpParent({ answer: (socket) => socket.end() });
    const proxy = { SALLYPORT_PARENT_PROXY: `http://127.0.0.1:${closing.port}` };
    const result = await sallyport(['doctor', '--json'], { variables: { ...settingsOf(world), ...proxy } });
    await closing.close();
    expect(result.json<unknown[]>()).toContainEqual({
      check: 'parent proxy',
      state: 'ok',
      detail: expect.stringContaining('it hung up, as some do'),
    });
  });
});

describe('explain', () => {
  it('looks nothing up and says who does; a name that leads inside is refused', async () => {
    const { out } = await type('explain --env one a.test', 'user:canary');
    expect(out).toContain(
      `  http://127.0.0.1:${parent.port} looks the name up: its addresses are not judged`,
    );
    expect(out.at(-1)).toMatch(/^allowed: allowlisted/);
    const explained = (await type('explain --env one localhost --json', 'user:canary')).json<object>();
    expect(explained).toMatchObject({ verdict: 'denied', reason: 'address_refused', addresses: [] });
    expect(parent.asked).not.toContain('a.test:443');
  });
});

describe('config', () => {
  it('masks it', async () => {
    const rows = (await type('config --json', 'user:canary')).json<{ name: string; value: string }[]>();
    expect(rows.find(({ name }) => name === 'SALLYPORT_PARENT_PROXY')?.value).toBe('[secret]');
  });
});

/** The environment `demo`: made once, the user's from then on, and following the demo's port. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ensureDemoEnvironment } from '../../cli/up/demo-environment.ts';
import { Secret } from '../../core-lite/secret.ts';
import { startWorld, type World } from '../support/world.ts';

const NOW = 'demo.sallyport.test:4443';
const BEFORE = 'demo.sallyport.test:5000';
let world: World;

beforeAll(async () => {
  world = await startWorld();
});

afterAll(async () => {
  await world.close();
});

it.each([
  ['is made where there is none', null, null, [NOW], 0],
  ['is left alone when it allows the origin', ['a.example', NOW], null, ['a.example', NOW], 0],
  ['follows the port of the demo', ['a.example', BEFORE], BEFORE, ['a.example', NOW], 0],
  ['is left alone when it was changed, and that is said', ['a.example'], BEFORE, ['a.example'], 1],
])('%s', async (_, allow, formerOrigin, allowed, said) => {
  await world.call('DELETE', '/v1/environments/demo').catch(() => {});
  if (allow !== null) await world.call('PUT', '/v1/environments/demo', { allow, mode: 'report' });
  const lines: string[] = [];
  const demo = { origin: NOW, formerOrigin };
  await ensureDemoEnvironment(world.core.address, new Secret(world.adminKey), demo, (line) =>
    lines.push(line),
  );
  const found = await world.call('GET', '/v1/environments/demo');
  expect(found).toMatchObject({ allow: allowed, mode: allow === null ? 'enforce' : 'report' });
  expect(lines).toHaveLength(said);
});

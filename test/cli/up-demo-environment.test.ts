/** The environment `demo` and its secret: made once, the user's from then on, and following the demo's port. */
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { ensureDemoEnvironment } from '../../cli/up/demo-environment.ts';
import { DEMO_CREDENTIAL, ensureDemoCredential } from '../../cli/up/demo-vault.ts';
import { Secret } from '../../core-lite/secret.ts';
import { startWorld, type World } from '../support/world.ts';

const [NOW, API] = ['demo.sallyport.test:4443', 'api.demo.sallyport.test:4443'];
const [BEFORE, API_BEFORE] = ['demo.sallyport.test:5000', 'api.demo.sallyport.test:5000'];
const FORMER = { origin: BEFORE, api: API_BEFORE };
const BOUND = [DEMO_CREDENTIAL];
let world: World;

beforeAll(async () => {
  world = await startWorld();
});

afterAll(async () => {
  await world.close();
});

beforeEach(async () => {
  for (const path of ['environments/demo', 'vaults/demo/credentials/api-key', 'vaults/demo'])
    await world.call('DELETE', `/v1/${path}`).catch(() => {});
});

it.each([
  ['is made where there is none', null, [], null, [NOW, API], BOUND, []],
  ['is left alone as it is', [NOW, API], BOUND, null, [NOW, API], BOUND, []],
  ['is left alone when more is allowed', ['a.test', NOW, API], BOUND, null, ['a.test', NOW, API], BOUND, []],
  ['of the version before gets the secret', [NOW], [], null, [NOW, API], BOUND, []],
  ['of the version before, at another port', [BEFORE], [], FORMER, [NOW, API], BOUND, []],
  ['follows the port', ['a.test', API_BEFORE, BEFORE], BOUND, FORMER, ['a.test', API, NOW], BOUND, []],
  ['follows the port once', [BEFORE, NOW, API], BOUND, FORMER, [NOW, API], BOUND, []],
  ['is not bound again, and that is said', [NOW, API], [], null, [NOW, API], [], BOUND],
  ['that was emptied stays empty', [], [], null, [], [], [NOW, API, ...BOUND]],
  ['was changed, and that is said', ['a.test', NOW], [], null, ['a.test', NOW], [], [API, ...BOUND]],
  ['was changed, at another port', ['a.test'], BOUND, FORMER, ['a.test'], BOUND, [NOW, API]],
] as const)('the environment %s', async (_, allow, credentials, former, allowed, bound, lacks) => {
  await ensureCredential({ isNew: true });
  if (allow !== null)
    await world.call('PUT', '/v1/environments/demo', { allow, credentials, mode: 'report', newPerSecond: 7 });
  const lines: string[] = [];
  const demo = { origin: NOW, api: API, former };
  await ensureDemoEnvironment(world.core.address, adminKey(), demo, (line) => lines.push(line));
  const found = await world.call('GET', '/v1/environments/demo');
  const kept = allow === null ? { mode: 'enforce' } : { mode: 'report', newPerSecond: 7 };
  expect(found).toMatchObject({ allow: allowed, credentials: bound, ...kept });
  const said = lacks.length > 0 ? [expect.stringContaining(`lacks ${lacks.join(', ')}: `)] : [];
  expect(lines).toEqual(said);
});

it.each([
  ['is put where there is none', null, {}, [API], 1],
  ['is left alone', [API], {}, [API], 1],
  ['follows the port', [API_BEFORE], { former: FORMER }, [API], 2],
  ['is left alone where it has other hosts', ['a.test'], { former: FORMER }, ['a.test'], 1],
  ['is put anew where it was made anew', [API], { isNew: true }, [API], 2],
] as const)('the credential %s', async (_, hosts, change, hostsNow, version) => {
  if (hosts !== null) {
    await world.call('PUT', '/v1/vaults/demo');
    const secret = { value: 'of the user himself' };
    const body = { kind: 'environment_secret', variable: 'DEMO_API_KEY', hosts, secret };
    await world.call('PUT', '/v1/vaults/demo/credentials/api-key', body);
  }
  await ensureCredential(change);
  expect(await world.call('GET', '/v1/credentials')).toEqual([
    expect.objectContaining({
      hosts: hostsNow,
      version,
      settings: expect.objectContaining({ variable: 'DEMO_API_KEY' }),
    }),
  ]);
});

function ensureCredential({
  isNew = false,
  former = null,
}: {
  isNew?: boolean;
  former?: typeof FORMER | null;
}) {
  const secret = { value: new Secret('demo_0123456789abcdef'), isNew, recognise: () => null };
  return ensureDemoCredential(world.core.address, adminKey(), { api: API, former, secret });
}

function adminKey(): Secret {
  return new Secret(world.adminKey);
}

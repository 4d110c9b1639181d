/** OAuth credentials by command: what is asked for, what is shown, and what cannot be got. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Database, openDatabase } from '../../core-lite/database/pool.ts';
import { Secret } from '../../core-lite/secret.ts';
import { startWorld, type World } from '../support/world.ts';
import { sallyport, settingsOf } from './sallyport.ts';

const SECRET = 'canary-client-secret';
let world: World;
let owner: Database;

const type = (line: string) =>
  sallyport(line.split(' '), { variables: { ...settingsOf(world), CLIENT_SECRET: SECRET } });

beforeAll(async () => {
  world = await startWorld();
  owner = openDatabase(new Secret(world.databaseUrl), null);
  await type('vault put team');
});
afterAll(async () => {
  await owner?.close();
  await world?.close();
});

it('credential put takes every setting of a token request, and an environment is bound to it', async () => {
  const made = await type(
    'credential put team/gh --kind oauth --variable GH_TOKEN --host api.test --token-url https://login.test/token --client-id app --grant client_credentials --client-auth client_secret_post --scope read --audience api --resource https://api.test/ --basic-user x-access-token --secret client_secret=env:CLIENT_SECRET --json',
  );
  expect(made).toMatchObject({ status: 0, err: [] });
  expect(made.json<{ settings: object; problem: null }>()).toMatchObject({
    problem: null,
    settings: {
      variable: 'GH_TOKEN',
      placement: { kind: 'basic', user: 'x-access-token' },
      tokenUrl: 'https://login.test/token',
      clientId: 'app',
      grant: 'client_credentials',
      clientAuth: 'client_secret_post',
      scope: 'read',
      audience: 'api',
      resource: 'https://api.test/',
    },
  });
  expect((await type('env put build --allow api.test --credential team/gh')).status).toBe(0);
  const explained = await type('explain --env build api.test --json');
  expect(explained.out.join('\n')).toContain('team/gh');
});

it('credential list and doctor say where no token can be had, until the credential is rotated', async () => {
  const doctor = async () =>
    (await type('doctor --json'))
      .json<{ check: string; state: string; detail: string }[]>()
      .find(({ check }) => check === 'oauth');
  expect(await doctor()).toMatchObject({ state: 'ok' });
  await owner.query(
    `INSERT INTO oauth_grants (credential_id, credential_version, failure, retry_at)
     SELECT id, version, 'OAUTH_INVALID_GRANT', now() + interval '1 minute' FROM credentials`,
  );
  const found = await doctor();
  expect(found).toMatchObject({ state: 'wrong' });
  expect(JSON.stringify(found)).toContain('team/gh (OAUTH_INVALID_GRANT)');
  const listed = await type('credential list team');
  expect(listed.out[1]).toContain('no new token: OAUTH_INVALID_GRANT');
  expect((await type('credential rotate team/gh --secret client_secret=env:CLIENT_SECRET')).status).toBe(0);
  expect(await doctor()).toMatchObject({ state: 'ok' });
  expect(JSON.stringify(listed.out) + world.logged()).not.toContain(SECRET);
});

it('an oauth credential without a variable is bound to no environment', async () => {
  const put =
    'credential put team/tool --kind oauth --host api.test --token-url https://login.test/token --client-id app --grant client_credentials --secret client_secret=env:CLIENT_SECRET';
  expect((await type(put)).status).toBe(0);
  const bound = await type('env put build --allow api.test --credential team/tool');
  expect(bound.status).toBe(1);
  expect(bound.err[0]).toContain('team/tool has no variable');
  expect((await type(`${put} --variable TOOL`)).err[0]).toContain('remove team/tool first');
});

/** What core tells of the variables of a workload: names for secrets, values for plain ones, and no secret ever. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { refusal, type Send, sendAs } from '../../support/core-client.ts';
import { startWorld, type World } from '../../support/world.ts';

const SECRET = 'canary-secret-31f0';
let world: World;
let send: Send;

beforeAll(async () => {
  world = await startWorld();
  send = sendAs(world);
  await send('PUT', '/v1/vaults/v');
  const hosts = ['api.example.com'];
  const put = (name: string, kind: string, variable: string, value: string) =>
    send('PUT', `/v1/vaults/v/credentials/${name}`, { kind, variable, hosts, secret: { value } });
  await put('token', 'environment_secret', 'TOKEN', SECRET);
  await put('other', 'environment_secret', 'TOKEN', `${SECRET}-2`);
  await put('region', 'environment_variable', 'REGION', 'eu');
  await put('shadow', 'environment_variable', 'TOKEN', 'plain');
  await send('PUT', '/v1/vaults/v/credentials/current', {
    kind: 'oauth',
    variable: 'GH_TOKEN',
    hosts,
    tokenUrl: 'https://login.example.com/token',
    clientId: 'c',
    grant: 'client_credentials',
    secret: { client_secret: SECRET },
  });
  const credentials = ['v/token', 'v/other', 'v/region', 'v/shadow', 'v/current'];
  await send('PUT', '/v1/environments/full', { credentials });
  await send('PUT', '/v1/environments/empty', {});
});
afterAll(() => world?.close());

describe('GET /v1/environments/{name}/pod-variables', () => {
  it('names what holds a sentinel once, and what is plain with its value; a secret’s name is no plain one', async () => {
    const { status, body } = await send('GET', '/v1/environments/full/pod-variables');
    expect(status).toBe(200);
    expect(body).toEqual({ sentinels: ['TOKEN', 'GH_TOKEN'], plain: { REGION: 'eu' } });
    expect(JSON.stringify(body) + world.logged()).not.toContain(SECRET);
  });

  it('holds the placeholder of a secret that has its own', async () => {
    const secret = (variable: string, more: object) => ({
      kind: 'environment_secret',
      variable,
      hosts: ['api.example.com'],
      secret: { value: SECRET },
      ...more,
    });
    const replace = { kind: 'replace', headers: ['x-key'] };
    const own = { placement: { ...replace, placeholder: 'sk-00000000' } };
    await send('PUT', '/v1/vaults/v/credentials/own', secret('KEY', own));
    await send('PUT', '/v1/vaults/v/credentials/sentinel', secret('OTHER', { placement: replace }));
    await send('PUT', '/v1/vaults/v/credentials/file', secret('FILE', { secret: {}, valueFrom: 'file:a' }));
    const credentials = ['v/own', 'v/sentinel', 'v/file', 'v/region'];
    await send('PUT', '/v1/environments/own', { credentials });
    const { body } = await send('GET', '/v1/environments/own/pod-variables');
    expect(body).toEqual({
      sentinels: expect.arrayContaining(['OTHER', 'FILE']),
      plain: { KEY: 'sk-00000000', REGION: 'eu' },
    });
  });

  it('is empty where nothing is bound', async () => {
    const { body } = await send('GET', '/v1/environments/empty/pod-variables');
    expect(body).toEqual({ sentinels: [], plain: {} });
  });

  it('follows a change of a plain value', async () => {
    await send('POST', '/v1/vaults/v/credentials/region/rotate', { secret: { value: 'us' } });
    const { body } = await send('GET', '/v1/environments/full/pod-variables');
    expect(body['plain']).toEqual({ REGION: 'us' });
  });

  it('is asked for an environment that is there, by an admin', async () => {
    expect(refusal(await send('GET', '/v1/environments/none/pod-variables'))).toBe('404 not_found');
    expect(refusal(await sendAs(world, 'x')('GET', '/v1/environments/full/pod-variables'))).toBe(
      '401 unauthorized',
    );
  });
});

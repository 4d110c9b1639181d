/** Bodies, queries and names that the admin API refuses: with 400, before anything changed, without repeating them. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { makeId } from '../../../core-lite/id.ts';
import { type Core, startCoreForTest } from '../../support/core.ts';

let core: Core;
beforeAll(async () => {
  core = await startCoreForTest();
});
afterAll(() => core?.close());

describe('what is refused', () => {
  const credential = { kind: 'bearer', hosts: ['api.example'], secret: { value: 'long-enough-secret' } };
  beforeEach(async () => {
    await core.ask('PUT', '/v1/vaults/v');
    await core.ask('PUT', '/v1/environments/e', {});
  });

  it.each<[method: string, path: string, body: unknown]>([
    ['PUT', '/v1/environments/e', { alow: [] }],
    ['PUT', '/v1/environments/e', { id: 'env_1' }],
    ['PUT', '/v1/environments/e', { hostEpoch: 5 }],
    ['PUT', '/v1/environments/e', { podUid: 'x' }],
    ['PUT', '/v1/environments/e', { kind: 'vm' }],
    ['PUT', '/v1/environments/e', { mode: 'off' }],
    ['PUT', '/v1/environments/e', { maxConnections: -1 }],
    ['PUT', '/v1/environments/e', { maxConnections: 1.5 }],
    ['PUT', '/v1/environments/e', { maxConnections: '5' }],
    ['PUT', '/v1/environments/e', { newPerSecond: 1e9 }],
    ['PUT', '/v1/environments/e', { allow: 'a.example' }],
    ['PUT', '/v1/environments/e', { allow: ['*'] }],
    ['PUT', '/v1/environments/e', { allow: ['A.example'] }],
    ['PUT', '/v1/environments/e', { allow: ['127.0.0.1'] }],
    ['PUT', '/v1/environments/e', { allow: [7] }],
    ['PUT', '/v1/environments/e', { allow: [''] }],
    ['PUT', '/v1/environments/e', { allow: Array(2_001).fill('a.example') }],
    ['PUT', '/v1/environments/e', []],
    ['PUT', '/v1/environments/e', null],
    ['PUT', '/v1/environments/e', 'null'],
    ['PUT', '/v1/environments/e', '7'],
    ['DELETE', '/v1/environments/e', { force: true }],
    ['POST', '/v1/environments/e/egress-tokens', { ttl: 86_400 }],
    ['PUT', '/v1/vaults/v', { owner: 'x' }],
    ['DELETE', '/v1/vaults/v', { force: true }],
    ['PUT', '/v1/vaults/v/credentials/c', { ...credential, more: 1 }],
    ['PUT', '/v1/vaults/v/credentials/c', { ...credential, version: 1 }],
    ['PUT', '/v1/vaults/v/credentials/c', { ...credential, hosts: [] }],
    ['PUT', '/v1/vaults/v/credentials/c', { ...credential, hosts: undefined }],
    ['PUT', '/v1/vaults/v/credentials/c', { ...credential, kind: 'password' }],
    ['PUT', '/v1/vaults/v/credentials/c', { ...credential, secret: 'x' }],
    ['PUT', '/v1/vaults/v/credentials/c', { ...credential, secret: { value: 7 } }],
    ['PUT', '/v1/vaults/v/credentials/c', { ...credential, secret: { value: 'x'.repeat(16_385) } }],
    [
      'PUT',
      '/v1/vaults/v/credentials/c',
      { ...credential, placement: { header: 'x', format: '{}', more: 1 } },
    ],
    ['PUT', '/v1/vaults/v/credentials/c', { ...credential, user: '' }],
    ['PUT', '/v1/vaults/v/credentials/c', { ...credential, user: 'a\0b' }],
    [
      'PUT',
      '/v1/vaults/v/credentials/c',
      JSON.stringify({
        ...credential,
        kind: 'oauth',
        secret: { client_secret: 'long-enough-secret' },
        tokenUrl: 'https://a.example/',
        grant: 'client_credentials',
        clientId: 'a\0b',
      }),
    ],
    [
      'PUT',
      '/v1/vaults/v/credentials/c',
      `{"kind":"oauth","hosts":["a.example"],"tokenUrl":"https://a.example","grant":"client_credentials","clientId":"\\ud800","secret":{"client_secret":"long-enough-secret"}}`,
    ],
    ['PUT', '/v1/vaults/v/credentials/c', `{"__proto__":{"kind":"bearer"}}`],
    [
      'PUT',
      '/v1/vaults/v/credentials/c',
      `{"kind":"bearer","hosts":["a.example"],"secret":{"value":"long-enough-secret","__proto__":"long-enough-secret"}}`,
    ],
    ['POST', '/v1/vaults/v/credentials/c/rotate', { secret: {}, kind: 'bearer' }],
    ['POST', '/v1/vaults/v/credentials/c/rotate', {}],
    ['POST', '/v1/signing-keys/rotate', { keep: true }],
    ['POST', '/v1/signing-keys/import', { pem: 'x', currnet: true }],
    ['POST', '/v1/signing-keys/import', { pem: 'garbage' }],
    ['POST', '/v1/signing-keys/import', { pem: 'x', current: 'yes' }],
    ['POST', '/v1/signing-keys/import', {}],
    ['POST', '/v1/signing-keys/abc/revoke', { now: true }],
  ])('%s %s %j', async (method, path, body) => {
    const events = await eventCount();
    const answer = await core.ask(method, path, body);
    expect([answer.status, answer.text]).toEqual([400, expect.stringContaining('input_invalid')]);
    expect(await eventCount()).toBe(events);
  });

  it.each([
    '/v1/connections?enviroment=x',
    '/v1/connections?limit=0',
    '/v1/connections?limit=1001',
    '/v1/connections?limit=x',
    '/v1/connections?before=1',
    `/v1/connections?before=${makeId('aev')}`,
    '/v1/connections?verdict=maybe',
    '/v1/connections?since=yesterday',
    '/v1/connections?host=%00',
    '/v1/connections?environment=a%00',
    '/v1/connections?environment=a&environment=b',
    '/v1/refusal-counts?source=x',
    '/v1/refusal-counts?since=x',
    '/v1/admin-events?after=x',
    '/v1/admin-events?before=x',
    '/v1/admin-events?limit=-1',
    '/v1/credentials?valt=v',
    '/v1/credentials?vault=V',
    '/v1/environments?deleted=true',
    '/v1/vaults?x=1',
    '/v1/signing-keys?state=current',
  ])('GET %s', async (path) => {
    const answer = await core.ask('GET', path);
    expect([answer.status, answer.text]).toEqual([400, expect.stringContaining('input_invalid')]);
  });

  it.each(['E', 'e_', '-e', 'e.', 'a'.repeat(64), 'a b', 'ä', '%00', 'a%2Fb', 'a;b', "a'b", '*'])(
    'the name %j',
    async (name) => {
      const answer = await core.ask('PUT', `/v1/environments/${name}`, {});
      expect(answer.status).toBe(400);
      expect((await core.ask('PUT', `/v1/vaults/${name}`)).status).toBe(400);
    },
  );

  it.each<[name: string, body: string, headers: Record<string, string>, status: number]>([
    ['a body over 256 KiB', JSON.stringify({ allow: ['x'.repeat(300_000)] }), {}, 413],
    ['what is not JSON', '{"allow": canary-7d1}', {}, 400],
    ['cut JSON', '{"allow": ["canary-7d1"', {}, 400],
    ['another media type', 'canary-7d1', { 'content-type': 'text/plain' }, 400],
    ['a form', 'allow=canary-7d1', { 'content-type': 'application/x-www-form-urlencoded' }, 415],
    ['XML', '<canary-7d1/>', { 'content-type': 'application/xml' }, 415],
    ['an empty body', '', { 'content-type': 'application/json' }, 400],
    ['a value of the wrong kind', '{"mode":"canary-7d1"}', {}, 400],
  ])('%s, without repeating it', async (_, body, headers, status) => {
    const answer = await core.ask('PUT', '/v1/environments/e', body, { headers });
    expect(answer.status).toBe(status);
    expect(JSON.parse(answer.text)).toMatchObject({
      error: { code: 'input_invalid', message: expect.any(String) },
    });
    expect(answer.text + core.logged()).not.toContain('canary-7d1');
  });
});

async function eventCount(): Promise<number> {
  const [row] = await core.installation.owner.query<{ n: number }>(
    'SELECT count(*)::int AS n FROM admin_events',
  );
  return row?.n ?? -1;
}

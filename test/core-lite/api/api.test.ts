/** The admin API over a real socket: who may call, what is refused, what a change leaves, and what never goes out. */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readConfig } from '../../../core-lite/config.ts';
import { openLog } from '../../../core-lite/log.ts';
import { startCore } from '../../../core-lite/main.ts';
import { makeAdminKey } from '../../../core-lite/state/admin.ts';
import { loadVerifyingKeys } from '../../../core-lite/tokens/signing-keys.ts';
import { verifyToken } from '../../../core-lite/tokens/verify.ts';
import { type Core, startCoreForTest } from '../../support/core.ts';
import { MASTER_KEY } from '../../support/installation.ts';

let core: Core;
beforeAll(async () => {
  core = await startCoreForTest();
});
afterAll(() => core?.close());

/** Every route under /v1, as the OpenAPI document names it. */
const ADMIN_ROUTES = [
  'GET /v1/admin-events',
  'GET /v1/connections',
  'GET /v1/credentials',
  'GET /v1/environments',
  'PUT /v1/environments/{name}',
  'GET /v1/environments/{name}',
  'DELETE /v1/environments/{name}',
  'POST /v1/environments/{name}/egress-tokens',
  'GET /v1/refusal-counts',
  'GET /v1/signing-keys',
  'POST /v1/signing-keys/import',
  'POST /v1/signing-keys/rotate',
  'POST /v1/signing-keys/{kid}/revoke',
  'GET /v1/vaults',
  'PUT /v1/vaults/{vault}',
  'DELETE /v1/vaults/{vault}',
  'PUT /v1/vaults/{vault}/credentials/{name}',
  'DELETE /v1/vaults/{vault}/credentials/{name}',
  'POST /v1/vaults/{vault}/credentials/{name}/rotate',
  'GET /v1/environments/{name}/destinations',
  'GET /v1/environments/{name}/pod-variables',
  'GET /v1/admin-keys',
  'POST /v1/admin-keys',
  'POST /v1/admin-keys/{key}/revoke',
  'GET /v1/sessions',
  'POST /v1/sessions',
  'GET /v1/sessions/{session}',
  'GET /v1/sessions/{session}/calls/tool',
  'POST /v1/sessions/{session}/service-tokens',
  'POST /v1/sessions/{session}/end',
  'GET /v1/sessions/{session}/turns',
  'POST /v1/sessions/{session}/turns',
  'GET /v1/turns/{turn}',
  'POST /v1/turns/{turn}/lease',
  'POST /v1/turns/{turn}/heartbeat',
  'POST /v1/turns/{turn}/end',
  'POST /v1/turns/{turn}/cancel',
  'POST /v1/turns/{turn}/run-tokens',
  'GET /v1/budgets',
  'GET /v1/budgets/{name}',
  'PUT /v1/budgets/{name}',
  'DELETE /v1/budgets/{name}',
  'GET /v1/models',
  'GET /v1/models/{name}',
  'PUT /v1/models/{name}',
  'DELETE /v1/models/{name}',
  'GET /v1/tenant/settings',
  'PATCH /v1/tenant/settings',
  'GET /v1/usage',
  'GET /v1/usage/calls',
  'GET /v1/exchanges',
] as const;
const PUBLIC_ROUTES = ['GET /health', 'GET /ready', 'GET /.well-known/jwks.json', 'GET /authority.pem'];

describe('the OpenAPI document', () => {
  it('names every route, no more and no less', async () => {
    const { paths } = await document();
    const routes = Object.entries(paths).flatMap(([path, operations]) =>
      Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(routes.sort()).toEqual([...ADMIN_ROUTES, ...PUBLIC_ROUTES].sort());
  });

  it('is well formed', async () => {
    const { openapi, info, paths, components } = await document();
    expect(openapi).toBe('3.1.0');
    expect(info).toMatchObject({
      title: expect.any(String),
      version: expect.stringMatching(/^\d+\.\d+\.\d+/),
    });
    expect(components.securitySchemes).toMatchObject({ adminKey: { type: 'http', scheme: 'bearer' } });
    for (const [path, operations] of Object.entries(paths)) {
      const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      for (const operation of Object.values(operations)) {
        const declared = (operation.parameters ?? []).filter((parameter) => parameter.in === 'path');
        expect(declared.map((parameter) => parameter.name).sort(), path).toEqual(named.sort());
        expect(declared.every((parameter) => parameter.required)).toBe(true);
        expect(Object.keys(operation.responses).length).toBeGreaterThan(0);
        expect(operation.security ?? 'inherited', path).toEqual(expectedSecurity(path));
        expect(JSON.stringify(operation)).not.toMatch(/"~|"\$ref":"(?!#\/components)/);
      }
    }
  });
});

/** The one route that a turn's own run token opens too. */
function expectedSecurity(path: string) {
  if (path === '/v1/turns/{turn}/cancel') return [{ adminKey: [] }, { runToken: [] }];
  return path.startsWith('/v1') ? 'inherited' : [];
}

describe('who may call', () => {
  const wrong: readonly (readonly [name: string, authorization: (key: string) => string | null])[] = [
    ['no key', () => null],
    ['an empty header', () => ''],
    ['another key of the right shape', () => `Bearer sak_${randomBytes(32).toString('base64url')}`],
    ['the key as Basic', (key) => `Basic ${Buffer.from(`x:${key}`).toString('base64')}`],
    ['the key alone', (key) => key],
    ['the key with a letter changed', (key) => `Bearer ${key.slice(0, -1)}${key.endsWith('A') ? 'E' : 'A'}`],
    ['the key cut', (key) => `Bearer ${key.slice(0, -1)}`],
    ['the key with more', (key) => `Bearer ${key}x`],
    ['two keys', (key) => `Bearer ${key} ${key}`],
    ['the key in lower case', (key) => `Bearer ${key.toLowerCase()}`],
    ['SQL', () => `Bearer ' OR true --`],
    ['a long text', () => `Bearer ${'x'.repeat(6_000)}`],
  ];

  it.each(ADMIN_ROUTES)('%s answers 401 to everybody else', async (route) => {
    const [method = '', template = ''] = route.split(' ');
    const path = template.replace(/\{\w+\}/g, 'some-name');
    for (const [name, authorization] of wrong) {
      const value = authorization(core.adminKey);
      const answer = await ask(method, path, value);
      expect(answer.status, name).toBe(401);
      expect(JSON.parse(answer.text)).toMatchObject({ error: { code: 'unauthorized' } });
    }
  });

  it('a route that answers GET answers HEAD to nobody else either', async () => {
    for (const route of ADMIN_ROUTES.filter((each) => each.startsWith('GET'))) {
      expect((await ask('HEAD', route.slice(4).replace(/\{\w+\}/g, 'x'), null)).status).toBe(401);
    }
  });

  it('a revoked key is refused at once', async () => {
    const key = (await makeAdminKey(core.installation.owner, 'brief')).reveal();
    expect((await ask('GET', '/v1/vaults', `Bearer ${key}`)).status).toBe(200);
    await core.installation.owner.query(`UPDATE admin_keys SET revoked_at = now() WHERE name = 'brief'`);
    expect((await ask('GET', '/v1/vaults', `Bearer ${key}`)).status).toBe(401);
  });

  it.each(PUBLIC_ROUTES)('%s is for anyone', async (route) => {
    expect((await ask('GET', route.slice(4), null)).status).toBe(200);
  });

  it.each(['/v1', '/v1/', '/v1/nothing', '/V1/vaults', '/v1//vaults', '/v1/vaults/', '/nothing'])(
    '%s is nowhere',
    async (path) => expect([401, 404]).toContain((await ask('GET', path, null)).status),
  );
});

describe('what is asked', () => {
  it('of an environment is what is there', async () => {
    const put = await core.ask('PUT', '/v1/environments/asked', {
      allow: ['*.b.example', 'a.example:8443', 'a.example:8443'],
    });
    expect(put.status).toBe(200);
    const made = JSON.parse(put.text) as Record<string, unknown>;
    expect(made).toEqual({
      id: expect.stringMatching(/^env_[0-9a-f]{32}$/),
      name: 'asked',
      kind: 'pod',
      mode: 'enforce',
      allow: ['*.b.example', 'a.example:8443'],
      maxConnections: 1_000,
      newPerSecond: 200,
      credentials: [],
      hostEpoch: 0,
      podUid: null,
      createdAt: expect.stringMatching(ISO),
      updatedAt: expect.stringMatching(ISO),
    });
    expect(JSON.parse((await core.ask('GET', '/v1/environments/asked')).text)).toEqual(made);
    const again = JSON.parse((await core.ask('PUT', '/v1/environments/asked', { mode: 'report' })).text);
    expect(again).toMatchObject({ id: made['id'], mode: 'report', allow: [] });
    expect((await core.ask('DELETE', '/v1/environments/asked')).status).toBe(204);
    expect((await core.ask('GET', '/v1/environments/asked')).status).toBe(404);
    const remade = JSON.parse((await core.ask('PUT', '/v1/environments/asked', {})).text);
    expect(remade.id).not.toBe(made['id']);
  });

  it('of an egress token is one that egress takes', async () => {
    await core.ask('PUT', '/v1/environments/tokens', {});
    const answer = await core.ask('POST', '/v1/environments/tokens/egress-tokens');
    expect(answer.status).toBe(201);
    const { token, tokenId, expiresAt } = JSON.parse(answer.text);
    const keys = await loadVerifyingKeys(core.installation.as('sallyport_egress'));
    expect(await verifyToken('egress', token, keys, new Date())).toMatchObject({
      id: tokenId,
      claims: { hep: 0, pod: 'none' },
    });
    expect(new Date(expiresAt).getTime() - Date.now()).toBeGreaterThan(890_000);
    expect((await core.ask('POST', '/v1/environments/none/egress-tokens')).status).toBe(404);
  });

  it('of signing keys is done, and they are listed', async () => {
    const rotated = await core.ask('POST', '/v1/signing-keys/rotate');
    expect(rotated.status).toBe(201);
    const { kid } = JSON.parse(rotated.text);
    expect((await core.ask('POST', `/v1/signing-keys/${kid}/revoke`)).status).toBe(409);
    await core.ask('POST', '/v1/signing-keys/rotate', {});
    expect((await core.ask('POST', `/v1/signing-keys/${kid}/revoke`)).status).toBe(204);
    const rows = JSON.parse((await core.ask('GET', '/v1/signing-keys')).text);
    expect(rows).toContainEqual({
      kid,
      state: 'revoked',
      imported: false,
      createdAt: expect.stringMatching(ISO),
      revokedAt: expect.stringMatching(ISO),
    });
    expect(rows).toContainEqual(expect.objectContaining({ state: 'current', revokedAt: null }));
    expect((await ask('GET', '/.well-known/jwks.json', null)).text).not.toContain(kid);
  });

  it('of the CA’s certificate is a certificate and nothing else', async () => {
    const answer = await ask('GET', '/authority.pem', null);
    expect(answer.text).toMatch(
      /^-----BEGIN CERTIFICATE-----\n[A-Za-z0-9+/=\r\n]+-----END CERTIFICATE-----\s*$/,
    );
  });
});

describe('an event', () => {
  it('is left by every change, in order, and names who made it', async () => {
    const before = await eventCount();
    await core.ask('PUT', '/v1/vaults/events');
    await core.ask('PUT', '/v1/vaults/events/credentials/c', {
      kind: 'environment_secret',
      hosts: ['api.example'],
      variable: 'T',
      secret: { value: 'long-enough-secret' },
    });
    await core.ask('POST', '/v1/vaults/events/credentials/c/rotate', {
      secret: { value: 'another-long-secret' },
    });
    await core.ask('PUT', '/v1/environments/events', { credentials: ['events/c'] });
    await core.ask('POST', '/v1/environments/events/egress-tokens');
    await core.ask('DELETE', '/v1/environments/events');
    await core.ask('DELETE', '/v1/vaults/events/credentials/c');
    await core.ask('DELETE', '/v1/vaults/events');
    const { kid } = JSON.parse((await core.ask('POST', '/v1/signing-keys/rotate')).text);
    await core.ask('POST', '/v1/signing-keys/rotate');
    await core.ask('POST', `/v1/signing-keys/${kid}/revoke`);
    const rows = await events(11);
    expect(rows.map((row) => `${row.action} ${row.subject}`).toReversed()).toEqual([
      'vault.put events',
      'credential.put events/c',
      'credential.rotate events/c',
      'environment.put events',
      'token.egress events',
      'environment.rm events',
      'credential.rm events/c',
      'vault.rm events',
      expect.stringMatching(/^signing_key\.rotate /),
      expect.stringMatching(/^signing_key\.rotate /),
      `signing_key.revoke ${kid}`,
    ]);
    expect(new Set(rows.map((row) => row.actor)).size).toBe(1);
    expect(rows[0]?.actor).toMatch(/^adk_/);
    expect(await eventCount()).toBe(before + 11);
  });

  it.each<[method: string, path: string, body: unknown, status: number]>([
    ['DELETE', '/v1/environments/none', undefined, 404],
    ['DELETE', '/v1/vaults/none', undefined, 404],
    [
      'PUT',
      '/v1/vaults/none/credentials/c',
      { kind: 'bearer', hosts: ['a.example'], secret: { value: 'long-enough-secret' } },
      404,
    ],
    ['PUT', '/v1/environments/half', { allow: ['a.example'], credentials: ['none/none'] }, 404],
    ['POST', '/v1/signing-keys/none/revoke', undefined, 404],
  ])('is not left by %s %s, which fails', async (method, path, body, status) => {
    const before = await eventCount();
    expect((await core.ask(method, path, body)).status).toBe(status);
    expect(await eventCount()).toBe(before);
    expect((await core.ask('GET', '/v1/environments/half')).status).toBe(404);
  });

  it('that cannot be written undoes its change', async () => {
    await core.installation.owner.query('REVOKE INSERT ON admin_events FROM sallyport_core');
    const answer = await core.ask('PUT', '/v1/environments/undone', {});
    await core.installation.owner.query('GRANT INSERT ON admin_events TO sallyport_core');
    expect(answer.status).toBe(500);
    expect((await core.ask('GET', '/v1/environments/undone')).status).toBe(404);
  });

  it('is found page by page, newest first, each once', async () => {
    for (let i = 0; i < 7; i++) await core.ask('PUT', '/v1/vaults/pages');
    const all = await events(1000);
    const seen: string[] = [];
    for (let before = ''; ; ) {
      const page = await events(3, before);
      if (page.length === 0) break;
      expect(page.length).toBeLessThanOrEqual(3);
      seen.push(...page.map((row) => row.id));
      before = `&before=${seen.at(-1)}`;
    }
    expect(seen).toEqual(all.map((row) => row.id));
    expect(seen).toEqual(seen.toSorted().toReversed());
  });
});

describe('many at once', () => {
  it.each<[name: string, method: string, path: string, body: unknown]>([
    ['one environment', 'PUT', '/v1/environments/crowd', { allow: ['a.example'] }],
    ['one vault', 'PUT', '/v1/vaults/crowd', undefined],
    [
      'one credential',
      'PUT',
      '/v1/vaults/crowd/credentials/c',
      { kind: 'bearer', hosts: ['a.example'], secret: { value: 'long-enough-secret' } },
    ],
    ['rotations of the signing key', 'POST', '/v1/signing-keys/rotate', undefined],
  ])('%s: each is done or told of a conflict', async (_, method, path, body) => {
    const answers = await Promise.all(Array.from({ length: 12 }, () => core.ask(method, path, body)));
    for (const answer of answers) expect([200, 201, 204, 409], answer.text).toContain(answer.status);
    expect(answers.some((answer) => answer.status < 300)).toBe(true);
  });

  it('puts and deletes of one environment end in a state that is whole', async () => {
    const calls = Array.from({ length: 24 }, (_, i) =>
      i % 2 === 0
        ? core.ask('PUT', '/v1/environments/churn', {})
        : core.ask('DELETE', '/v1/environments/churn'),
    );
    for (const answer of await Promise.all(calls))
      expect([200, 204, 404, 409], answer.text).toContain(answer.status);
    const rows = await core.installation.owner.query(
      `SELECT 1 FROM environments WHERE name = 'churn' AND deleted_at IS NULL`,
    );
    expect(rows.length).toBeLessThanOrEqual(1);
  });
});

it('a port that is taken keeps core from starting', async () => {
  const { port } = core.service.address;
  const config = readConfig({
    SALLYPORT_MASTER_KEY: MASTER_KEY,
    DATABASE_URL: core.installation.url,
    SALLYPORT_CORE_LISTEN: `127.0.0.1:${port}`,
    SALLYPORT_CORE_OBSERVE_LISTEN: '127.0.0.1:0',
  });
  await expect(startCore(config, openLog('core', 'error', { write: () => {} }))).rejects.toMatchObject({
    code: 'port_taken',
  });
});

function ask(method: string, path: string, authorization: string | null) {
  return core.ask(method, path, undefined, {
    headers: authorization === null ? { authorization: '' } : { authorization },
  });
}

interface Operation {
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly required?: boolean;
  }[];
  readonly responses: Readonly<Record<string, unknown>>;
  readonly security?: unknown;
}

interface OpenApi {
  readonly openapi: string;
  readonly info: unknown;
  readonly components: { readonly securitySchemes: unknown };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

async function document(): Promise<OpenApi> {
  return JSON.parse((await ask('GET', '/openapi.json', null)).text);
}

interface EventRow {
  readonly id: string;
  readonly actor: string;
  readonly action: string;
  readonly subject: string;
}

async function events(limit: number, more = ''): Promise<EventRow[]> {
  return JSON.parse((await core.ask('GET', `/v1/admin-events?limit=${limit}${more}`)).text);
}

async function eventCount(): Promise<number> {
  const [row] = await core.installation.owner.query<{ n: number }>(
    'SELECT count(*)::int AS n FROM admin_events',
  );
  return row?.n ?? -1;
}

const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

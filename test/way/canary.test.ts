/**
 * Promise 1 by force: canaries of every kind of secret are planted through the API and the command line, errors are
 * provoked on every route and in every odd form of a proxy credential, and then everything that the product said or
 * kept is searched for them. Only the one answer that is a secret may hold its own.
 */
import { generateKeyPairSync } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { KEY_CLASSES } from '../../core-lite/vault/class-keys.ts';
import { CanaryStand } from './canary-stand.ts';
import { echoes } from './connect-client.ts';
import { LeakFinder } from './leak-finder.ts';

let stand: CanaryStand;
beforeAll(async () => {
  stand = await CanaryStand.start();
}, 60_000);
afterAll(() => stand?.close(), 60_000);

describe('a canary of every secret', { timeout: 60_000 }, () => {
  it('is planted, rotated and removed through the API', async () => {
    expect(await stand.call('PUT', '/v1/vaults/v')).toMatchObject({ status: 204 });
    for (const generation of ['put', 'put again', 'put and rotated']) {
      for (const [name, body] of Object.entries(credentialBodies(generation)))
        expect(await stand.call('PUT', `/v1/vaults/v/credentials/${name}`, body)).toMatchObject({
          status: 200,
        });
    }
    for (const [name, body] of Object.entries(credentialBodies('rotated'))) {
      const { secret } = body as { secret: object };
      expect(await stand.call('POST', `/v1/vaults/v/credentials/${name}/rotate`, { secret })).toMatchObject({
        status: 200,
      });
    }
    const environment = { allow: [stand.openTarget, 'bound.test', 'gone.test'], newPerSecond: 10_000 };
    const bound = { ...environment, credentials: ['v/secret', 'v/variable'] };
    expect(await stand.call('PUT', '/v1/environments/e', bound)).toMatchObject({ status: 200 });
    expect(await stand.call('PUT', '/v1/environments/report', { ...bound, mode: 'report' })).toMatchObject({
      status: 200,
    });
    expect(await stand.call('DELETE', '/v1/vaults/v/credentials/secret')).toMatchObject({ status: 409 });
    expect(await stand.call('DELETE', '/v1/vaults/v/credentials/oauth')).toMatchObject({ status: 204 });
  });

  it('is planted through the command line', async () => {
    const file = await stand.write('value', `${stand.plant('from a file')}\n`);
    const variables = { CANARY: stand.plant('from a variable') };
    const to = ['--host', 'a.test'];
    const put = (name: string, ...more: string[]) => ['credential', 'put', `cli/${name}`, ...to, ...more];
    const done = { status: 0 };
    expect(await stand.type(['vault', 'put', 'cli'])).toMatchObject(done);
    expect(await stand.type(put('f', '--kind', 'bearer', '--from-file', file, '--json'))).toMatchObject(done);
    expect(
      await stand.type(put('e', '--kind', 'model_key', '--from-env', 'CANARY'), { variables }),
    ).toMatchObject(done);
    const parts = ['--secret', `x-a=file:${file}`, '--secret', 'x-b=env:CANARY', '--secret', 'x-c=-'];
    const stdin = stand.plant('from standard input');
    expect(await stand.type(put('h', '--kind', 'headers', ...parts), { stdin, variables })).toMatchObject(
      done,
    );
    expect(
      await stand.type(['credential', 'rotate', 'cli/f'], { stdin: stand.plant('typed') }),
    ).toMatchObject(done);
    expect(await stand.type(['credential', 'rm', 'cli/e'])).toMatchObject(done);
  });

  it('is not repeated when it stands in the wrong place of the command line', async () => {
    const wrong = stand.plant('on the command line');
    const stdin = stand.plant('refused at core');
    for (const words of [
      ['credential', 'put', 'cli/x', wrong, '--kind', 'bearer', '--host', 'a.test'],
      ['credential', 'put', 'cli/x', '--kind', wrong, '--host', 'a.test'],
      ['credential', 'put', 'cli/x', '--kind', 'bearer', '--host', 'a.test', '--secret', wrong],
      ['credential', 'put', 'cli/x', '--kind', 'bearer', '--host', 'a.test', '--secret', `value=${wrong}`],
      ['credential', 'put', 'cli/h', '--kind', 'bearer', '--host', 'a.test'],
      ['credential', 'put', 'gone/x', '--kind', 'bearer', '--host', 'a.test'],
      ['credential', 'put', 'cli/x', '--kind', 'oauth', '--host', 'a.test', '--secret', 'client_secret=-'],
      ['credential', 'rotate', 'cli/gone'],
      ['credential', 'rotate', 'cli/f', '--secret', 'other=-'],
      ['keys', 'import', '-'],
      ['vault', 'list', wrong],
    ])
      expect((await stand.type(words, { stdin })).status).not.toBe(0);
  });

  it('is planted as the key that signs', async () => {
    const { privateKey, publicKey } = makeKeys();
    const pem = String(privateKey.export({ type: 'pkcs8', format: 'pem' }));
    const second = String(makeKeys().privateKey.export({ type: 'sec1', format: 'pem' }));
    for (const text of [pem, second]) stand.plantKey('imported key', text);
    expect(await stand.call('POST', '/v1/signing-keys/import', { pem, current: true })).toMatchObject({
      status: 201,
    });
    expect(await stand.call('POST', '/v1/signing-keys/import', { pem, current: true })).toMatchObject({
      status: 409,
    });
    for (const body of [
      { pem: pem.replace('BEGIN', 'BEGUN'), current: true },
      { pem: pem.slice(0, -40) },
      { pem: [pem] },
      { pem, current: 'yes' },
      { pem, more: pem },
      `{"pem": ${JSON.stringify(pem)}`,
      { pem: publicKey.export({ type: 'spki', format: 'pem' }), current: true },
    ])
      expect((await stand.call('POST', '/v1/signing-keys/import', body)).status).toBeGreaterThanOrEqual(400);
    const file = await stand.write('key.pem', second);
    expect(await stand.type(['keys', 'import', file, '--current'])).toMatchObject({ status: 0 });
    expect(await stand.type(['keys', 'list', '--json'])).toMatchObject({ status: 0 });
  });

  it('is sent in whatever is refused, on every route', async () => {
    const openapi = JSON.parse((await stand.call('GET', '/openapi.json')).text) as {
      paths: Record<string, object>;
    };
    const routes = Object.entries(openapi.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => [method.toUpperCase(), path.replace(/\{\w+\}/g, 'gone')] as const),
    );
    expect(routes.length).toBeGreaterThan(20);
    for (const [method, path] of routes) {
      const value = stand.plant(`refused on ${method} ${path}`);
      const wrongKeys = [`Bearer ${value}`, `Basic ${btoa(value)}`, value, `Bearer ${stand.adminKey}x`];
      for (const authorization of wrongKeys)
        await stand.call(method, path, undefined, { headers: { authorization } });
      const query = `?value=${encodeURIComponent(value)}&limit=${encodeURIComponent(value)}`;
      await stand.call(method, path + query);
      if (method === 'GET' || method === 'HEAD') continue;
      for (const body of refusedBodies(value)) await stand.call(method, path, body);
      for (const kind of [
        'text/plain',
        'application/x-www-form-urlencoded',
        'application/json; charset=no',
        value,
      ])
        await stand.call(method, path, `value=${value}`, { headers: { 'content-type': kind } });
      await stand.call(method, path, `"${value.repeat(5_000)}"`);
    }
  });

  it('is put while the database fails', async () => {
    const { bearer } = credentialBodies('while the database fails');
    const token = await stand.mint('e');
    const put = () => stand.call('PUT', '/v1/vaults/v/credentials/bearer', bearer);
    const statuses: number[] = [];
    await stand.withOwner(async (owner) => {
      for (const table of ['admin_events', 'credentials', 'connections', 'environments', 'admin_keys']) {
        await owner.query(`ALTER TABLE ${table} RENAME TO lost`);
        statuses.push((await put()).status);
        await stand.call('POST', '/v1/environments/e/egress-tokens');
        await stand.connect(stand.openTarget, token);
        await owner.query(`ALTER TABLE lost RENAME TO ${table}`);
      }
      // PostgreSQL's own message about a row that it refuses holds the whole row.
      await owner.query('ALTER TABLE credentials ADD CONSTRAINT never CHECK (version < 0) NOT VALID');
      statuses.push((await put()).status);
      await owner.query('ALTER TABLE credentials DROP CONSTRAINT never');
    });
    expect(statuses).toEqual([500, 500, 200, 200, 500, 500]);
  });

  it('is sent to egress in every odd form', async () => {
    const token = await stand.mint('e');
    const value = stand.plant('sent to egress');
    for (const credential of oddCredentials(token, value)) {
      for (const target of [stand.openTarget, 'denied.test:443', `user:${token}@open.test:443`, token]) {
        const head = `CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n`;
        await stand.send(`${head}Proxy-Authorization: ${credential}\r\n\r\n`);
      }
    }
    const basic = `Proxy-Authorization: Basic ${btoa(`u:${token}`)}\r\n`;
    for (const raw of [
      `GET http://u:${token}@open.test/?q=${token} HTTP/1.1\r\nHost: open.test\r\n${basic}\r\n`,
      `GET /${token} HTTP/1.1\r\nHost: ${token}\r\nAuthorization: Bearer ${token}\r\n\r\n`,
      `CONNECT open.test:443 HTTP/1.1\r\nHost: open.test:443\r\n${basic}${basic}\r\n`,
      `CONNECT open.test:443 HTTP/1.1\r\nHost: open.test:443\r\n${basic}Content-Length: 9\r\n\r\n${token}`,
      `CONNECT open.test:443 HTTP/2.0\r\nHost: open.test:443\r\n${basic}\r\n`,
      `${token} open.test:443 HTTP/1.1\r\n\r\n`,
      `CONNECT open.test:443 HTTP/1.1\r\n${token}\r\n\r\n`,
      `CONNECT open.test:443 HTTP/1.1\r\nHost: open.test:443\r\nProxy-Authorization: Bearer ${token}\x01\r\n\r\n`,
      `CONNECT open.test:443 HTTP/1.1\r\nX: ${token.repeat(200)}\r\n\r\n`,
    ])
      await stand.send(raw);
  });

  it('rides along in connections of every outcome', async () => {
    const [token, reporting] = [await stand.mint('e'), await stand.mint('report')];
    const answers: number[] = [];
    for (const target of [
      stand.openTarget,
      'open.test:443',
      'denied.test:443',
      'bound.test:443',
      'gone.test:443',
      '127.0.0.1:443',
      'denied.test:25',
    ])
      for (const each of [token, reporting]) answers.push((await stand.connect(target, each)).status);
    expect(new Set(answers)).toEqual(new Set([200, 403, 502]));
    const { socket } = await stand.connect(stand.openTarget, token);
    expect(await echoes(socket, stand.plant('through a tunnel'))).toBe(true);
    socket.destroy();
    expect(await stand.call('PUT', '/v1/environments/e', { allow: [] })).toMatchObject({ status: 200 });
    expect(await stand.call('DELETE', '/v1/environments/report')).toMatchObject({ status: 204 });
    await expect.poll(async () => (await stand.connect(stand.openTarget, reporting)).status).toBe(407);
  });

  it('is asked for by every command and route that lists', async () => {
    for (const path of [
      'environments',
      'vaults',
      'credentials',
      'signing-keys',
      'connections',
      'refusal-counts',
      'admin-events',
    ])
      expect(await stand.call('GET', `/v1/${path}`)).toMatchObject({ status: 200 });
    for (const words of [
      'config',
      'config --json',
      'credential list --json',
      'env list --json',
      'vault list',
      'connections',
      'connections --json',
      'admin-events --json',
      'doctor',
      'keys rotate-master',
      'explain --env e --host open.test',
      'keys export-class master',
    ])
      await stand.type(words.split(' '));
    const typed = await stand.type(['token', 'egress', '--env', 'e'], { except: 'typed token' });
    stand.plantToken('typed token', typed.text);
    for (const name of KEY_CLASSES)
      await stand.type(['keys', 'export-class', name], { except: `class key ${name}` });
    const SALLYPORT_MASTER_KEY = stand.plant('a master key that is none');
    await stand.type(['keys', 'export-class', 'egress'], { variables: { SALLYPORT_MASTER_KEY } });
    await stand.type(['doctor'], { variables: { SALLYPORT_MASTER_KEY } });
    await stand.type(['vault', 'list'], { variables: { SALLYPORT_ADMIN_KEY: SALLYPORT_MASTER_KEY } });
    await stand.type(['config'], { variables: { DATABASE_URL: SALLYPORT_MASTER_KEY, SALLYPORT_MASTER_KEY } });
  });

  it('is nowhere', async () => {
    await stand.plantInner();
    await stand.collect();
    const { said, canaries } = stand;
    const finder = new LeakFinder(canaries);
    expect(said.length).toBeGreaterThan(300);
    const found = said.flatMap(({ where, text, except }) => {
      const allowed = except === undefined ? [] : [except];
      return finder.search(text, allowed).map((finding) => ({ where, ...finding }));
    });
    expect(found).toEqual([]);
    // What may be there is there: the search would have seen it.
    const legitimate = said.filter(({ except }) => except !== undefined);
    expect(legitimate.length).toBeGreaterThan(5);
    for (const { text } of legitimate) expect(finder.search(text)).not.toEqual([]);
  });
});

function makeKeys() {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' });
}

/** Every kind with all its parts, as the API takes them. */
function credentialBodies(generation: string) {
  const hosts = ['bound.test'];
  const value = (kind: string) => ({ kind, hosts, secret: { value: stand.plant(`${kind} ${generation}`) } });
  return {
    model: value('model_key'),
    bearer: value('bearer'),
    headers: {
      kind: 'headers',
      hosts,
      secret: {
        'x-one': stand.plant(`header one ${generation}`),
        'x-two': stand.plant(`header two ${generation}`),
      },
    },
    oauth: {
      kind: 'oauth',
      hosts,
      tokenUrl: 'https://auth.test/token',
      clientId: 'client',
      grant: 'refresh_token',
      secret: {
        client_secret: stand.plant(`client_secret ${generation}`),
        refresh_token: stand.plant(`refresh_token ${generation}`),
      },
    },
    current: {
      kind: 'oauth',
      hosts,
      variable: 'GH_TOKEN',
      tokenUrl: 'https://auth.test/token',
      clientId: 'client',
      grant: 'refresh_token',
      secret: {
        client_secret: stand.plant(`client_secret of a bound one ${generation}`),
        refresh_token: stand.plant(`refresh_token of a bound one ${generation}`),
      },
    },
    secret: { ...value('environment_secret'), variable: 'TOKEN' },
    basic: {
      ...value('environment_secret'),
      variable: 'BASIC',
      placement: { kind: 'basic', user: 'u' },
      rules: { paths: ['/v1/'], methods: ['GET'] },
    },
    query: { ...value('environment_secret'), variable: 'QUERY', placement: { kind: 'query', name: 'key' } },
    replace: {
      ...value('environment_secret'),
      variable: 'REPLACE',
      placement: { kind: 'replace', placeholder: 'place-holder', headers: ['x-key'], query: ['k'] },
    },
    variable: {
      kind: 'environment_variable',
      hosts,
      variable: 'NOTE',
      secret: { value: stand.plant(`environment_variable ${generation}`, 'é\n"') },
    },
  };
}

function refusedBodies(value: string): readonly unknown[] {
  return [
    value,
    `{"secret": ${JSON.stringify(value)}`,
    `{"secret": {"value": ${JSON.stringify(value)}}, "__proto__": {"x": ${JSON.stringify(value)}}}`,
    JSON.stringify(value),
    [value],
    { secret: value },
    { secret: { value } },
    { secret: { value, other: value } },
    { kind: value, hosts: [value], secret: { value } },
    { kind: 'bearer', hosts: [], secret: { value } },
    { kind: 'bearer', hosts: ['a.test'], secret: { value: `${value}\n` } },
    { kind: 'bearer', hosts: ['a.test'], secret: { value: [value] } },
    {
      kind: 'environment_secret',
      hosts: ['a.test'],
      placement: { header: 'host', format: value },
      secret: { value },
    },
    {
      kind: 'environment_secret',
      hosts: ['a.test'],
      variable: 'X',
      valueFrom: value,
      secret: { value },
    },
    ...['basic', 'query', 'replace'].map((kind) => ({
      kind: 'environment_secret',
      hosts: ['a.test'],
      variable: 'X',
      placement: { kind, user: value, name: value, placeholder: value, headers: ['x'] },
      secret: { value },
    })),
    { kind: 'environment_secret', hosts: ['a.test'], variable: 'X', valueFrom: value },
    {
      kind: 'environment_secret',
      hosts: ['a.test'],
      variable: 'X',
      placement: { kind: 'basic', user: `${value}:` },
    },
    {
      kind: 'environment_secret',
      hosts: ['a.test'],
      variable: 'X',
      placement: { kind: 'query', name: `${value} ` },
    },
    {
      kind: 'environment_secret',
      hosts: ['a.test'],
      variable: 'X',
      placement: { kind: 'replace', placeholder: `${value}:`, headers: ['x'] },
    },
    { pem: value, current: true },
    { mode: value, allow: [1], maxConnections: value },
  ];
}

function oddCredentials(token: string, value: string): readonly string[] {
  const claims = Buffer.from(JSON.stringify({ sub: value })).toString('base64url');
  const [header, payload, signature] = token.split('.');
  return [
    token,
    value,
    `Bearer ${token}`,
    `bearer  ${token}`,
    `Bearer ${token}x`,
    `Bearer ${token.slice(1)}`,
    `Bearer ${header}.${claims}.${signature}`,
    `Bearer ${claims}.${payload}.${signature}`,
    `Bearer ${token}, Basic ${token}`,
    `Bearer ${value}`,
    `Basic ${token}`,
    `Basic ${btoa(token)}`,
    `Basic ${btoa(`:${token}`)}`,
    `Basic ${btoa(`${token}:`)}`,
    `Basic ${btoa(`${token}:${token}`)}`,
    `Basic ${btoa(`u:${value}`)}`,
    `Basic ${btoa(`u:${token}`).slice(0, -1)}`,
    `Negotiate ${token}`,
    `Digest username="${token}"`,
  ];
}

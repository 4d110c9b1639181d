/**
 * Promise 1: unique canaries of every credential kind go in through the API; then answers, logs and the whole database
 * are searched for them, raw and in every plain encoding.
 */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Core, startCoreForTest } from '../../support/core.ts';

let core: Core;
let answers = '';
const canaries: string[] = [];

beforeAll(async () => {
  core = await startCoreForTest();
});
afterAll(() => core?.close());

it('no canary of any kind is in an answer, a log line or the database', async () => {
  await ask('PUT', '/v1/vaults/all');
  for (const [name, body] of Object.entries(bodies())) {
    expect(await ask('PUT', `/v1/vaults/all/credentials/${name}`, body)).toBe(200);
    const secret = Object.fromEntries(Object.keys(body.secret).map((part) => [part, canary()]));
    expect(await ask('POST', `/v1/vaults/all/credentials/${name}/rotate`, { secret })).toBe(200);
    await refuse(name, body);
  }
  await ask('PUT', '/v1/environments/e', {
    credentials: ['all/environment-secret', 'all/environment-variable'],
  });
  for (const path of [
    'vaults',
    'credentials',
    'environments',
    'environments/e',
    'signing-keys',
    'admin-events',
    'connections',
  ]) {
    await ask('GET', `/v1/${path}`);
  }
  await core.ask('GET', '/openapi.json').then(({ text }) => (answers += text));
  const places = { answers, log: core.logged(), database: await dump() };
  expect(canaries.length).toBeGreaterThan(25);
  expect(places.answers).toContain('all');
  expect(places.log).toContain('credentials/:name');
  expect(places.database).toContain('environment_secret');
  for (const [place, text] of Object.entries(places)) {
    for (const spelling of [...canaries, core.adminKey].flatMap(spellings)) {
      expect(text.includes(spelling), `${place}: ${spelling}`).toBe(false);
    }
  }
});

it('the private halves of keys are in no place in plain', async () => {
  const database = await dump();
  expect(database).not.toContain('PRIVATE KEY');
  expect(database).not.toContain(Buffer.from('PRIVATE KEY').toString('hex'));
  for (const key of Object.values(core.installation.seals)) {
    for (const spelling of spellings(key.export().reveal())) expect(database).not.toContain(spelling);
    expect(database).not.toContain(Buffer.from(key.export().reveal(), 'base64').toString('hex'));
  }
});

/** What is refused is not repeated either. */
async function refuse(name: string, body: ReturnType<typeof bodies>[string]): Promise<void> {
  const path = `/v1/vaults/all/credentials/${name}`;
  const secret = { value: canary() };
  expect(await ask('PUT', path, { ...body, hosts: ['BAD'], secret })).toBe(400);
  expect(await ask('PUT', path, { ...body, secret: { strange: canary() } })).toBe(
    name === 'headers' ? 200 : 400,
  );
  expect(await ask('PUT', path, { ...body, secret: { value: `${canary()}\n\0` } })).toBe(400);
  expect(await ask('PUT', path, { ...body, secret: [canary()] })).toBe(400);
  expect(await ask('PUT', path, `${JSON.stringify({ ...body, secret })}}`)).toBe(400);
  expect(await ask('PUT', path, `${JSON.stringify({ ...body, secret }).slice(0, -5)}`)).toBe(400);
  expect(await ask('PUT', `/v1/vaults/none/credentials/${name}`, { ...body, secret: body.secret })).toBe(404);
}

async function ask(method: string, path: string, body?: unknown): Promise<number> {
  const answer = await core.ask(method, path, body);
  answers += answer.text;
  return answer.status;
}

function canary(): string {
  const text = `canary-${randomBytes(12).toString('base64url')}~/+x`;
  canaries.push(text);
  return text;
}

function spellings(text: string): string[] {
  const bytes = Buffer.from(text);
  // Inside a longer base64 text a value stands at one of three places in its group of bytes.
  const base64 = [0, 1, 2].map((shift) =>
    Buffer.concat([Buffer.alloc(shift), bytes])
      .toString('base64')
      .slice(shift + 1, -4),
  );
  return [
    text,
    JSON.stringify(text).slice(1, -1),
    encodeURIComponent(text),
    bytes.toString('hex'),
    ...base64,
    bytes.toString('base64url'),
  ];
}

/** Every row of every table, bytes as hex. */
async function dump(): Promise<string> {
  const { owner } = core.installation;
  const tables = await owner.query<{ name: string }>(
    `SELECT quote_ident(tablename) AS name FROM pg_tables WHERE schemaname = 'public'`,
  );
  const rows = await Promise.all(
    tables.map(({ name }) => owner.query<{ row: string }>(`SELECT t::text AS row FROM ${name} t`)),
  );
  return rows
    .flat()
    .map(({ row }) => row)
    .join('\n');
}

interface Body {
  readonly kind: string;
  readonly hosts: readonly string[];
  readonly secret: Readonly<Record<string, string>>;
  readonly [setting: string]: unknown;
}

function bodies(): Readonly<Record<string, Body>> {
  const hosts = ['api.example'];
  return {
    'model-key': { kind: 'model_key', hosts, secret: { value: canary() } },
    bearer: { kind: 'bearer', hosts, user: 'ada', secret: { value: canary() } },
    headers: { kind: 'headers', hosts, secret: { 'x-one': canary(), 'x-two': canary() } },
    oauth: {
      kind: 'oauth',
      hosts,
      tokenUrl: 'https://login.example/token',
      clientId: 'c',
      grant: 'refresh_token',
      secret: { client_secret: canary(), refresh_token: canary() },
    },
    'oauth-bound': {
      kind: 'oauth',
      hosts,
      variable: 'GH_TOKEN',
      tokenUrl: 'https://login.example/token',
      clientId: 'c',
      grant: 'refresh_token',
      secret: { client_secret: canary(), refresh_token: canary() },
    },
    'environment-secret': {
      kind: 'environment_secret',
      hosts,
      variable: 'TOKEN',
      secret: { value: canary() },
    },
    'environment-variable': {
      kind: 'environment_variable',
      hosts,
      variable: 'MODE',
      secret: { value: canary() },
    },
  };
}

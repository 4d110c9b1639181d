/** `sallyport up` with a database of the operator's: every way not to start is one line and exit 1. */
import { once } from 'node:events';
import { renameSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createDatabase, type TestDatabase } from '../support/postgres.ts';
import { makeHome } from './up-process.ts';

const home = makeHome();
let database: TestDatabase;
let masterKey: string;

beforeAll(async () => {
  database = await createDatabase();
  const up = start();
  await up.ready();
  masterKey = home.read('master.key');
  expect((await up.end('SIGTERM')).status).toBe(0);
}, 60_000);

afterAll(async () => {
  await home.remove();
  await database.close();
});

it('an address that is taken', async () => {
  const server = await listen();
  const address = `127.0.0.1:${portOf(server)}`;
  expect(await failure({ SALLYPORT_EGRESS_OBSERVE_LISTEN: address })).toMatch(
    `${address} is taken (SALLYPORT_EGRESS_OBSERVE_LISTEN); `,
  );
  server.close();
});

it('a service that cannot start, in its own words', { timeout: 30_000 }, async () => {
  const server = await listen();
  const address = `127.0.0.1:${portOf(server)}`;
  server.close();
  await once(server, 'close');
  const settings = { SALLYPORT_CORE_LISTEN: address, SALLYPORT_EGRESS_LISTEN: address };
  expect(await failure(settings)).toMatch(`${address} is taken; `);
});

it('a database that cannot be reached', async () => {
  const url = 'postgres://nobody@127.0.0.1:1/none';
  expect(await failure({ DATABASE_URL: url })).toMatch('the database cannot be reached; ');
});

it('a database that refuses the login', async () => {
  const url = new URL(database.url);
  url.password = 'wrong';
  expect(await failure({ DATABASE_URL: url.href })).toMatch('the database refuses the ');
});

it.each(['SALLYPORT_HOSTS_FILE', 'SALLYPORT_EXTRA_CA'])(
  'the file of %s that is not there',
  async (setting) => {
    const file = join(home.folder, 'no-such-file');
    const { status, err } = await home.start({ DATABASE_URL: database.url, [setting]: file }).ended;
    expect({ status, err }).toEqual({ status: 1, err: [expect.stringContaining(file)] });
  },
);

it('a master key that is missing, which is not made anew', async () => {
  renameSync(join(home.folder, 'master.key'), join(home.folder, 'master.key.away'));
  expect(await failure()).toMatch(join(home.folder, 'master.key'));
  expect(() => home.read('master.key')).toThrow();
});

it('a master key that is wrong', async () => {
  writeFileSync(join(home.folder, 'master.key'), Buffer.alloc(32, 9).toString('base64'));
  expect(await failure()).toMatch('not the one that this database was set up with');
  renameSync(join(home.folder, 'master.key.away'), join(home.folder, 'master.key'));
  expect(home.read('master.key')).toBe(masterKey);
});

it('makes another admin key where the one of the home is missing', { timeout: 30_000 }, async () => {
  const before = home.read('admin.key');
  renameSync(join(home.folder, 'admin.key'), join(home.folder, 'admin.key.away'));
  const up = start();
  await up.ready();
  const { core } = JSON.parse(home.read('addresses.json'));
  const headers = { authorization: `Bearer ${home.read('admin.key').trim()}` };
  const events = await (await fetch(`http://${core}/v1/admin-events`, { headers })).text();
  expect((await up.end('SIGTERM')).status).toBe(0);
  expect(home.read('admin.key')).not.toBe(before);
  expect(up.lines().join('\n')).toContain('a new admin key was made');
  expect(events).toContain('admin_key.make');
});

/** The one line of a start that does not come to be ready. */
async function failure(settings: Readonly<Record<string, string>> = {}): Promise<string> {
  const { status, err, out } = await start(settings).ended;
  expect({ status, lines: err.length, out }).toEqual({ status: 1, lines: 1, out: [] });
  return err[0] ?? '';
}

function start(settings: Readonly<Record<string, string>> = {}) {
  return home.start({ DATABASE_URL: database.url, ...settings }, '--no-demo');
}

async function listen(): Promise<Server> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('it does not listen');
  return address.port;
}

/** Migrations on a server of their own: the roles are the whole server's, and here there are none at first. */
import { randomBytes } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type EmbeddedDatabase, startTemporary } from '../../../core-lite/database/embedded.ts';
import { checkSchema, migrate } from '../../../core-lite/database/migrate.ts';
import { type Database, openDatabase } from '../../../core-lite/database/pool.ts';
import type { Fault } from '../../../core-lite/errors.ts';
import { Secret } from '../../../core-lite/secret.ts';

/** As `migrate` names them: version and name. */
const MIGRATIONS = readdirSync(new URL('../../../core-lite/database/migrations/', import.meta.url))
  .sort()
  .map((file) => file.replace(/^0*(\d+)\.do\.(.+)\.sql$/, '$1 $2'));
const LATER = Math.max(...MIGRATIONS.map((name) => Number.parseInt(name, 10))) + 1;

let server: EmbeddedDatabase;
let administrator: Database;
const opened: Database[] = [];

beforeAll(async () => {
  server = await startTemporary();
  administrator = openDatabase(new Secret(server.url), null);
});

afterAll(async () => {
  for (const database of opened) await database.close();
  await administrator?.close();
  await server?.close();
});

describe('on a server without roles', () => {
  it('a login that may not make them is told the SQL, which then lets it migrate', async () => {
    const url = await makeDatabase('"Odd Owner"');
    const database = open(url);
    const fault = await migrate(database).catch((error: unknown) => error);
    expect(fault).toMatchObject({ name: 'Fault', code: 'database_rights' });
    const sql = (fault as Fault).message.split('run: ')[1] ?? '';
    expect(sql).toBe(
      'CREATE ROLE sallyport_core NOLOGIN; CREATE ROLE sallyport_gates NOLOGIN; CREATE ROLE sallyport_egress NOLOGIN; ' +
        'GRANT sallyport_core, sallyport_gates, sallyport_egress TO "Odd Owner"',
    );
    await administrator.query(sql);
    expect(await migrate(database)).toHaveLength(MIGRATIONS.length);
    await actsAsEveryRole(url);
  });

  it('a login that owns another database is told the grant alone', async () => {
    const database = open(await makeDatabase('another_owner'));
    await expect(migrate(database)).rejects.toMatchObject({
      code: 'database_rights',
      message: expect.stringMatching(
        /run: GRANT sallyport_core, sallyport_gates, sallyport_egress TO another_owner$/,
      ),
    });
  });

  it('a login that may make roles makes them itself', async () => {
    const owners = await administrator.query<{ name: string }>(
      `SELECT quote_ident(datname) AS name FROM pg_database WHERE datname LIKE 'test_%'`,
    );
    for (const { name } of owners) await administrator.query(`DROP DATABASE ${name} WITH (FORCE)`);
    await administrator.query('DROP ROLE sallyport_core, sallyport_gates, sallyport_egress');
    const url = await makeDatabase('maker', 'CREATEROLE');
    expect(await migrate(open(url))).toHaveLength(MIGRATIONS.length);
    await actsAsEveryRole(url);
    expect(
      await administrator.query(`SELECT 1 FROM pg_roles WHERE rolname LIKE 'sallyport%' AND rolcanlogin`),
    ).toEqual([]);
  });

  it('two databases that are migrated at once make each role once', async () => {
    await administrator.query(`SELECT 1`);
    const urls = await Promise.all([
      makeDatabase('postgres'),
      makeDatabase('postgres'),
      makeDatabase('postgres'),
    ]);
    await dropRoles();
    const applied = await Promise.all(urls.map((url) => migrate(open(url))));
    expect(applied.map((names) => names.length)).toEqual(urls.map(() => MIGRATIONS.length));
  });
});

describe('migrate', () => {
  it('brings an empty database to the newest schema, and then does nothing', async () => {
    const database = open(await makeDatabase());
    expect(await migrate(database)).toEqual(MIGRATIONS);
    expect(await migrate(database)).toEqual([]);
    await checkSchema(database);
    expect(await database.query('SELECT oldest_program FROM program_requirement')).toEqual([
      { oldest_program: '0.1.0' },
    ]);
  });

  it('applies once when several start together', async () => {
    const url = await makeDatabase();
    const applied = await Promise.all([1, 2, 3, 4].map(() => migrate(open(url))));
    expect(applied.map((names) => names.length).sort()).toEqual([0, 0, 0, MIGRATIONS.length]);
    await checkSchema(open(url));
  });

  it('that fails half way leaves nothing', async () => {
    const url = await makeDatabase();
    const database = open(url);
    // The last of the migrations finds its function's name taken.
    await database.query(`CREATE FUNCTION tell_model() RETURNS int LANGUAGE sql AS 'SELECT 1'`);
    await expect(migrate(database)).rejects.toThrow();
    expect(await tablesOf(database)).toEqual([]);
    await database.query('DROP FUNCTION tell_model()');
    expect(await migrate(database)).toHaveLength(MIGRATIONS.length);
  });
});

describe('another program’s database', () => {
  it.each<[name: string, change: string, migrates: string | null, serves: string | null]>([
    [
      'needs a newer program',
      `UPDATE program_requirement SET oldest_program = '0.1.1'`,
      'database_too_new',
      'database_too_new',
    ],
    [
      'needs a much newer one',
      `UPDATE program_requirement SET oldest_program = '10.0.0'`,
      'database_too_new',
      'database_too_new',
    ],
    [
      'is further, and lets this one run',
      `INSERT INTO schemaversion (version, name, md5, run_at) VALUES (${LATER}, 'later', 'x', now())`,
      null,
      null,
    ],
    [
      'is further, and does not let this one run',
      `INSERT INTO schemaversion (version, name, md5, run_at) VALUES (${LATER}, 'later', 'x', now());
       UPDATE program_requirement SET oldest_program = '0.2.0'`,
      'database_too_new',
      'database_too_new',
    ],
    ['is behind', `DELETE FROM schemaversion WHERE version > 3`, '42723', 'database_not_migrated'],
  ])('%s', async (_, change, migrates, serves) => {
    const database = open(await makeDatabase());
    await migrate(database);
    await database.query(change);
    expect(await codeOf(migrate(database))).toBe(migrates);
    expect(await codeOf(checkSchema(database))).toBe(serves);
  });

  it('is not migrated at all', async () => {
    const database = open(await makeDatabase());
    await expect(checkSchema(database)).rejects.toMatchObject({ code: 'database_not_migrated' });
  });

  it.each(['sallyport_core', 'sallyport_gates', 'sallyport_egress'] as const)(
    'is checked as %s',
    async (role) => {
      const url = await makeDatabase();
      await migrate(open(url));
      const database = openDatabase(new Secret(url), role);
      await checkSchema(database);
      await expect(migrate(database)).rejects.toThrow();
      await database.close();
    },
  );
});

async function codeOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => null,
    (error: { code?: unknown }) => error.code,
  );
}

async function tablesOf(database: Database): Promise<unknown[]> {
  return database.query(`SELECT tablename FROM pg_tables WHERE schemaname = 'public'`);
}

async function actsAsEveryRole(url: string): Promise<void> {
  for (const role of ['sallyport_core', 'sallyport_gates', 'sallyport_egress'] as const) {
    const database = openDatabase(new Secret(url), role);
    expect(await database.query('SELECT current_user AS acts')).toEqual([{ acts: role }]);
    await checkSchema(database);
    await database.close();
  }
}

function open(url: string): Database {
  const database = openDatabase(new Secret(url), null, { max: 2, queryTimeoutMs: 0 });
  opened.push(database);
  return database;
}

/** An empty database and the URL of its owner, who is made if need be. */
async function makeDatabase(owner = 'postgres', attributes = ''): Promise<string> {
  const name = `test_${randomBytes(6).toString('hex')}`;
  const url = Object.assign(new URL(server.url), { pathname: name });
  if (owner !== 'postgres') {
    await administrator.query(`CREATE ROLE ${owner} LOGIN PASSWORD 'pw' ${attributes}`);
    url.username = owner.replaceAll('"', '');
    url.password = 'pw';
  }
  await administrator.query(`CREATE DATABASE ${name} OWNER ${owner}`);
  return url.href;
}

async function dropRoles(): Promise<void> {
  const held = await administrator.query<{ name: string }>(
    `SELECT datname AS name FROM pg_database WHERE datname LIKE 'test_%'`,
  );
  for (const { name } of held) {
    const database = openDatabase(
      new Secret(Object.assign(new URL(server.url), { pathname: name }).href),
      null,
    );
    const [roles] = await database.query(`SELECT 1 FROM pg_roles WHERE rolname = 'sallyport_core'`);
    if (roles) await database.query('DROP OWNED BY sallyport_core, sallyport_gates, sallyport_egress');
    await database.close();
  }
  await administrator.query('DROP ROLE IF EXISTS sallyport_core, sallyport_gates, sallyport_egress');
}

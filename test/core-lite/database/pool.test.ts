import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openDatabase, type Role } from '../../../core-lite/database/pool.ts';
import { Fault } from '../../../core-lite/errors.ts';
import { Secret } from '../../../core-lite/secret.ts';
import { createInstallation, type Installation } from '../../support/installation.ts';
import { startTcpProxy } from '../../support/tcp-proxy.ts';

let installation: Installation;
const LOGINS = ['test_member', 'test_stranger', 'test_as_itself'];

beforeAll(async () => {
  installation = await createInstallation();
  for (const login of LOGINS) {
    await installation.owner.query(`DROP ROLE IF EXISTS ${login}`);
    await installation.owner.query(`CREATE ROLE ${login} LOGIN PASSWORD 'p%w/d' NOINHERIT`);
  }
  await installation.owner.query('GRANT sallyport_egress TO test_member');
});

afterAll(async () => {
  await installation.owner.query('REVOKE sallyport_egress FROM test_member');
  for (const login of LOGINS) await installation.owner.query(`DROP ROLE ${login}`);
  await installation.close();
});

describe('the role', () => {
  it.each<[name: string, role: Role | null, url: () => string, acts: string]>([
    ['an owner’s URL', 'sallyport_egress', () => installation.url, 'sallyport_egress'],
    ['an owner’s URL', 'sallyport_core', () => installation.url, 'sallyport_core'],
    ['an owner’s URL', 'sallyport_gates', () => installation.url, 'sallyport_gates'],
    ['an owner’s URL for migrations', null, () => installation.url, 'postgres'],
    ['a member’s login', 'sallyport_egress', () => urlOf('test_member'), 'sallyport_egress'],
    [
      'a URL with options of its own',
      'sallyport_egress',
      () => withOptions('-c work_mem=2MB'),
      'sallyport_egress',
    ],
    [
      'a URL that names another role',
      'sallyport_egress',
      () => withOptions('-c role=sallyport_core'),
      'sallyport_egress',
    ],
    ['a URL that names its login twice', 'sallyport_egress', () => loginTwice(), 'sallyport_egress'],
  ])('%s acts as %s', async (_, role, url, acts) => {
    const database = openDatabase(new Secret(url()), role, { max: 3 });
    const asked = Array.from({ length: 9 }, () =>
      database.query<{ acts: string }>('SELECT current_user AS acts, pg_sleep(0.01)'),
    );
    const inTransaction = database.transaction((tx) =>
      tx.query<{ acts: string }>('SELECT current_user AS acts'),
    );
    const rows = (await Promise.all([...asked, inTransaction])).flat();
    expect(new Set(rows.map((row) => row.acts))).toEqual(new Set([acts]));
    await database.close();
  });

  it('keeps the URL’s own options', async () => {
    const database = openDatabase(new Secret(withOptions('-c work_mem=2MB')), 'sallyport_egress');
    expect(await database.query('SHOW work_mem')).toEqual([{ work_mem: '2MB' }]);
    await database.close();
  });

  it('is not set where the login is the role itself', async () => {
    // Every role name is a Role only in types: a login of the test stands for one.
    const database = openDatabase(new Secret(urlOf('test_as_itself')), 'test_as_itself' as Role);
    const [row] = await database.query(`SELECT current_user AS acts, current_setting('role') AS role`);
    expect(row).toEqual({ acts: 'test_as_itself', role: 'none' });
    await database.close();
  });
});

describe('what goes wrong is', () => {
  it.each<[name: string, url: () => string, code: string]>([
    ['a login that may not take the role', () => urlOf('test_stranger'), 'database_rights'],
    ['a wrong password', () => urlOf('test_member', 'wrong'), 'database_unreachable'],
    ['a login that does not exist', () => urlOf('test_nobody'), 'database_unreachable'],
    [
      'a database that does not exist',
      () => Object.assign(new URL(installation.url), { pathname: 'none' }).href,
      'database_unreachable',
    ],
    [
      'a port where nobody listens',
      () => Object.assign(new URL(installation.url), { port: '1' }).href,
      'database_unreachable',
    ],
    [
      'a host that does not exist',
      () => Object.assign(new URL(installation.url), { hostname: 'none.invalid' }).href,
      'database_unreachable',
    ],
  ])('%s', async (_, url, code) => {
    const database = openDatabase(new Secret(url()), 'sallyport_egress');
    await expect(database.query('SELECT 1')).rejects.toMatchObject({ name: 'Fault', code });
    await expect(database.transaction((tx) => tx.query('SELECT 1'))).rejects.toMatchObject({ code });
    await database.close();
  });

  it.each([
    ['a right that the role has not', 'SELECT * FROM admin_keys', 'database_rights'],
    ['a text with a NUL', `SELECT convert_from('\\x00', 'utf8')`, 'input_invalid'],
    ['a JSON text with a NUL', `SELECT '{"a":"\\u0000"}'::jsonb`, 'input_invalid'],
    ['a mistake of ours', 'SELEC 1', '42601'],
  ])('%s', async (_, statement, code) => {
    await expect(installation.as('sallyport_egress').query(statement)).rejects.toMatchObject({ code });
  });

  it('a row that is there already', async () => {
    await installation.owner.query(`INSERT INTO vaults (id, name) VALUES ('v1', 'twice')`);
    const again = installation.owner.query(`INSERT INTO vaults (id, name) VALUES ('v2', 'twice')`);
    await expect(again).rejects.toMatchObject({ code: 'conflict' });
  });

  it('never told with the password', async () => {
    const database = openDatabase(new Secret(urlOf('test_member', 'canary-pw')), 'sallyport_egress');
    const error = await database.query('SELECT 1').catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(Fault);
    expect(String(error)).not.toContain('canary');
    await database.close();
  });
});

describe('a transaction', () => {
  it('is committed whole when its work resolves', async () => {
    const result = await installation.owner.transaction(async (tx) => {
      await tx.query(`INSERT INTO vaults (id, name) VALUES ('t1', 'one')`);
      await tx.query(`INSERT INTO vaults (id, name) VALUES ('t2', 'two')`);
      return 'done';
    });
    expect(result).toBe('done');
    expect(await countOf(`name IN ('one', 'two')`)).toBe(2);
  });

  it.each<[name: string, fails: (query: (text: string) => Promise<unknown>) => unknown]>([
    [
      'throws',
      () => {
        throw new Error('no');
      },
    ],
    ['sends a wrong statement', (query) => query('SELEC 1')],
    ['breaks a rule', (query) => query(`INSERT INTO vaults (id, name) VALUES ('r1', 'again')`)],
  ])('is rolled back when its work %s', async (_, fails) => {
    const work = installation.owner.transaction(async (tx) => {
      await tx.query(`INSERT INTO vaults (id, name) VALUES ('r1', 'rolled-back')`);
      await fails((text) => tx.query(text));
    });
    await expect(work).rejects.toThrow();
    expect(await countOf(`id = 'r1'`)).toBe(0);
  });

  it('gives its connection back, whatever happened', async () => {
    const database = openDatabase(new Secret(installation.url), null, { max: 1 });
    for (let i = 0; i < 5; i++) {
      await database.transaction(() => Promise.reject(new Error('no'))).catch(() => {});
    }
    expect(await database.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
    await database.close();
  });
});

describe('a server that hangs', () => {
  it.each<[name: string, ask: (database: ReturnType<typeof openDatabase>) => Promise<unknown>]>([
    ['a statement', (database) => database.query('SELECT 1')],
    ['a transaction', (database) => database.transaction((tx) => tx.query('SELECT 1'))],
  ])('ends %s within the time limit, and is found again', async (_, ask) => {
    const proxy = await startTcpProxy(installation.url);
    const database = openDatabase(new Secret(proxy.through(installation.url)), 'sallyport_core', {
      max: 1,
      queryTimeoutMs: 400,
    });
    await ask(database);
    proxy.freeze();
    const began = performance.now();
    await expect(ask(database)).rejects.toMatchObject({ code: 'database_unreachable' });
    expect(performance.now() - began).toBeLessThan(750);
    proxy.thaw();
    await expect.poll(() => ask(database).catch(() => null), { timeout: 5_000 }).toEqual(await ask(database));
    await database.close();
    await proxy.close();
  });

  it('ends a connection that is being made', async () => {
    const proxy = await startTcpProxy(installation.url);
    proxy.freeze();
    const database = openDatabase(new Secret(proxy.through(installation.url)), 'sallyport_core');
    const began = performance.now();
    await expect(database.query('SELECT 1')).rejects.toMatchObject({ code: 'database_unreachable' });
    expect(performance.now() - began).toBeLessThan(4_000);
    await database.close();
    await proxy.close();
  });

  it('does not keep a pool from closing', async () => {
    const proxy = await startTcpProxy(installation.url);
    const database = openDatabase(new Secret(proxy.through(installation.url)), 'sallyport_core');
    await database.query('SELECT 1');
    proxy.freeze();
    await database.close();
    await proxy.close();
  });

  it('that is restarted is found again by the next statements', async () => {
    const proxy = await startTcpProxy(installation.url);
    const database = openDatabase(new Secret(proxy.through(installation.url)), 'sallyport_core');
    await database.query('SELECT 1');
    await proxy.cut();
    await expect(database.query('SELECT 1')).rejects.toMatchObject({ code: 'database_unreachable' });
    await proxy.mend();
    expect(await database.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
    await database.close();
    await proxy.close();
  });
});

it('an idle connection that the server ends does not end the process', async () => {
  const database = openDatabase(new Secret(installation.url), 'sallyport_core', { max: 1 });
  const [{ pid } = { pid: 0 }] = await database.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  await installation.owner.query('SELECT pg_terminate_backend($1, 5000)', [pid]);
  await expect.poll(() => database.query('SELECT 1 AS one').catch(() => null)).toEqual([{ one: 1 }]);
  await database.close();
});

async function countOf(condition: string): Promise<number | undefined> {
  const [row] = await installation.owner.query<{ n: number }>(
    `SELECT count(*)::int AS n FROM vaults WHERE ${condition}`,
  );
  return row?.n;
}

function urlOf(login: string, password = 'p%w/d'): string {
  const url = new URL(installation.url);
  url.username = login;
  url.password = encodeURIComponent(password);
  return url.href;
}

function withOptions(options: string): string {
  const url = new URL(installation.url);
  url.searchParams.set('options', options);
  return url.href;
}

/** pg logs in as the `user` parameter: the name before the password is then nobody's. */
function loginTwice(): string {
  const url = new URL(installation.url);
  url.searchParams.set('user', url.username);
  url.username = 'sallyport_egress';
  return url.href;
}

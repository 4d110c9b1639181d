/** Setting up, keys, settings and the services themselves by command, against a real database. */
import { generateKeyPairSync } from 'node:crypto';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { connectHead, connectTo } from '../support/client.ts';
import { createDatabase, type TestDatabase } from '../support/postgres.ts';
import { startWorld, type World } from '../support/world.ts';
import { type Around, sallyport, settingsOf, type Typed } from './sallyport.ts';

let world: World;
let folder: string;

function type(line: string, around: Around = {}): Promise<Typed> {
  return sallyport(line.split(' '), { ...around, variables: { ...settingsOf(world), ...around.variables } });
}

beforeAll(async () => {
  world = await startWorld();
  folder = await mkdtemp(join(tmpdir(), 'sallyport-cli-'));
});
afterAll(async () => {
  await world?.close();
  await rm(folder, { recursive: true });
});

describe('migrate and the services', () => {
  let database: TestDatabase;
  let variables: Record<string, string>;
  beforeAll(async () => {
    database = await createDatabase();
    variables = {
      ...FREE_PORTS,
      DATABASE_URL: database.url,
      SALLYPORT_MASTER_KEY: Buffer.alloc(32, 9).toString('base64'),
    };
  });
  afterAll(() => database?.close());

  it('sets up, prints the first admin key once, and the services run until they are stopped', async () => {
    const early = await sallyport(['core'], { variables });
    expect(early).toMatchObject({ status: 1, out: [] });
    expect(early.err[0]).toMatch(
      /^sallyport: the database has no Sallyport schema yet; run `sallyport migrate`/,
    );

    const first = await sallyport(['migrate'], { variables });
    expect(first.status).toBe(0);
    expect(first.out[0]).toMatch(/^applied 1 /);
    expect(first.out.at(-1)).toMatch(/^sak_[\w-]{43}$/);
    expect(first.err).toHaveLength(1);
    expect(first.err[0]).toContain('cannot be read again');
    expect(await sallyport(['migrate'], { variables })).toMatchObject({
      status: 0,
      out: ['the schema is up to date'],
      err: [],
    });

    for (const service of ['core', 'egress', 'gates']) {
      const stop = new AbortController();
      const lines: string[] = [];
      const running = sallyport([service], {
        variables,
        signal: stop.signal,
        seen: (line) => lines.push(line),
      });
      const isReady = new RegExp(`${service} (is|are) ready`);
      await expect.poll(() => lines.some((line) => isReady.test(line)), POLL).toBe(true);
      stop.abort();
      expect(await running).toMatchObject({ status: 0, err: [] });
      expect(lines.map((line) => JSON.parse(line).service)).toEqual(lines.map(() => service));
    }
  });

  it('a taken port is one line', async () => {
    const taken = `127.0.0.1:${world.core.address.port}`;
    const { status, err } = await sallyport(['core'], {
      variables: { ...variables, SALLYPORT_CORE_LISTEN: taken },
    });
    expect(status).toBe(1);
    expect(err).toEqual([expect.stringMatching(new RegExp(`^sallyport: ${taken} is taken; `))]);
  });

  it('--print-roles prints SQL for the login of the URL', async () => {
    const roles = async (url: string) =>
      (await sallyport(['migrate', '--print-roles'], { variables: { DATABASE_URL: url } })).out;
    expect(await roles('postgres://owner:x@h/d')).toEqual([
      expect.stringMatching(/CREATE ROLE sallyport_egress NOLOGIN;.* TO owner;$/),
    ]);
    expect((await roles('postgres://My%22Owner@h/d'))[0]).toMatch(/ TO "My""Owner";$/);
    expect((await roles(''))[0]).toMatch(/ TO OWNER;$/);
  });

  it('without a database or a master key it says what to set', async () => {
    const empty = await createDatabase();
    try {
      expect((await sallyport(['migrate'])).err[0]).toContain('DATABASE_URL is not set');
      const { err } = await sallyport(['migrate'], { variables: { DATABASE_URL: empty.url } });
      expect(err).toEqual([
        expect.stringMatching(/^sallyport: no master key is set; set SALLYPORT_MASTER_KEY_FILE/),
      ]);
    } finally {
      await empty.close();
    }
  });
});

describe('keys', () => {
  it('list, rotate, import, revoke', async () => {
    const list = async () => (await type('keys list --json')).json<{ kid: string; state: string }[]>();
    const [made] = await list();
    const rotated = await type('keys rotate');
    expect(rotated.out[0]).toMatch(/^[\w-]{16} is the current signing key$/);
    expect((await list()).map(({ state }) => state).sort()).toEqual(['current', 'previous']);

    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const file = join(folder, 'key.pem');
    await writeFile(file, privateKey.export({ type: 'pkcs8', format: 'pem' }));
    expect((await type(`keys import ${file} --current`)).status).toBe(0);
    const other = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey;
    const stdin = other.export({ type: 'spki', format: 'pem' }) as string;
    expect((await type('keys import -', { stdin })).out[0]).toMatch(/ is imported$/);
    const again = publicKey.export({ type: 'spki', format: 'pem' }) as string;
    expect((await type('keys import -', { stdin: again })).err[0]).toContain('is already there');
    expect((await type('keys import -', { stdin: 'no key' })).err[0]).toContain('no P-256 key in PEM');

    expect((await type(`keys revoke -- ${made?.kid}`)).status).toBe(0);
    expect((await list()).find(({ kid }) => kid === made?.kid)?.state).toBe('revoked');
    expect((await type('keys list')).out[0]).toMatch(/^KID/);
    expect((await type('keys revoke nothing')).err[0]).toContain('no signing key nothing');
  });

  it('rotate-master wraps the class keys anew; export-class prints one that a service can live on', async () => {
    const before = world.settings['SALLYPORT_MASTER_KEY'] ?? '';
    const now = Buffer.alloc(32, 77).toString('base64');
    const unknown = await type('keys rotate-master', { variables: { SALLYPORT_MASTER_KEY: now } });
    expect(unknown).toMatchObject({ status: 1, out: [] });
    const both = { SALLYPORT_MASTER_KEY: now, SALLYPORT_MASTER_KEY_PREVIOUS: before };
    expect((await type('keys rotate-master', { variables: both })).out[0]).toMatch(/^3 class keys/);
    expect((await type('keys rotate-master', { variables: both })).out[0]).toContain('already');

    expect((await type('keys export-class egress')).err[0]).toContain('the master key is not the one');
    const exported = await type('keys export-class egress', { variables: { SALLYPORT_MASTER_KEY: now } });
    expect(exported.out).toEqual([expect.stringMatching(/^egress [0-9a-f]{8} \S{44}$/)]);
    expect(
      (
        await type('keys rotate-master', {
          variables: { ...both, SALLYPORT_MASTER_KEY: before, SALLYPORT_MASTER_KEY_PREVIOUS: now },
        })
      ).status,
    ).toBe(0);
    const actions = (await type('admin-events --json'))
      .json<{ action: string }[]>()
      .map(({ action }) => action);
    expect(actions).toContain('master_key.rotate');
    expect(actions).toContain('class_key.export');

    const file = join(folder, 'egress.key');
    await writeFile(file, `${exported.out[0]}\n`);
    const variables = { SALLYPORT_MASTER_KEY: '', SALLYPORT_CLASS_KEY_FILE: file };
    const findings = (await type('doctor --json', { variables })).json<{ check: string; detail: string }[]>();
    expect(findings.find(({ check }) => check === 'keys')?.detail).toContain('the class key egress');
  });
});

describe('config', () => {
  it('lists every setting, secrets masked', async () => {
    const { status, json } = await type('config --json');
    expect(status).toBe(0);
    const rows = json<{ name: string; value: string; help: string }[]>();
    expect(rows.find(({ name }) => name === 'DATABASE_URL')?.value).toBe('[secret]');
    expect(rows.every(({ help }) => help !== '')).toBe(true);
    const { out } = await type('config');
    expect(out).toHaveLength(rows.length + 1);
    for (const secret of [world.adminKey, world.databaseUrl]) expect(out.join('\n')).not.toContain(secret);
  });

  it('names every fault at once, and a misspelt setting with what was meant', async () => {
    const variables = { SALLYPORT_EGRES_LISTEN: '127.0.0.1:1', SALLYPORT_DRAIN: 'soon' };
    const { status, out, err } = await type('config', { variables });
    expect(status).toBe(1);
    expect(out.length).toBeGreaterThan(20);
    expect(err).toHaveLength(1);
    expect(err[0]).toContain(
      'SALLYPORT_EGRES_LISTEN is not a setting, did you mean SALLYPORT_EGRESS_LISTEN?',
    );
    expect(err[0]).toContain('SALLYPORT_DRAIN is not a duration');
  });

  it('is asked by every command that reads settings', async () => {
    for (const line of [
      'env list',
      'core',
      'egress',
      'gates',
      'migrate',
      'keys rotate-master',
      'token egress --env a',
    ]) {
      const { status, err } = await type(line, { variables: { SALLYPORT_NONSENSE_AT_ALL: '1' } });
      expect(status).toBe(1);
      expect(err).toEqual([expect.stringContaining('SALLYPORT_NONSENSE_AT_ALL is not a setting')]);
    }
  });
});

describe('the home of `npm start`', () => {
  it('names core, egress, the gates, the admin key and the master key where no setting does', async () => {
    const egress = await world.egress();
    const gates = await world.gates();
    const home = join(folder, 'home');
    await mkdir(home);
    const addresses = {
      core: `127.0.0.1:${world.core.address.port}`,
      egress: `127.0.0.1:${egress.address.port}`,
      gates: `127.0.0.1:${gates.address.port}`,
    };
    await writeFile(join(home, 'addresses.json'), JSON.stringify(addresses));
    await writeFile(join(home, 'admin.key'), `${world.adminKey}\n`);
    await writeFile(join(home, 'master.key'), `${world.settings['SALLYPORT_MASTER_KEY']}\n`);
    const variables = { SALLYPORT_HOME: home };
    expect((await sallyport(['env', 'put', 'homely', '--allow', 'a.test'], { variables })).status).toBe(0);
    const [url = ''] = (await sallyport(['token', 'egress', '--env', 'homely', '--proxy-url'], { variables }))
      .out;
    const client = await connectTo(Number(new URL(url).port));
    expect((await client.send(connectHead('b.test:443', new URL(url).password)).answer()).status).toBe(403);
    client.close();
    const words = ['keys', 'export-class', 'gates'];
    const exported = await sallyport(words, { variables: { ...variables, DATABASE_URL: world.databaseUrl } });
    expect(exported.status).toBe(0);
    const { json } = await sallyport(['doctor', '--json'], { variables });
    for (const check of ['core', 'egress', 'gates'])
      expect(json<unknown[]>()).toContainEqual(expect.objectContaining({ check, state: 'ok' }));

    const set = await sallyport(['env', 'list'], {
      variables: { ...variables, SALLYPORT_CORE_URL: 'http://127.0.0.1:1' },
    });
    expect(set.err[0]).toContain('http://127.0.0.1:1');
  });

  it('names its database while that runs', async () => {
    const home = join(folder, 'embedded');
    const { password, port } = new URL(inject('postgresUrl'));
    await mkdir(join(home, 'postgres'), { recursive: true });
    await writeFile(join(home, 'postgres.json'), JSON.stringify({ data: 'postgres', password }));
    // Not a Sallyport that happens to run on this machine.
    const listen = { SALLYPORT_EGRESS_LISTEN: '127.0.0.1:1', SALLYPORT_GATES_LISTEN: '127.0.0.1:1' };
    const variables = { ...listen, SALLYPORT_CORE_URL: 'http://127.0.0.1:1', SALLYPORT_HOME: home };
    const database = async () => {
      const { json } = await sallyport(['doctor', '--json'], { variables });
      return json<{ check: string; state: string }[]>().find(({ check }) => check === 'database')?.state;
    };
    expect(await database()).toBe('skipped');
    await writeFile(join(home, 'postgres', 'postmaster.pid'), `1\n/data\n0\n${port}\n`);
    expect(await database()).toBe('ok');
  });

  it('that cannot be read counts for nothing', async () => {
    const home = join(folder, 'broken');
    await mkdir(home);
    for (const text of [
      '',
      'null',
      '{"core": 3, "egress": "a b"}',
      '{"core": "x@evil.test:1"}',
      '{"core": "a:70000"}',
    ]) {
      await writeFile(join(home, 'addresses.json'), text);
      await writeFile(join(home, 'admin.key'), 'sak_x');
      const variables = { SALLYPORT_HOME: home, SALLYPORT_EGRESS_LISTEN: '' };
      const { err } = await sallyport(['env', 'list'], { variables });
      expect(err[0]).toMatch(/http:\/\/127\.0\.0\.1:4000/);
    }
    await writeFile(join(home, 'admin.key'), 'two\nlines');
    const two = await sallyport(['env', 'list'], { variables: { SALLYPORT_HOME: home } });
    expect(two.err[0]).toContain('admin.key holds no admin key');
    await writeFile(join(home, 'postgres.json'), 'nonsense');
    await chmod(join(home, 'postgres.json'), 0o600);
    const { err } = await sallyport(['migrate'], { variables: { SALLYPORT_HOME: home } });
    expect(err[0]).toContain('DATABASE_URL is not set');
  });
});

const FREE_PORTS = {
  SALLYPORT_CORE_LISTEN: '127.0.0.1:0',
  SALLYPORT_CORE_OBSERVE_LISTEN: '127.0.0.1:0',
  SALLYPORT_EGRESS_LISTEN: '127.0.0.1:0',
  SALLYPORT_EGRESS_TLS_LISTEN: '127.0.0.1:0',
  SALLYPORT_EGRESS_OBSERVE_LISTEN: '127.0.0.1:0',
  SALLYPORT_GATES_LISTEN: '127.0.0.1:0',
  SALLYPORT_GATES_OBSERVE_LISTEN: '127.0.0.1:0',
  SALLYPORT_DRAIN: '0s',
};
const POLL = { timeout: 10_000 };

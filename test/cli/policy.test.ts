/** Environments, vaults and credentials by command, against a real core; the values of secrets never come out. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { EnvironmentAnswer } from '../../cli/commands/env.ts';
import { startWorld, type World } from '../support/world.ts';
import { type Around, sallyport, settingsOf, type Typed } from './sallyport.ts';

let world: World;
let folder: string;
const typed: Typed[] = [];

async function type(line: string, around: Around = {}): Promise<Typed> {
  const variables = { ...settingsOf(world), ...around.variables };
  const result = await sallyport(line.split(' '), { ...around, variables });
  typed.push(result);
  return result;
}

async function write(name: string, text: string | Buffer): Promise<string> {
  const file = join(folder, name);
  await writeFile(file, text);
  return file;
}

beforeAll(async () => {
  world = await startWorld();
  folder = await mkdtemp(join(tmpdir(), 'sallyport-cli-'));
});
afterAll(async () => {
  await world?.close();
  await rm(folder, { recursive: true });
});

describe('env', () => {
  it('put makes an environment and replaces all of it', async () => {
    const made = await type(
      'env put one --allow a.test --allow *.b.test:8443 --mode report --max-connections 7 --new-per-second 3 --json',
    );
    expect(made).toMatchObject({ status: 0, err: [] });
    expect(made.json()).toMatchObject({
      name: 'one',
      kind: 'pod',
      mode: 'report',
      allow: ['a.test', '*.b.test:8443'],
      maxConnections: 7,
      newPerSecond: 3,
    });
    const replaced = await type('env put one --kind virtual --json');
    expect(replaced.json()).toMatchObject({
      kind: 'virtual',
      mode: 'enforce',
      allow: [],
      maxConnections: 1000,
    });
    expect((await type('env get one --json')).json()).toEqual(replaced.json());
  });

  it('put --add-allow and --remove-allow keep what they do not name', async () => {
    await type('env put two --allow a.test --allow b.test --mode report --max-connections 7');
    const changed = await type('env put two --add-allow c.test --remove-allow a.test --mode enforce --json');
    expect(changed.json()).toMatchObject({
      allow: ['b.test', 'c.test'],
      mode: 'enforce',
      maxConnections: 7,
    });
    const missing = await type('env put two --remove-allow a.test');
    expect(missing).toMatchObject({ status: 1, out: [] });
    expect(missing.err[0]).toContain('"a.test" is not allowed now');
    expect((await type('env put two --allow a.test --add-allow b.test')).status).toBe(2);
    expect((await type('env put nowhere --add-allow a.test')).err[0]).toContain('no environment nowhere');
  });

  it('put --file takes a policy and refuses what it does not know', async () => {
    const good = await write('good.json', '{"allow": ["a.test"], "mode": "report"}');
    expect((await type(`env put three --file ${good} --json`)).json()).toMatchObject({ allow: ['a.test'] });
    const fromStdin = await type('env put three --file - --json', { stdin: '{"allow": ["b.test"]}' });
    expect(fromStdin.json()).toMatchObject({ allow: ['b.test'], mode: 'enforce' });
    const misspelt = await type(`env put three --file ${await write('bad.json', '{"alow": []}')}`);
    expect(misspelt.status).toBe(1);
    expect(misspelt.err[0]).toContain('"alow" is not a field, did you mean allow?');
    for (const text of ['[]', 'null', '3', 'allow: a']) {
      const { status, err } = await type(`env put three --file ${await write('odd.json', text)}`);
      expect(status).toBe(1);
      expect(err[0]).toContain('does not hold one JSON object');
    }
    expect((await type(`env put three --file ${good} --mode report`)).status).toBe(2);
    expect((await type('env put three --file /nonexistent/x')).err[0]).toContain('does not exist');
  });

  it('says the right spelling of a pattern in one line', async () => {
    const { status, out, err } = await type('env put four --allow A.test');
    expect({ status, out }).toEqual({ status: 1, out: [] });
    expect(err).toHaveLength(1);
    expect(err[0]).toMatch(/^sallyport: .*did you mean a\.test\?/);
  });

  it('list and rm', async () => {
    await type('env put five');
    const names = (await type('env list --json')).json<EnvironmentAnswer[]>().map(({ name }) => name);
    expect(names).toContain('five');
    const table = (await type('env list')).out;
    expect(table[0]).toMatch(/^NAME +KIND/);
    expect(table.some((line) => line.startsWith('five '))).toBe(true);
    expect((await type('env rm five')).out).toEqual(['environment five is deleted']);
    const again = await type('env rm five');
    expect(again).toMatchObject({ status: 1, out: [] });
    expect(again.err[0]).toBe('sallyport: there is no environment five; see sallyport env list');
  });

  it('takes no name for a step in a path', async () => {
    expect((await type('env rm ..')).status).toBe(2);
  });
});

describe('vault and credential', () => {
  it('put takes a value from standard input, a file or a variable, without its last line end', async () => {
    await type('vault put team');
    const token = await write('token', `${VALUES.file}\r\n`);
    const lines = [
      await type('credential put team/in --kind bearer --host a.test', { stdin: `${VALUES.stdin}\n` }),
      await type(
        `credential put team/file --kind environment_secret --variable TOKEN --host a.test --header X-Key --from-file ${token}`,
      ),
      await type('credential put team/env --kind model_key --host a.test --user ann --from-env THE_KEY', {
        variables: { THE_KEY: VALUES.variable },
      }),
      await type(
        `credential put team/parts --kind headers --host a.test --secret x-one=- --secret x-two=file:${token} --secret x-three=env:THE_KEY`,
        { stdin: VALUES.stdin, variables: { THE_KEY: VALUES.variable } },
      ),
      await type(
        'credential put team/oauth --kind oauth --host a.test --token-url https://a.test/t --client-id c --grant client_credentials --secret client_secret=-',
        { stdin: VALUES.stdin },
      ),
    ];
    expect(lines.map(({ status, err }) => ({ status, err }))).toEqual(
      lines.map(() => ({ status: 0, err: [] })),
    );
    const listed = (await type('credential list team --json')).json<{ name: string; settings: object }[]>();
    const settings = Object.fromEntries(listed.map(({ name, settings }) => [name, settings]));
    expect(settings).toMatchObject({
      file: { variable: 'TOKEN', placement: { kind: 'header', header: 'x-key', format: '{}' } },
      parts: { headers: ['x-one', 'x-two', 'x-three'] },
      oauth: { clientId: 'c' },
    });
  });

  it('put says how a secret is put on a request, and on which', async () => {
    const put = (name: string, words: string) =>
      type(`credential put team/${name} --kind environment_secret --variable T --host a.test ${words}`, {
        stdin: VALUES.stdin,
      });
    const shown = [
      await put('forms', '--basic-user x-access-token'),
      await put('forms', '--query api_key --method GET --method HEAD --path /v1/'),
      await put('forms', '--replace --path /v1/models'),
      await put('forms', '--in-header x-key --in-query key --placeholder sk-0000000'),
      await put('forms', '--value-from file:git/token'),
    ];
    expect(shown.map(({ status, out, err }) => [status, ...err, ...out.slice(1)])).toEqual([
      [0, '  put on as Basic, user x-access-token'],
      [0, '  put on as parameter api_key', '  only for GET HEAD /v1/'],
      [0, '  put on in place of sallyport-managed in authorization', '  only for /v1/models'],
      [0, '  put on in place of sk-0000000 in x-key ?key'],
      [0, '  put on as header authorization: Bearer {}', '  value from file:git/token, read by egress'],
    ]);
    expect((await type('credential rotate team/forms', { stdin: VALUES.stdin })).err[0]).toContain(
      'change it there',
    );
    const listed = (await type('credential list team')).out.find((line) => line.startsWith('team/forms'));
    expect(listed).toMatch(
      /put on as header authorization: Bearer \{\}; value from file:git\/token, read by egress$/,
    );
    expect((await put('none', '--query a --basic-user b')).err[0]).toContain('--basic-user and --query');
    expect((await put('none', '--value-from env:A --from-env A')).err[0]).toContain('--value-from');
    expect((await put('none', '--value-from /etc/passwd')).err[0]).toContain('env:NAME');
    expect((await put('none', '--path /a/../b')).err[0]).toContain('no path rule');
    expect((await type('credential rm team/forms')).status).toBe(0);
  });

  it.each([
    { name: 'too short', around: { stdin: 'seven77\n' }, says: 'shorter than 8 bytes' },
    { name: 'two lines', around: { stdin: 'hunter2-hunter2\nmore' }, says: 'a header cannot carry' },
    { name: 'no file', line: '--from-file /nonexistent/x', says: '/nonexistent/x does not exist' },
    { name: 'no variable', line: '--from-env NOT_THERE', says: 'NOT_THERE is not set' },
    {
      name: 'a part twice',
      line: '--secret value=- --from-env X',
      says: '"value" is given twice',
      status: 2,
    },
    { name: 'standard input twice', line: '--secret a=- --secret b=-', says: 'only one part', status: 2 },
    {
      name: 'a vault that is not there',
      vault: 'none',
      around: { stdin: 'x'.repeat(9) },
      says: 'no vault none',
    },
  ])(
    'put refuses $name in one line',
    async ({ line = '', around = {}, says, status = 1, vault = 'team' }) => {
      const words = `credential put ${vault}/refused --kind bearer --host a.test ${line}`.trim();
      const result = await type(words, around);
      expect(result).toMatchObject({ status, out: [] });
      expect(result.err).toHaveLength(1);
      expect(result.err[0]).toContain(says);
    },
  );

  it('put refuses a file that is not text', async () => {
    const file = await write('binary', Buffer.from([0xff, 0xfe, 0xfd]));
    const { err } = await type(`credential put team/refused --kind bearer --host a.test --from-file ${file}`);
    expect(err[0]).toContain('cannot be read as text');
  });

  it('rotate replaces the value; what is in use is not removed', async () => {
    const rotated = await type('credential rotate team/file', { stdin: VALUES.rotated });
    expect(rotated.out).toEqual([
      'team/file: environment_secret for a.test, version 2',
      '  put on as header x-key: {}',
    ]);
    await type('env put bound --allow a.test --credential team/file');
    expect((await type('credential rm team/file')).err[0]).toContain('is bound to bound');
    expect((await type('vault rm team')).err[0]).toContain('still holds 5 credentials');
    expect((await type('env put bound')).status).toBe(0);
    for (const name of ['in', 'file', 'env', 'parts', 'oauth'])
      expect((await type(`credential rm team/${name}`)).status).toBe(0);
    expect((await type('vault list')).out[1]).toMatch(/^team +0 /);
    expect((await type('vault rm team')).out).toEqual(['vault team is deleted']);
    expect((await type('vault list --json')).json()).toEqual([]);
  });

  it('every change is an event', async () => {
    const events = (await type('admin-events --json')).json<{ action: string }[]>();
    expect(events.at(-1)?.action).toBe('vault.rm');
    expect((await type('admin-events --limit 1')).out[1]).toContain('vault.rm');
  });

  it('no value is ever printed', () => {
    const printed = typed.flatMap(({ out, err }) => [...out, ...err]).join('\n');
    for (const value of [...Object.values(VALUES), world.adminKey]) expect(printed).not.toContain(value);
    expect(world.logged()).not.toContain(VALUES.stdin);
  });
});

describe('an admin key', () => {
  it.each([
    {
      name: 'that core does not know',
      key: `sak_${'x'.repeat(43)}`,
      says: 'does not accept the admin key of SALLYPORT_ADMIN_KEY',
    },
    { name: 'that is none', key: 'two\nlines', says: 'SALLYPORT_ADMIN_KEY holds no admin key' },
    { name: 'that is missing', key: '', says: 'there is no admin key; set SALLYPORT_ADMIN_KEY_FILE' },
  ])('$name is one line', async ({ key, says }) => {
    const { status, err } = await type('env list', { variables: { SALLYPORT_ADMIN_KEY: key } });
    expect(status).toBe(1);
    expect(err).toHaveLength(1);
    expect(err[0]).toContain(says);
  });

  it('is not sent to what is not there', async () => {
    const { status, err } = await type('env list', {
      variables: { SALLYPORT_CORE_URL: 'http://127.0.0.1:1' },
    });
    expect(status).toBe(1);
    expect(err).toEqual([
      'sallyport: core cannot be reached at http://127.0.0.1:1; start it with `npm start`, or set SALLYPORT_CORE_URL',
    ]);
  });
});

const VALUES = {
  stdin: 'canary-from-stdin-1',
  file: 'canary-from-file-2',
  variable: 'canary-from-variable-3',
  rotated: 'canary-rotated-4',
};

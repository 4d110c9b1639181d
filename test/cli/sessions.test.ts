/** Sessions, turns, run tokens and admin keys by command, against a real core. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startWorld, type World } from '../support/world.ts';
import { type Around, sallyport, settingsOf, type Typed } from './sallyport.ts';

let world: World;
let folder: string;

async function type(line: string, around: Around = {}): Promise<Typed> {
  const variables = { ...settingsOf(world), ...around.variables };
  return sallyport(line.split(' '), { ...around, variables });
}

/** What a command printed on its one line. */
async function read(line: string): Promise<string> {
  const typed = await type(line);
  expect(typed).toMatchObject({ status: 0, out: [expect.any(String)] });
  return typed.out[0] ?? '';
}

beforeAll(async () => {
  world = await startWorld();
  folder = await mkdtemp(join(tmpdir(), 'sallyport-cli-'));
  await type('env put demo');
});
afterAll(async () => {
  await world?.close();
  await rm(folder, { recursive: true });
});

describe('session', () => {
  it('opens, lists and ends, and prints ids that the next command takes', async () => {
    const session = await read('session open --agent coder --env demo --user u1');
    expect(session).toMatch(/^ses_[0-9a-f]{32}$/);
    const other = await read('session open --agent other');
    const listed = await type('session list');
    expect(listed.out.map((line) => line.split(/\s+/)[0])).toEqual(['SESSION', session, other]);
    expect(await read(`session end ${other}`)).toBe(`session ${other} has ended`);
    const open = await type('session list --open --json');
    expect(open.json()).toMatchObject([{ id: session, environment: 'demo', user: 'u1', endedAt: null }]);
    expect((await type('session list --agent nobody --json')).json()).toEqual([]);
  });

  it('pins the manifest of a file', async () => {
    const file = join(folder, 'manifest.json');
    await writeFile(file, '{"models": ["fixture/echo"]}');
    const opened = await type(`session open --agent coder --manifest ${file} --json`);
    expect(opened.json()).toMatchObject({
      manifest: { models: ['fixture/echo'], mcpServers: {}, httpTools: {} },
    });
  });

  it.each<[text: string | null, says: string]>([
    [null, 'cannot be read'],
    ['{"models": "canary"', 'is not JSON'],
    ['{"servers": {}}', 'manifest has a field beside'],
  ])('says what is wrong with a manifest: %s', async (text, says) => {
    const file = join(folder, `${says.replaceAll(' ', '-')}.json`);
    if (text !== null) await writeFile(file, text);
    const refused = await type(`session open --agent coder --manifest ${file}`);
    expect(refused).toMatchObject({ status: 1, out: [] });
    expect(refused.err.join()).toContain(says);
    expect(refused.err.join()).not.toContain('canary');
  });

  it.each([
    ['session open', 'needs --agent'],
    ['session list --limit 0', '--limit'],
    ['turn end trn --lease x', '--lease'],
    ['token run', 'needs --turn'],
  ])('%s is typed wrongly', async (line, says) => {
    const refused = await type(line);
    expect(refused).toMatchObject({ status: 2, out: [] });
    expect(refused.err[0]).toContain(says);
  });
});

describe('turn', () => {
  it('starts once, ends, starts again and is cancelled', async () => {
    const session = await read('session open --agent coder');
    const first = await read(`turn start ${session}`);
    expect((await type(`turn start ${session}`)).err[0]).toContain(first);
    const stale = await type(`turn end ${first} --lease 7`);
    expect(stale).toMatchObject({ status: 1 });
    expect(await read(`turn end ${first}`)).toBe(`turn ${first} has ended`);
    expect(await read(`turn cancel ${first}`)).toBe(`turn ${first} had ended before`);
    const second = await read(`turn start ${session}`);
    expect(await read(`turn cancel ${second}`)).toBe(`turn ${second} is cancelled`);
    expect((await type(`turn end ${second}`)).err[0]).toContain('cancelled');
  });

  it('has tokens by hand: the run’s, and the environment’s where there is one', async () => {
    const turn = await read(`turn start ${await read('session open --agent coder --env demo')}`);
    for (const option of ['', ' --egress']) {
      const printed = await type(`token run --turn ${turn}${option}`);
      expect(printed).toMatchObject({
        status: 0,
        out: [expect.stringMatching(/^eyJ[\w-]+\.[\w-]+\.[\w-]+$/)],
      });
      expect(printed.err.join()).not.toContain(printed.out[0]);
    }
    const bare = await read(`turn start ${await read('session open --agent coder')}`);
    expect(await type(`token run --turn ${bare} --egress`)).toMatchObject({ status: 1, out: [] });
  });

  it('has connections of its own', async () => {
    const turn = await read(`turn start ${await read('session open --agent coder')}`);
    expect((await type(`connections --turn ${turn} --json`)).json()).toEqual([]);
    expect(await type(`connections --turn ${turn} --refusals`)).toMatchObject({ status: 2 });
  });
});

describe('admin-key', () => {
  const as = (key: string): Around => ({ variables: { SALLYPORT_ADMIN_KEY: key } });

  it('add prints the key alone; it works until rm', async () => {
    const added = await type('admin-key add alice');
    expect(added).toMatchObject({ status: 0, out: [expect.stringMatching(/^sak_[\w-]{43}$/)] });
    const [key = ''] = added.out;
    expect(added.err.join()).not.toContain(key);
    expect(await type('env put of-alice', as(key))).toMatchObject({ status: 0 });
    expect(await read('admin-key rm alice')).toBe('admin key alice is revoked');
    expect(await type('env list', as(key))).toMatchObject({ status: 1 });
    expect(await type('admin-key rm alice')).toMatchObject({ status: 1 });
  });

  it('add --read-only makes one that looks and changes nothing', async () => {
    const key = await read('admin-key add auditor --read-only');
    expect(await type('session list', as(key))).toMatchObject({ status: 0 });
    const refused = await type('session open --agent coder', as(key));
    expect(refused).toMatchObject({ status: 1, out: [] });
    expect(refused.err[0]).toContain('may only read');
  });

  it('list shows names and roles; the last full key stays', async () => {
    const listed = await type('admin-key list --json');
    const keys = listed.json<{ id: string; name: string; role: string; revokedAt: string | null }[]>();
    expect(keys.map(({ name, role }) => [name, role])).toEqual([
      ['first', 'full'],
      ['alice', 'full'],
      ['auditor', 'read_only'],
    ]);
    const refused = await type(`admin-key rm ${keys[0]?.id}`);
    expect(refused).toMatchObject({ status: 1 });
    expect(refused.err[0]).toContain('last full key');
  });
});

/** `doctor` reads the files that credentials have their values from, as egress would, and shows none of them. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startWorld, type World } from '../support/world.ts';
import { sallyport, settingsOf } from './sallyport.ts';

let world: World;
let folder: string;

beforeAll(async () => {
  world = await startWorld();
  folder = await mkdtemp(join(tmpdir(), 'sallyport-doctor-'));
  await writeFile(join(folder, 'there'), 'canary-of-a-file');
  await world.call('PUT', '/v1/vaults/t');
  for (const name of ['there', 'gone']) {
    await world.call('PUT', `/v1/vaults/t/credentials/${name}`, {
      kind: 'environment_secret',
      hosts: ['a.test'],
      variable: name.toUpperCase(),
      valueFrom: `file:${name}`,
      secret: {},
    });
  }
});
afterAll(async () => {
  await world?.close();
  if (folder) await rm(folder, { recursive: true });
});

async function examine(variables: Record<string, string>) {
  const result = await sallyport(['doctor', '--json'], { variables: { ...settingsOf(world), ...variables } });
  expect([...result.out, ...result.err].join('\n')).not.toContain('canary');
  const findings = result.json<{ check: string; state: string; detail: string }[]>();
  return findings.find(({ check }) => check === 'secret sources');
}

it('names the one that is missing', async () => {
  const found = await examine({ SALLYPORT_SECRET_FOLDER: folder });
  expect(found).toMatchObject({ state: 'wrong', detail: expect.stringContaining('t/gone (file:gone: ') });
  expect(found?.detail).not.toContain('t/there');
});

it('says so where the folder itself is missing, and looks at nothing without the settings', async () => {
  expect(await examine({ SALLYPORT_SECRET_FOLDER: join(folder, 'none') })).toMatchObject({ state: 'wrong' });
  expect(await examine({})).toMatchObject({ state: 'skipped' });
});

it('a name that is none is said so in words', async () => {
  const { err } = await sallyport(['vault', 'put', 'Upper'], { variables: settingsOf(world) });
  expect(err[0]).toMatch(/the vault in the path is no name: lower-case letters/);
});

import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { readConfig } from '../../../core-lite/config.ts';
import {
  exportClassKey,
  KEY_CLASSES,
  type KeyClass,
  makeClassKeys,
  openClassKey,
  rewrapClassKeys,
} from '../../../core-lite/vault/class-keys.ts';
import { loadMasterKeys, makeMasterKeyFile } from '../../../core-lite/vault/master-key.ts';
import { createInstallation, type Installation, MASTER_KEY } from '../../support/installation.ts';

const NEW_KEY = Buffer.alloc(32, 8).toString('base64');
const OTHER_KEY = Buffer.alloc(32, 9).toString('base64');
let installation: Installation;
let folder: string;

beforeAll(async () => {
  installation = await createInstallation();
  folder = mkdtempSync(join(tmpdir(), 'sallyport-keys-'));
  await installation.owner.query('CREATE TABLE class_keys_at_first AS SELECT * FROM class_keys');
});

afterAll(async () => {
  rmSync(folder, { recursive: true });
  await installation?.close();
});

beforeEach(async () => {
  await installation.owner.query(
    'DELETE FROM class_keys; INSERT INTO class_keys SELECT * FROM class_keys_at_first',
  );
});

describe('a class key', () => {
  it.each(KEY_CLASSES)('%s opens with the master key, from a setting or a file', async (keyClass) => {
    const file = write('master', `${MASTER_KEY}\n`);
    const byText = await open(keyClass, { SALLYPORT_MASTER_KEY: MASTER_KEY });
    const byFile = await open(keyClass, { SALLYPORT_MASTER_KEY_FILE: file });
    expect(byText.export().reveal()).toBe(byFile.export().reveal());
    expect(byText.id).toBe(installation.seals[keyClass].id);
  });

  it('is another for each class', () => {
    const { signing, gates, egress } = installation.seals;
    expect(new Set([signing, gates, egress].map((key) => key.export().reveal())).size).toBe(3);
  });

  it.each<[name: string, settings: Record<string, string>, code: string]>([
    ['no master key', {}, 'master_key_missing'],
    ['another master key', { SALLYPORT_MASTER_KEY: OTHER_KEY }, 'master_key_wrong'],
    ['what is no key', { SALLYPORT_MASTER_KEY: 'canary-not-a-key' }, 'master_key_wrong'],
    ['a file that is not there', { SALLYPORT_MASTER_KEY_FILE: '/none/of/this' }, 'master_key_missing'],
    [
      'a previous key that is no key',
      { SALLYPORT_MASTER_KEY: MASTER_KEY, SALLYPORT_MASTER_KEY_PREVIOUS: 'canary' },
      'master_key_wrong',
    ],
  ])('does not open with %s', async (_, settings, code) => {
    const error = await open('egress', settings).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ name: 'Fault', code });
    expect(String(error)).not.toContain('canary');
  });

  it('opens with the previous master key while that is rotated', async () => {
    const during = { SALLYPORT_MASTER_KEY: NEW_KEY, SALLYPORT_MASTER_KEY_PREVIOUS: MASTER_KEY };
    expect((await open('egress', during)).id).toBe(installation.seals.egress.id);
  });

  it('that is not there is missing', async () => {
    await installation.owner.query(`DELETE FROM class_keys WHERE class = 'egress'`);
    await expect(open('egress', { SALLYPORT_MASTER_KEY: MASTER_KEY })).rejects.toMatchObject({
      code: 'class_key_missing',
    });
  });

  it('that was moved or changed in the database is broken', async () => {
    await installation.owner.query(
      `UPDATE class_keys SET wrapped = (SELECT wrapped FROM class_keys WHERE class = 'gates') WHERE class = 'egress'`,
    );
    await expect(open('egress', { SALLYPORT_MASTER_KEY: MASTER_KEY })).rejects.toMatchObject({
      code: 'seal_broken',
    });
  });

  it('is made once', async () => {
    const { current } = await loadMasterKeys(readConfig({ SALLYPORT_MASTER_KEY: NEW_KEY }));
    if (!current) return expect.unreachable();
    await makeClassKeys(installation.owner, current);
    expect((await open('egress', { SALLYPORT_MASTER_KEY: MASTER_KEY })).id).toBe(
      installation.seals.egress.id,
    );
  });

  it.each([
    ['sallyport_core', ['signing', 'gates', 'egress']],
    ['sallyport_gates', ['gates']],
    ['sallyport_egress', ['egress']],
  ] as const)('%s opens %j and no other', async (role, classes) => {
    const database = installation.as(role);
    const config = readConfig({ SALLYPORT_MASTER_KEY: MASTER_KEY });
    for (const keyClass of KEY_CLASSES) {
      const opened = await openClassKey(database, config, keyClass).then(
        () => 'opened',
        (error: { code: string }) => error.code,
      );
      expect(opened).toBe((classes as readonly string[]).includes(keyClass) ? 'opened' : 'class_key_missing');
    }
  });
});

describe('an exported class key', () => {
  it('opens without the master key', async () => {
    const line = exportClassKey('egress', installation.seals.egress).reveal();
    expect(line).toMatch(/^egress [0-9a-f]{8} \S{44}$/);
    const file = write('class', `${line}\n`);
    const opened = await open('egress', { SALLYPORT_CLASS_KEY_FILE: file });
    expect(opened.export().reveal()).toBe(installation.seals.egress.export().reveal());
    await expect(open('gates', { SALLYPORT_CLASS_KEY_FILE: file })).rejects.toMatchObject({
      code: 'class_key_missing',
    });
  });

  it.each([
    '',
    'egress',
    `egress 0000000g ${OTHER_KEY}`,
    `egress 00000000 canary`,
    `egress 00000000 ${OTHER_KEY}=`,
    `00000000 ${OTHER_KEY}`,
    `EGRESS 00000000 ${OTHER_KEY}`,
    MASTER_KEY,
  ])('%j is none', async (text) => {
    const error = await open('egress', { SALLYPORT_CLASS_KEY_FILE: write('class', text) }).catch(
      (thrown: unknown) => thrown,
    );
    expect(error).toMatchObject({ code: 'class_key_missing' });
    expect(String(error)).not.toContain('canary');
  });

  it('that cannot be read is missing', async () => {
    await expect(open('egress', { SALLYPORT_CLASS_KEY_FILE: join(folder, 'none') })).rejects.toMatchObject({
      code: 'class_key_missing',
    });
  });
});

describe('rotating the master key', () => {
  const during = { SALLYPORT_MASTER_KEY: NEW_KEY, SALLYPORT_MASTER_KEY_PREVIOUS: MASTER_KEY };

  it('wraps every class key anew, once, and changes none', async () => {
    expect(await rewrap(during)).toBe(3);
    expect(await rewrap(during)).toBe(0);
    for (const keyClass of KEY_CLASSES) {
      expect((await open(keyClass, { SALLYPORT_MASTER_KEY: NEW_KEY })).export().reveal()).toBe(
        installation.seals[keyClass].export().reveal(),
      );
      await expect(open(keyClass, { SALLYPORT_MASTER_KEY: MASTER_KEY })).rejects.toMatchObject({
        code: 'master_key_wrong',
      });
    }
  });

  it('may be done by core', async () => {
    const keys = await loadMasterKeys(readConfig(during));
    expect(await installation.as('sallyport_core').transaction((tx) => rewrapClassKeys(tx, keys))).toBe(3);
  });

  it.each<[name: string, settings: Record<string, string>, code: string]>([
    ['without the previous key', { SALLYPORT_MASTER_KEY: NEW_KEY }, 'master_key_wrong'],
    [
      'with a wrong previous key',
      { SALLYPORT_MASTER_KEY: NEW_KEY, SALLYPORT_MASTER_KEY_PREVIOUS: OTHER_KEY },
      'master_key_wrong',
    ],
    ['without a new key', { SALLYPORT_MASTER_KEY_PREVIOUS: MASTER_KEY }, 'master_key_missing'],
  ])('%s changes nothing', async (_, settings, code) => {
    const before = await wrapped();
    await expect(rewrap(settings)).rejects.toMatchObject({ code });
    expect(await wrapped()).toEqual(before);
  });

  it('is all or nothing: one key that does not open leaves the others as they were', async () => {
    await installation.owner.query(
      `UPDATE class_keys SET wrapped = set_byte(wrapped, 40, get_byte(wrapped, 40) # 1) WHERE class = 'signing'`,
    );
    const before = await wrapped();
    await expect(rewrap(during)).rejects.toMatchObject({ code: 'seal_broken' });
    expect(await wrapped()).toEqual(before);
  });
});

describe('a master key file', () => {
  it('is made for its owner alone and never over another', async () => {
    const file = join(folder, 'key');
    const made = await makeMasterKeyFile(file);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const { current } = await loadMasterKeys(readConfig({ SALLYPORT_MASTER_KEY_FILE: file }));
    expect(current?.id).toBe(made.id);
    await expect(makeMasterKeyFile(file)).rejects.toMatchObject({ code: 'EEXIST' });
  });
});

function open(keyClass: KeyClass, settings: Record<string, string>) {
  return openClassKey(installation.owner, readConfig(settings), keyClass);
}

async function rewrap(settings: Record<string, string>): Promise<number> {
  const keys = await loadMasterKeys(readConfig(settings));
  return installation.owner.transaction((tx) => rewrapClassKeys(tx, keys));
}

function wrapped(): Promise<unknown[]> {
  return installation.owner.query(
    `SELECT class, master_key_id, encode(wrapped, 'hex') AS wrapped FROM class_keys ORDER BY class`,
  );
}

function write(name: string, text: string): string {
  const file = join(folder, name);
  writeFileSync(file, text);
  return file;
}

import { mkdir, mkdtemp, realpath, rename, rm, symlink, unlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readConfig } from '../../../core-lite/config.ts';
import {
  OperatorValues,
  openOperatorValues,
  type ValueFailure,
} from '../../../core-lite/vault/operator-values.ts';

const VALUE = 'a-value-of-a-file';
const key = Buffer.alloc(32, 3);
let home: string;
let folder: string;
let clock = 0;
let values: OperatorValues;

beforeEach(async () => {
  home = await realpath(await mkdtemp(join(tmpdir(), 'sallyport-values-')));
  folder = join(home, 'secrets');
  await mkdir(folder);
  clock = 0;
  values = make(folder);
});
afterEach(() => rm(home, { recursive: true }));

function make(of: string | undefined, variables: Record<string, string | undefined> = {}): OperatorValues {
  return new OperatorValues({ folder: of, variables, key, now: () => clock });
}

async function readFile(name: string, from = values): Promise<string> {
  const read = await from.read({ kind: 'file', name });
  return typeof read === 'string' ? read : read.value.reveal();
}

/** Another look is due. */
function wait(): void {
  clock += 1_000;
}

describe('a file', () => {
  test.each([
    ['', VALUE],
    ['\n', VALUE],
    ['\r\n', VALUE],
  ])('is its value without one line end %j', async (end, value) => {
    await writeFile(join(folder, 'token'), VALUE + end);
    expect(await readFile('token')).toBe(value);
  });

  test('that changes, counts a second later at most', async () => {
    await writeFile(join(folder, 'token'), VALUE);
    expect(await readFile('token')).toBe(VALUE);
    await writeFile(join(folder, 'token'), 'b-value-of-a-file');
    expect(await readFile('token')).toBe(VALUE);
    wait();
    expect(await readFile('token')).toBe('b-value-of-a-file');
  });

  test('of the same size, time and name, swapped by a link above it as mounts do, counts too', async () => {
    for (const [version, value] of [
      ['one', VALUE],
      ['two', 'b-value-of-a-file'],
    ] as const) {
      await mkdir(join(folder, version));
      await writeFile(join(folder, version, 'token'), value);
      await utimes(join(folder, version, 'token'), 1, 1);
    }
    await symlink('one', join(folder, '..data'));
    await symlink('..data/token', join(folder, 'token'));
    expect(await readFile('token')).toBe(VALUE);
    await symlink('two', join(folder, 'next'));
    await rename(join(folder, 'next'), join(folder, '..data'));
    wait();
    expect(await readFile('token')).toBe('b-value-of-a-file');
  });

  test('that is gone, gives its old value to nobody', async () => {
    await writeFile(join(folder, 'token'), VALUE);
    await readFile('token');
    await unlink(join(folder, 'token'));
    wait();
    expect(await readFile('token')).toBe('VALUE_MISSING');
    await writeFile(join(folder, 'token'), VALUE);
    wait();
    expect(await readFile('token')).toBe(VALUE);
  });

  test('that stays, keeps what was read', async () => {
    await writeFile(join(folder, 'token'), VALUE);
    await utimes(join(folder, 'token'), 1, 1);
    const first = await values.read({ kind: 'file', name: 'token' });
    wait();
    expect(await values.read({ kind: 'file', name: 'token' })).toBe(first);
  });

  test.each<[string, (path: string) => Promise<void>, ValueFailure]>([
    ['is not there', async () => {}, 'VALUE_MISSING'],
    ['is a folder', (path) => mkdir(path).then(() => {}), 'VALUE_UNFIT'],
    ['is empty', (path) => writeFile(path, ''), 'VALUE_UNFIT'],
    ['is too short', (path) => writeFile(path, '1234567\n'), 'VALUE_UNFIT'],
    ['is too long', (path) => writeFile(path, 'x'.repeat(20_000)), 'VALUE_UNFIT'],
    ['has two lines', (path) => writeFile(path, `${VALUE}\n${VALUE}\n`), 'VALUE_UNFIT'],
    ['is no text', (path) => writeFile(path, Buffer.alloc(20, 0xff)), 'VALUE_UNFIT'],
    ['is the sentinel', (path) => writeFile(path, 'sallyport-managed'), 'VALUE_UNFIT'],
    ['leads out of the folder', (path) => symlink('../outside', path), 'VALUE_NOT_OPENED'],
    ['leads out by its full path', (path) => symlink(join(home, 'outside'), path), 'VALUE_NOT_OPENED'],
    ['leads to itself', (path) => symlink('token', path), 'VALUE_UNREADABLE'],
  ])('that %s, is none', async (_, write, failure) => {
    await writeFile(join(home, 'outside'), VALUE);
    await write(join(folder, 'token'));
    expect(await readFile('token')).toBe(failure);
  });

  test('is read once, however many ask', async () => {
    await writeFile(join(folder, 'token'), VALUE);
    const read = await Promise.all([1, 2, 3].map(() => values.read({ kind: 'file', name: 'token' })));
    expect(new Set(read).size).toBe(1);
  });

  test('is none without a folder', async () => {
    expect(await readFile('token', make(undefined))).toBe('VALUE_NOT_OPENED');
  });
});

test.each<[string, Record<string, string | undefined>, string]>([
  ['that is opened', { TOKEN: VALUE }, VALUE],
  ['that is not', { OTHER: VALUE }, 'VALUE_NOT_OPENED'],
  ['of every object', {}, 'VALUE_NOT_OPENED'],
  ['that is not set', { TOKEN: undefined }, 'VALUE_MISSING'],
  ['that is too short', { TOKEN: '1' }, 'VALUE_UNFIT'],
])('a variable %s', async (label, variables, expected) => {
  const name = label === 'of every object' ? 'toString' : 'TOKEN';
  const read = await make(undefined, variables).read({ kind: 'env', name });
  expect(typeof read === 'string' ? read : read.value.reveal()).toBe(expected);
});

test('a digest changes with the value and with the key, and tells nothing', async () => {
  const digest = async (value: string, by: Buffer) => {
    const from = new OperatorValues({ folder: undefined, variables: { A: value }, key: by, now: () => 0 });
    const read = await from.read({ kind: 'env', name: 'A' });
    return typeof read === 'string' ? read : read.digest;
  };
  const digests = [
    await digest(VALUE, key),
    await digest('another-value', key),
    await digest(VALUE, Buffer.alloc(32)),
  ];
  expect(new Set(digests).size).toBe(3);
  for (const each of digests) expect(each).toMatch(/^[0-9a-f]{16}$/);
  expect(await digest(VALUE, key)).toBe(digests[0]);
});

test('a variable is the same Secret each time, so that what is made for it is made once', async () => {
  const from = new OperatorValues({ folder: undefined, variables: { A: VALUE }, key, now: () => 0 });
  const read = await from.read({ kind: 'env', name: 'A' });
  expect(await from.read({ kind: 'env', name: 'A' })).toBe(read);
});

describe('the settings', () => {
  const open = (settings: Record<string, string>) =>
    openOperatorValues(readConfig(settings), { TOKEN: VALUE, HIDDEN: VALUE }, key);

  test('open what they name and nothing else', async () => {
    const opened = await open({
      SALLYPORT_SECRET_FOLDER: folder,
      SALLYPORT_SECRET_VARIABLES: 'TOKEN, UNSET',
    });
    await writeFile(join(folder, 'token'), VALUE);
    const read = (kind: 'env' | 'file', name: string) =>
      opened.read({ kind, name }).then((each) => (typeof each === 'string' ? each : each.value.reveal()));
    expect(
      await Promise.all([
        read('file', 'token'),
        read('env', 'TOKEN'),
        read('env', 'UNSET'),
        read('env', 'HIDDEN'),
      ]),
    ).toEqual([VALUE, VALUE, 'VALUE_MISSING', 'VALUE_NOT_OPENED']);
  });

  test('open nothing by themselves', async () => {
    const opened = await open({});
    expect(await opened.read({ kind: 'env', name: 'TOKEN' })).toBe('VALUE_NOT_OPENED');
    expect(await readFile('token', opened)).toBe('VALUE_NOT_OPENED');
  });

  test('never open the keys of egress', async () => {
    await writeFile(join(folder, 'master'), VALUE);
    await symlink(join(folder, 'master'), join(home, 'link'));
    for (const settings of [
      { SALLYPORT_SECRET_FOLDER: folder, SALLYPORT_MASTER_KEY_FILE: join(home, 'link') },
      { SALLYPORT_SECRET_FOLDER: home, SALLYPORT_CLASS_KEY_FILE: join(folder, 'master') },
      { SALLYPORT_SECRET_FOLDER: home, SALLYPORT_HOME: folder },
      { SALLYPORT_SECRET_FOLDER: folder, SALLYPORT_HOME: folder },
      { SALLYPORT_SECRET_FOLDER: join(home, 'nowhere') },
    ]) {
      await expect(open(settings)).rejects.toMatchObject({ code: 'config_invalid' });
    }
    for (const name of ['SALLYPORT_MASTER_KEY', 'DATABASE_URL', 'A-B']) {
      expect(() => readConfig({ SALLYPORT_SECRET_VARIABLES: `TOKEN,${name}` })).toThrow(name);
    }
  });
});

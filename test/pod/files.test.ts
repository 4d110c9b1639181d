/** The files of a run: what stands in them, who may read them, and that none is left. */
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { writeClientFiles, writeRunFiles } from '../../pod/files.ts';
import { judgeFolder } from '../../pod/safe-folder.ts';

const TRUST = { pem: 'PEM\n', store: Buffer.from('PKCS#12') };

let parent: string;
beforeEach(async () => {
  parent = await mkdtemp(join(tmpdir(), 'sallyport-files-'));
});
afterEach(() => rm(parent, { recursive: true }));

describe('the files of a run', () => {
  it('name the bundle in each client’s own words', async () => {
    const files = await writeRunFiles(parent, TRUST);
    const texts = [
      files.bundle,
      files.trustStore,
      files.wgetrc,
      files.wget2rc,
      files.aptConf,
      join(files.phpIni, 'egress.ini'),
    ];
    expect(await Promise.all(texts.map((file) => readFile(file, 'utf8')))).toEqual([
      'PEM\n',
      'PKCS#12',
      `ca_certificate = ${files.bundle}\n`,
      `ca-certificate = ${files.bundle}\n`,
      `Acquire::https::CaInfo "${files.bundle}";\n`,
      `curl.cainfo="${files.bundle}"\nopenssl.cafile="${files.bundle}"\n`,
    ]);
  });

  it('may be read by everybody and written by nobody else, whatever the umask', async () => {
    const before = process.umask(0o077);
    const files = await writeRunFiles(parent, TRUST).finally(() => process.umask(before));
    const mode = async (path: string): Promise<string> => ((await stat(path)).mode & 0o777).toString(8);
    expect(await mode(join(files.bundle, '..'))).toBe('755');
    expect(await mode(files.phpIni)).toBe('755');
    expect(await mode(files.bundle)).toBe('644');
  });

  it('are a run’s own, and go with it', async () => {
    const one = await writeRunFiles(parent, { ...TRUST, pem: 'one' });
    const other = await writeRunFiles(parent, { ...TRUST, pem: 'other' });
    await one.close();
    expect(await readFile(other.bundle, 'utf8')).toBe('other');
    await other.close();
    expect(await readdir(parent)).toEqual([]);
  });
});

describe('files for another machine', () => {
  it('name the place where they will be, not the one where they are written', async () => {
    const files = await writeClientFiles(join(parent, 'made', 'here'), '/etc/sallyport', TRUST);
    expect(files.bundle).toBe('/etc/sallyport/ca-bundle.pem');
    const wgetrc = await readFile(join(parent, 'made', 'here', 'wgetrc'), 'utf8');
    expect(wgetrc).toBe('ca_certificate = /etc/sallyport/ca-bundle.pem\n');
  });

  it('may be read by everybody in folders that were made, whatever the umask', async () => {
    const before = process.umask(0o077);
    const folder = join(parent, 'made', 'here');
    await writeClientFiles(folder, folder, TRUST).finally(() => process.umask(before));
    for (const each of [folder, join(folder, '..'), join(folder, 'php.d')])
      expect((await stat(each)).mode & 0o777).toBe(0o755);
  });

  it('leave the mode of a folder that was there', async () => {
    await chmod(parent, 0o700);
    await writeClientFiles(parent, parent, TRUST);
    expect((await stat(parent)).mode & 0o777).toBe(0o700);
  });

  it.each([
    ['the folder', 0o777, ''],
    ['the folder, for its group', 0o775, ''],
    ['a folder like /tmp', 0o1777, ''],
    ['a folder inside it', 0o777, 'php.d'],
  ])('are not written where others may write to %s', async (_name, mode, inside) => {
    const folder = join(parent, 'shared');
    await mkdir(join(folder, inside), { recursive: true });
    await chmod(join(folder, inside), mode);
    await expect(writeClientFiles(folder, folder, TRUST)).rejects.toMatchObject({
      why: 'writable_by_others',
    });
    expect((await readdir(folder)).filter((name) => name !== 'php.d')).toEqual([]);
  });

  it('are not written below a folder that others may write to, unless it is sticky', async () => {
    const open = join(parent, 'open');
    await mkdir(open);
    const write = (folder: string) => writeClientFiles(folder, folder, TRUST);
    for (const mode of [0o777, 0o775, 0o757, 0o2770]) {
      await chmod(open, mode);
      for (const folder of [join(open, 'a'), join(open, 'b', 'c')])
        await expect(write(folder)).rejects.toMatchObject({ why: 'writable_by_others', folder: open });
    }
    for (const mode of [0o1777, 0o1775, 0o755]) {
      await chmod(open, mode);
      await write(join(open, `d${mode}`));
    }
  });

  it.each([
    [1000, 0o40755, null],
    [0, 0o40755, null],
    [1001, 0o40755, 'of_another_user'],
    [1001, 0o120777, 'of_another_user'],
    [1000, 0o120777, null],
    [1000, 0o40757, 'writable_by_others'],
    [0, 0o41777, 'writable_by_others'],
  ])('by user 1000 into one of %i with mode %o: %s', (uid, mode, why) => {
    expect(judgeFolder({ uid, mode }, 1000)).toBe(why);
  });

  it('end at once where no folder can be made', async () => {
    const folder = join(parent, 'file', 'below');
    await writeFile(join(parent, 'file'), '');
    await expect(writeClientFiles(folder, folder, TRUST)).rejects.toMatchObject({ code: 'ENOTDIR' });
    // Node's own way of making all folders of a path never ends here.
    if (process.platform === 'linux')
      await expect(writeClientFiles('/proc/x/y', '/x', TRUST)).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('are written anew, and never through a link', async () => {
    const other = join(parent, 'other');
    await writeFile(other, 'mine');
    await symlink(other, join(parent, 'trust.p12'));
    for (const pem of ['one\n', 'two\n']) await writeClientFiles(parent, parent, { ...TRUST, pem });
    expect(await readFile(other, 'utf8')).toBe('mine');
    expect(await readFile(join(parent, 'ca-bundle.pem'), 'utf8')).toBe('two\n');
    expect(await readFile(join(parent, 'trust.p12'), 'utf8')).toBe('PKCS#12');
  });
});

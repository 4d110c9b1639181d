/** The files of a run: what stands in them, who may read them, and that none is left. */
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { writeRunFiles } from '../../pod/files.ts';

let parent: string;
beforeEach(async () => {
  parent = await mkdtemp(join(tmpdir(), 'sallyport-files-'));
});
afterEach(() => rm(parent, { recursive: true }));

describe('the files of a run', () => {
  it('name the bundle in each client’s own words', async () => {
    const files = await writeRunFiles(parent, 'PEM\n');
    const texts = [
      files.bundle,
      files.wgetrc,
      files.wget2rc,
      files.aptConf,
      join(files.phpIni, 'egress.ini'),
    ];
    expect(await Promise.all(texts.map((file) => readFile(file, 'utf8')))).toEqual([
      'PEM\n',
      `ca_certificate = ${files.bundle}\n`,
      `ca-certificate = ${files.bundle}\n`,
      `Acquire::https::CaInfo "${files.bundle}";\n`,
      `curl.cainfo=${files.bundle}\nopenssl.cafile=${files.bundle}\n`,
    ]);
  });

  it('may be read by everybody and written by nobody else, whatever the umask', async () => {
    const before = process.umask(0o077);
    const files = await writeRunFiles(parent, 'PEM\n').finally(() => process.umask(before));
    const mode = async (path: string): Promise<string> => ((await stat(path)).mode & 0o777).toString(8);
    expect(await mode(join(files.bundle, '..'))).toBe('755');
    expect(await mode(files.phpIni)).toBe('755');
    expect(await mode(files.bundle)).toBe('644');
  });

  it('are a run’s own, and go with it', async () => {
    const one = await writeRunFiles(parent, 'one');
    const other = await writeRunFiles(parent, 'other');
    await one.close();
    expect(await readFile(other.bundle, 'utf8')).toBe('other');
    await other.close();
    expect(await readdir(parent)).toEqual([]);
  });
});

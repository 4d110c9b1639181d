/**
 * The files of one run, for clients that read no variable's text: the trust bundle, and the configuration of those that
 * only take a file. They hold no secret and may be read by everybody: apt reads them as another user.
 */
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { FilePaths } from './variables.ts';

export interface RunFiles extends FilePaths {
  /** Removes them all. */
  close(): Promise<void>;
}

/** @param parent the folder in which the run's own is made @param bundlePem public roots and the egress CA */
export async function writeRunFiles(parent: string, bundlePem: string): Promise<RunFiles> {
  const folder = await mkdtemp(join(parent, 'sallyport-run-'));
  const close = () => rm(folder, { recursive: true, force: true });
  const bundle = join(folder, 'ca-bundle.pem');
  const phpIni = join(folder, 'php.d');
  const paths = {
    bundle,
    wgetrc: join(folder, 'wgetrc'),
    wget2rc: join(folder, 'wget2rc'),
    aptConf: join(folder, 'apt.conf'),
    phpIni,
  };
  try {
    await mkdir(phpIni);
    await write(bundle, bundlePem);
    await write(paths.wgetrc, `ca_certificate = ${bundle}\n`);
    await write(paths.wget2rc, `ca-certificate = ${bundle}\n`);
    await write(paths.aptConf, `Acquire::https::CaInfo "${bundle}";\n`);
    await write(join(phpIni, 'egress.ini'), `curl.cainfo=${bundle}\nopenssl.cafile=${bundle}\n`);
    for (const each of [phpIni, folder]) await chmod(each, 0o755);
  } catch (error) {
    await close();
    throw error;
  }
  return { ...paths, close };
}

/** Whatever the umask of whoever starts the run. */
async function write(file: string, text: string): Promise<void> {
  await writeFile(file, text, { flag: 'wx' });
  await chmod(file, 0o644);
}

/**
 * The files for clients that read no variable's text: the trust bundle, and the configuration of those that only take a
 * file. They hold no secret and may be read by everybody: apt reads them as another user.
 */
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openFolder } from './safe-folder.ts';
import type { FilePaths } from './variables.ts';

/** What clients trust, in the two forms that they read: public roots and the egress CA. */
export interface Trust {
  readonly pem: string;
  /** PKCS#12. */
  readonly store: Buffer;
}

export interface RunFiles extends FilePaths {
  /** Removes them all. */
  close(): Promise<void>;
}

/** In a folder of the run's own. @param parent the folder in which that is made */
export async function writeRunFiles(parent: string, trust: Trust): Promise<RunFiles> {
  const folder = await mkdtemp(join(parent, 'sallyport-run-'));
  const close = () => rm(folder, { recursive: true, force: true });
  try {
    const paths = await writeClientFiles(folder, folder, trust);
    await chmod(folder, 0o755);
    return { ...paths, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/**
 * Writes them into `folder`, which is made where there is none; files that are there are written anew. Rejects with
 * `UnsafeFolder` where others could change them.
 * @param at where clients will find that folder, an absolute path: theirs may be another machine
 */
export async function writeClientFiles(folder: string, at: string, trust: Trust): Promise<FilePaths> {
  const paths = nameFiles(at);
  const texts: Readonly<Record<string, string | Buffer>> = {
    [NAMES.bundle]: trust.pem,
    [NAMES.trustStore]: trust.store,
    [NAMES.wgetrc]: `ca_certificate = ${paths.bundle}\n`,
    [NAMES.wget2rc]: `ca-certificate = ${paths.bundle}\n`,
    [NAMES.aptConf]: `Acquire::https::CaInfo "${paths.bundle}";\n`,
    [join(NAMES.phpIni, 'egress.ini')]: `curl.cainfo="${paths.bundle}"\nopenssl.cafile="${paths.bundle}"\n`,
  };
  for (const each of [folder, join(folder, NAMES.phpIni)]) await openFolder(each);
  for (const [name, text] of Object.entries(texts)) await write(join(folder, name), text);
  return paths;
}

/** Where they are in a folder. */
export function nameFiles(folder: string): FilePaths {
  return {
    bundle: join(folder, NAMES.bundle),
    trustStore: join(folder, NAMES.trustStore),
    wgetrc: join(folder, NAMES.wgetrc),
    wget2rc: join(folder, NAMES.wget2rc),
    aptConf: join(folder, NAMES.aptConf),
    phpIni: join(folder, NAMES.phpIni),
  };
}

/** Whatever the umask of whoever writes them. What a link points at stays as it is. */
async function write(file: string, content: string | Buffer): Promise<void> {
  await rm(file, { force: true });
  await writeFile(file, content, { flag: 'wx' });
  await chmod(file, 0o644);
}

const NAMES = {
  bundle: 'ca-bundle.pem',
  trustStore: 'trust.p12',
  wgetrc: 'wgetrc',
  wget2rc: 'wget2rc',
  aptConf: 'apt.conf',
  phpIni: 'php.d',
} as const;

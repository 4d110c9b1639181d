/**
 * The home folder: where `sallyport up` keeps what outlives it. Nobody but its owner may enter it, and what holds a
 * secret is besides readable by its owner alone.
 */
import { existsSync } from 'node:fs';
import { chmod, mkdir, open, rename } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { Fault } from '../../core-lite/errors.ts';

export interface HomeFiles {
  /** Absolute, as is every path here. */
  readonly home: string;
  /** Whether a start was here before. */
  readonly known: boolean;
  readonly masterKey: string;
  readonly adminKey: string;
  /** Where the services listen, for the command line. */
  readonly addresses: string;
  /** Which processes the services are, for a start after a kill. */
  readonly services: string;
  readonly coreLog: string;
  readonly egressLog: string;
  readonly gatesLog: string;
  /** What Node compiled of the services: half of a start is reading their TypeScript. */
  readonly compileCache: string;
  readonly demo: string;
}

/** Makes what is missing of the home. Rejects with Fault `config_invalid` where that is impossible. */
export async function prepareHome(folder: string): Promise<HomeFiles> {
  const home = resolve(folder);
  const known = existsSync(join(home, 'logs'));
  try {
    for (const each of [home, join(home, 'logs')]) {
      await mkdir(each, { recursive: true, mode: 0o700 });
      await chmod(each, 0o700);
    }
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Fault('config_invalid', `SALLYPORT_HOME ${home} cannot be used: ${why}`, error);
  }
  return {
    home,
    known,
    masterKey: join(home, 'master.key'),
    adminKey: join(home, 'admin.key'),
    addresses: join(home, 'addresses.json'),
    services: join(home, 'services.json'),
    coreLog: join(home, 'logs', 'core.log'),
    egressLog: join(home, 'logs', 'egress.log'),
    gatesLog: join(home, 'logs', 'gates.log'),
    compileCache: join(home, 'compile-cache'),
    demo: join(home, 'demo'),
  };
}

/** Writes a whole file that its owner alone may read; a reader sees the old one or the new one, never a part. */
export async function writePrivately(file: string, text: string): Promise<void> {
  const unfinished = `${file}.new`;
  const handle = await open(unfinished, 'w', 0o600);
  try {
    await handle.chmod(0o600);
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(unfinished, file);
}

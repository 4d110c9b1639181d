/**
 * What has to stand before a service can start: the master key, the set-up database, an admin key in the home. A key
 * that somebody may still need is never written over, and no key is ever printed.
 */
import { existsSync } from 'node:fs';
import { readFile, rename } from 'node:fs/promises';
import { hostname } from 'node:os';
import type { Config } from '../../core-lite/config.ts';
import { type Database, openDatabase } from '../../core-lite/database/pool.ts';
import { Fault } from '../../core-lite/errors.ts';
import { Secret } from '../../core-lite/secret.ts';
import { changeAsAdmin, findAdmin, makeAdminKey } from '../../core-lite/state/admin.ts';
import { makeMasterKeyFile } from '../../core-lite/vault/master-key.ts';
import { isSealed, setUp } from '../set-up.ts';
import { type HomeFiles, writePrivately } from './home.ts';
import type { DatabaseUrl } from './home-database.ts';

export interface Installation {
  readonly adminKey: Secret;
  /** What the services need to find all this. */
  readonly environment: Readonly<Record<string, string>>;
}

type Say = (line: string) => void;

/**
 * Brings the database of `url` and the keys in the home to what this program needs.
 * Rejects with Fault `database_unreachable`, or what `setUp` rejects with.
 */
export async function prepareInstallation(
  given: Config,
  url: DatabaseUrl,
  files: HomeFiles,
  say: Say,
): Promise<Installation> {
  const owner = openDatabase(url.secret, null, { max: 2, queryTimeoutMs: 0 });
  try {
    const config = { ...given, ...(await ensureMasterKey(owner, given, files)) };
    const { adminKey } = await setUp(owner, config);
    return {
      adminKey: await ensureAdminKey(owner, files, adminKey, say),
      environment: {
        DATABASE_URL: url.secret.reveal(),
        ...(url.embedded ? { SALLYPORT_DATABASE_LISTEN_URL: '' } : {}),
        ...(config.masterKeyFile === undefined ? {} : { SALLYPORT_MASTER_KEY_FILE: config.masterKeyFile }),
      },
    };
  } finally {
    await owner.close();
  }
}

/** A key that the operator set is his to keep: only the home's own is made here. */
async function ensureMasterKey(
  owner: Database,
  config: Config,
  { masterKey }: HomeFiles,
): Promise<Pick<Config, 'masterKeyFile'>> {
  if (config.masterKey || config.masterKeyFile !== undefined) return { masterKeyFile: config.masterKeyFile };
  if (existsSync(masterKey)) return { masterKeyFile: masterKey };
  if (await isSealed(owner)) {
    throw new Fault(
      'master_key_missing',
      `the master key file ${masterKey} is missing, and the database is sealed with it`,
    );
  }
  await makeMasterKeyFile(masterKey);
  return { masterKeyFile: masterKey };
}

/**
 * The home's admin key: the first of the installation, or the one that is there. Where there is none that this
 * database knows, another is made: whoever runs `up` is the database's owner and could do so by hand.
 */
async function ensureAdminKey(
  owner: Database,
  { adminKey: file, home }: HomeFiles,
  first: Secret | null,
  say: Say,
): Promise<Secret> {
  const kept = first ? null : await readAdminKey(file);
  if (kept && (await findAdmin(owner, kept))) return kept;
  const why = existsSync(file) ? `${file} is not of this database` : `${file} is missing`;
  const key = first ?? (await makeAnotherKey(owner, `up on ${hostname()}: ${home}`));
  if (existsSync(file)) {
    const aside = `${file}.${new Date().toISOString().replaceAll(':', '')}`;
    await rename(file, aside);
    say(`the admin key of another database was kept as ${aside}`);
  }
  await writePrivately(file, `${key.reveal()}\n`);
  if (!first) say(`${why}: a new admin key was made and written there; earlier ones stay valid`);
  return key;
}

async function readAdminKey(file: string): Promise<Secret | null> {
  if (!existsSync(file)) return null;
  return new Secret((await readFile(file, 'utf8')).trim());
}

function makeAnotherKey(owner: Database, name: string): Promise<Secret> {
  return changeAsAdmin(owner, { id: 'up' }, async (tx) => ({
    result: await makeAdminKey(tx, name),
    event: { action: 'admin_key.make', subject: name, detail: {} },
  }));
}

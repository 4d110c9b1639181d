/**
 * The embedded server's data: where it lies, its superuser's password, and `initdb`. A cluster is made aside and
 * moved into place when it is whole, so what stands in its place is never half made, and is never wiped. The password
 * is at no time in a file that another user can read.
 */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chown, mkdtemp, open, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { Fault } from '../errors.ts';
import { type Account, type Binaries, makeSystemFolder } from './embedded-account.ts';

/** What is remembered of a cluster between two starts. */
export interface Cluster {
  /** The data folder, absolute. */
  readonly data: string;
  readonly password: string;
}

/** What is remembered in `home`; `undefined` before the first start, or when the folder of the data is gone. */
export async function recallCluster(home: string): Promise<Cluster | undefined> {
  const file = join(home, MEMORY);
  if (!existsSync(file)) return undefined;
  const { data, password } = JSON.parse(await readFile(file, 'utf8'));
  if (typeof data !== 'string' || typeof password !== 'string') {
    throw new Fault('database_start_failed', `${file} does not name a data folder and its password`);
  }
  // Relative to the home as long as it lies there: a clone may be moved.
  const cluster = { data: resolve(home, data), password };
  return existsSync(dirname(cluster.data)) ? cluster : undefined;
}

/**
 * Chooses the place and the password of a new cluster and remembers them, before anything is made with them.
 * @param apart whether the server's account cannot enter `home`
 */
export async function planCluster(home: string, apart: boolean): Promise<Cluster> {
  const folder = apart ? await makeSystemFolder('clusters', randomBytes(8).toString('hex')) : home;
  const cluster = { data: join(folder, 'postgres'), password: randomBytes(24).toString('base64url') };
  if (existsSync(cluster.data)) {
    throw new Fault(
      'database_start_failed',
      `${cluster.data} holds a database, but ${join(home, MEMORY)} is gone`,
    );
  }
  const unfinished = join(home, `${MEMORY}.new`);
  await writeFile(unfinished, JSON.stringify({ ...cluster, data: apart ? cluster.data : 'postgres' }), {
    mode: 0o600,
    flush: true,
  });
  await rename(unfinished, join(home, MEMORY));
  return cluster;
}

/**
 * Runs `initdb` unless the cluster is there already, and clears away what an interrupted one left.
 * @throws Fault `database_start_failed` with the last line of `initdb`
 */
export async function makeCluster(
  cluster: Cluster,
  binaries: Binaries,
  account: Account | undefined,
  signal: AbortSignal | undefined,
): Promise<void> {
  const folder = dirname(cluster.data);
  await clearUnfinished(folder);
  if (existsSync(cluster.data)) return;
  const unfinished = await mkdtemp(join(folder, UNFINISHED));
  try {
    const passwordFile = join(unfinished, 'password');
    await writePrivately(passwordFile, cluster.password, account);
    if (account !== undefined) await chown(unfinished, account.uid, account.gid);
    const data = join(unfinished, 'data');
    await runInitdb(
      binaries.initdb,
      [...INITDB, `--pwfile=${passwordFile}`, `--pgdata=${data}`],
      account,
      signal,
    );
    await rename(data, cluster.data);
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
}

/** The environment of the server's programs: nothing of ours, which holds secrets. */
export const SERVER_ENVIRONMENT = { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' };

async function writePrivately(file: string, text: string, account: Account | undefined): Promise<void> {
  const handle = await open(file, 'wx', 0o600);
  try {
    await handle.writeFile(text);
    if (account !== undefined) await handle.chown(account.uid, account.gid);
  } finally {
    await handle.close();
  }
}

async function clearUnfinished(folder: string): Promise<void> {
  const names = existsSync(folder) ? await readdir(folder) : [];
  for (const name of names.filter((each) => each.startsWith(UNFINISHED))) {
    // An initdb that outlived its starter may still write there: then the next start clears it.
    await rm(join(folder, name), { recursive: true, force: true }).catch(() => {});
  }
}

async function runInitdb(
  program: string,
  options: readonly string[],
  account: Account | undefined,
  signal: AbortSignal | undefined,
): Promise<void> {
  try {
    // The root folder as working folder: any account can enter it.
    await promisify(execFile)(program, options, {
      cwd: '/',
      env: SERVER_ENVIRONMENT,
      ...account,
      ...(signal && { signal }),
    });
  } catch (error) {
    throw new Fault('database_start_failed', `initdb failed: ${complaintOf(error)}`, error);
  }
}

function complaintOf(error: unknown): string {
  const output = error instanceof Error && 'stderr' in error ? String(error.stderr) : '';
  const lines = output.split('\n').filter((line) => line.trim() !== '');
  return (lines.findLast((line) => /error:|FATAL:/.test(line)) ?? lines.at(-1) ?? String(error)).trim();
}

const MEMORY = 'postgres.json';
const UNFINISHED = 'postgres-unfinished-';
const INITDB = [
  '--username=postgres',
  '--auth=scram-sha-256',
  '--encoding=UTF8',
  '--locale=C',
  '--locale-provider=builtin',
  '--builtin-locale=C.UTF-8',
];

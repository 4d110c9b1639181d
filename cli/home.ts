/**
 * What the command line finds by itself where `npm start` runs: its addresses, admin key, database and master key, all
 * in the folder SALLYPORT_HOME. A setting always comes first. Nothing here is written, and nothing is made.
 */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Config, readConfig } from '../core-lite/config.ts';
import { recallCluster } from '../core-lite/database/embedded-cluster.ts';
import { Secret } from '../core-lite/secret.ts';
import type { ListenAddress } from '../core-lite/setting-kinds.ts';
import { CommandError } from './command-error.ts';
import { reachable } from './up/addresses.ts';

/** The base URL of core's admin API, without a slash at its end. */
export async function findCoreUrl(config: Config, variables: NodeJS.ProcessEnv): Promise<string> {
  const started = variables['SALLYPORT_CORE_URL'] ? undefined : (await readAddresses(config)).core;
  return (started ? `http://${started}` : config.coreUrl).replace(/\/+$/, '');
}

/** Where a client reaches the proxy. */
export async function findEgress(config: Config, variables: NodeJS.ProcessEnv): Promise<ListenAddress> {
  const started = variables['SALLYPORT_EGRESS_LISTEN'] ? undefined : (await readAddresses(config)).egress;
  const address = started
    ? readConfig({ SALLYPORT_EGRESS_LISTEN: started }).egressListen
    : config.egressListen;
  return reachable(address);
}

/** Where a run reaches the gates. */
export async function findGates(config: Config, variables: NodeJS.ProcessEnv): Promise<ListenAddress> {
  const started = variables['SALLYPORT_GATES_LISTEN'] ? undefined : (await readAddresses(config)).gates;
  const address = started ? readConfig({ SALLYPORT_GATES_LISTEN: started }).gatesListen : config.gatesListen;
  return reachable(address);
}

/** The settings as egress has them: those that a running `npm start` gave it, under those of this process. */
export async function readEgressConfig(variables: NodeJS.ProcessEnv): Promise<Config> {
  const { settings } = await readAddresses(readConfig(variables));
  return readConfig({ ...settings, ...variables });
}

/** The admin key. Rejects with CommandError where there is none. */
export async function findAdminKey(
  config: Config,
): Promise<{ readonly key: Secret; readonly where: string }> {
  if (config.adminKey) return { key: config.adminKey, where: 'SALLYPORT_ADMIN_KEY' };
  const file = config.adminKeyFile ?? join(config.home, 'admin.key');
  const text = await readFile(file, 'utf8').catch(() => null);
  if (text === null) {
    const what = config.adminKeyFile ? `the admin key file ${file} cannot be read` : 'there is no admin key';
    throw new CommandError(what, 'set SALLYPORT_ADMIN_KEY_FILE, or run `npm start` here, which keeps one');
  }
  return { key: new Secret(text.trim()), where: file };
}

/** The database for commands that work on it directly: DATABASE_URL, or the running one of `npm start`. */
export async function findDatabaseUrl(config: Config): Promise<Secret | null> {
  if (config.databaseUrl) return config.databaseUrl;
  const cluster = await recallCluster(config.home).catch(() => undefined);
  if (!cluster) return null;
  // The fourth line of PostgreSQL's own pid file is the port; there is no such file while it does not run.
  const lines = await readFile(join(cluster.data, 'postmaster.pid'), 'utf8').catch(() => '');
  const port = /^\d{1,5}$/.exec(lines.split('\n')[3]?.trim() ?? '')?.[0];
  if (!port) return null;
  return new Secret(`postgres://postgres:${cluster.password}@127.0.0.1:${port}/sallyport?sslmode=disable`);
}

/** The database's URL, or a CommandError that says how to name it. */
export async function requireDatabaseUrl(config: Config): Promise<Secret> {
  const url = await findDatabaseUrl(config);
  if (url) return url;
  throw new CommandError(
    'DATABASE_URL is not set, and no database of `npm start` runs here',
    'set DATABASE_URL to the owner’s URL of the database',
  );
}

/** The settings, with the master key of `npm start` where none is set. */
export function withMasterKey(config: Config): Config {
  const file = join(config.home, 'master.key');
  if (config.masterKey || config.masterKeyFile || !existsSync(file)) return config;
  return { ...config, masterKeyFile: file };
}

interface Published {
  readonly core?: string;
  readonly egress?: string;
  readonly gates?: string;
  /** What egress was given on top of the settings of whoever started it. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** What a running `npm start` says of itself; what it wrote and cannot be read counts as nothing. */
async function readAddresses(config: Config): Promise<Published> {
  try {
    const read: unknown = JSON.parse(await readFile(join(config.home, 'addresses.json'), 'utf8'));
    if (typeof read !== 'object' || read === null) return {};
    const { core, egress, gates, settings } = read as Record<string, unknown>;
    return {
      ...(isAddress(core) ? { core } : {}),
      ...(isAddress(egress) ? { egress } : {}),
      ...(isAddress(gates) ? { gates } : {}),
      ...(isTexts(settings) ? { settings } : {}),
    };
  } catch {
    return {};
  }
}

function isTexts(value: unknown): value is Readonly<Record<string, string>> {
  return (
    typeof value === 'object' &&
    value !== null &&
    Object.values(value).every((text) => typeof text === 'string')
  );
}

function isAddress(value: unknown): value is string {
  if (typeof value !== 'string') return false;
  const port = /^(?:\[[0-9a-fA-F:.]+\]|[^\s:[\]/@]+):(\d{1,5})$/.exec(value)?.[1];
  return port !== undefined && Number(port) <= 65_535;
}

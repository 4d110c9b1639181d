/**
 * Every setting: its name, type, default and one line of help. The only module that reads the environment. All faults
 * are reported at once, and a misspelt name is refused: an option that is silently dropped is a check that is off.
 */
import { fileURLToPath } from 'node:url';
import { Fault } from './errors.ts';
import { type Nat64Prefix, parseNat64Prefixes } from './network/nat64.ts';
import { type OpenNetwork, parseOpenNetworks } from './network/open-network.ts';
import { Secret } from './secret.ts';
import { nearest } from './spelling.ts';

/** Where a service listens. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/** A parsed value, or one line on what is wrong with the text. */
type Parsed<T> = { readonly value: T } | { readonly fault: string };

interface Setting<T> {
  readonly name: string;
  readonly type: string;
  /** The default as text; `null` where there is none. */
  readonly fallback: string | null;
  readonly help: string;
  readonly secret: boolean;
  readonly parse: (text: string) => Parsed<T>;
}

/** A setting that may be unset. */
function optional<T>(name: string, kind: Kind<T>, help: string): Setting<T | undefined> {
  return { name, help, fallback: null, ...kind };
}

/** A setting that has a default. */
function preset<T>(name: string, kind: Kind<T>, fallback: string, help: string): Setting<T> {
  return { name, help, fallback, ...kind };
}

interface Kind<T> {
  readonly type: string;
  readonly secret: boolean;
  readonly parse: (text: string) => Parsed<T>;
}

const text: Kind<string> = { type: 'text', secret: false, parse: (value) => ({ value }) };
const path: Kind<string> = { ...text, type: 'path' };
const secret: Kind<Secret> = {
  type: 'secret',
  secret: true,
  parse: (value) => ({ value: new Secret(value) }),
};
const postgresUrl: Kind<Secret> = {
  type: 'postgres URL',
  secret: true,
  parse: (value) =>
    /^postgres(ql)?:$/.test(URL.parse(value)?.protocol ?? '') && !/%(?![0-9a-f]{2})/i.test(value)
      ? { value: new Secret(value) }
      : { fault: 'is not a postgres:// URL (are all signs in its password percent-encoded?)' },
};
const httpUrl: Kind<string> = {
  type: 'http URL',
  secret: false,
  parse: (value) =>
    /^https?:$/.test(URL.parse(value)?.protocol ?? '')
      ? { value }
      : { fault: 'is not an http:// or https:// URL' },
};
const listen: Kind<ListenAddress> = { type: 'host:port', secret: false, parse: parseListen };
const duration: Kind<number> = { type: 'duration', secret: false, parse: parseDuration };
const list: Kind<readonly string[]> = {
  type: 'list',
  secret: false,
  parse: (value) => ({ value: value.split(',').map((entry) => entry.trim()) }),
};
const count: Kind<number> = {
  type: 'number',
  secret: false,
  parse: (value) =>
    /^[1-9]\d{0,5}$/.test(value) ? { value: Number(value) } : { fault: 'is not a number from 1 on' },
};
const level: Kind<string> = {
  type: 'debug|info|warn|error',
  secret: false,
  parse: (value) => (/^(debug|info|warn|error)$/.test(value) ? { value } : { fault: 'is not a level' }),
};
const openNetworks: Kind<readonly OpenNetwork[]> = {
  type: 'list of host=cidr',
  secret: false,
  parse: (value) => {
    const { networks, faults } = parseOpenNetworks(value);
    return faults.length > 0 ? { fault: faults.join('; ') } : { value: networks };
  },
};
const nat64Prefixes: Kind<readonly Nat64Prefix[]> = {
  type: 'list of prefixes',
  secret: false,
  parse: (value) => {
    const { prefixes, faults } = parseNat64Prefixes(value);
    return faults.length > 0 ? { fault: faults.join('; ') } : { value: prefixes };
  },
};

const HOME = fileURLToPath(new URL('../.sallyport', import.meta.url));
const SETTINGS = {
  databaseUrl: optional(
    'DATABASE_URL',
    postgresUrl,
    'the PostgreSQL server; `npm start` brings its own without it',
  ),
  databaseListenUrl: optional(
    'SALLYPORT_DATABASE_LISTEN_URL',
    postgresUrl,
    'a direct connection for the change feed, where DATABASE_URL is a pooler',
  ),
  databaseConnections: preset(
    'SALLYPORT_DATABASE_CONNECTIONS',
    count,
    '10',
    'connections a service may hold',
  ),
  home: preset('SALLYPORT_HOME', path, HOME, 'where `npm start` keeps its database and keys'),
  masterKey: optional('SALLYPORT_MASTER_KEY', secret, 'the master key, 32 bytes in base64'),
  masterKeyFile: optional('SALLYPORT_MASTER_KEY_FILE', path, 'a file that holds the master key'),
  masterKeyPrevious: optional(
    'SALLYPORT_MASTER_KEY_PREVIOUS',
    secret,
    'the master key before, during a rotation',
  ),
  masterKeyPreviousFile: optional(
    'SALLYPORT_MASTER_KEY_PREVIOUS_FILE',
    path,
    'a file that holds the key before',
  ),
  classKeyFile: optional(
    'SALLYPORT_CLASS_KEY_FILE',
    path,
    'a service’s own class key, instead of the master key (`sallyport keys export-class`)',
  ),
  coreListen: preset(
    'SALLYPORT_CORE_LISTEN',
    listen,
    '127.0.0.1:4000',
    'the admin API; never opened to pods',
  ),
  coreObserveListen: preset(
    'SALLYPORT_CORE_OBSERVE_LISTEN',
    listen,
    '127.0.0.1:4009',
    'core’s health and metrics',
  ),
  egressListen: preset('SALLYPORT_EGRESS_LISTEN', listen, '127.0.0.1:4200', 'the proxy that pods reach'),
  egressObserveListen: preset(
    'SALLYPORT_EGRESS_OBSERVE_LISTEN',
    listen,
    '127.0.0.1:4209',
    'egress’s health and metrics',
  ),
  dnsServers: optional(
    'SALLYPORT_DNS_SERVERS',
    list,
    'address[:port], a list; the system’s servers without it',
  ),
  hostsFile: optional(
    'SALLYPORT_HOSTS_FILE',
    path,
    'names and addresses that come before DNS, as in hosts(5)',
  ),
  openNetworks: preset(
    'SALLYPORT_OPEN_NETWORKS',
    openNetworks,
    '',
    'networks that are not public and may be reached for a host: host=cidr, a list',
  ),
  nat64Prefixes: preset(
    'SALLYPORT_NAT64_PREFIXES',
    nat64Prefixes,
    '',
    'the network’s own NAT64 prefixes: addresses in them are judged by the IPv4 address inside',
  ),
  feedGrace: preset(
    'SALLYPORT_FEED_GRACE',
    duration,
    '30s',
    'how long open connections outlive a lost change feed',
  ),
  tunnelIdle: preset('SALLYPORT_TUNNEL_IDLE', duration, '2h', 'how long a tunnel may stay silent'),
  drain: preset(
    'SALLYPORT_DRAIN',
    duration,
    '5s',
    'how long a service that is stopped lets open connections finish',
  ),
  logLevel: preset('SALLYPORT_LOG_LEVEL', level, 'info', 'which lines are logged'),
  coreUrl: preset(
    'SALLYPORT_CORE_URL',
    httpUrl,
    'http://127.0.0.1:4000',
    'where the command line finds core',
  ),
  adminKey: optional('SALLYPORT_ADMIN_KEY', secret, 'the admin key that the command line sends'),
  adminKeyFile: optional(
    'SALLYPORT_ADMIN_KEY_FILE',
    path,
    'a file that holds it; without both, the one in SALLYPORT_HOME',
  ),
} as const;

type Settings = typeof SETTINGS;
/** Durations are milliseconds. */
export type Config = {
  readonly [Key in keyof Settings]: Settings[Key] extends Setting<infer Value> ? Value : never;
};

/** One row of `sallyport config`. */
export interface SettingRow {
  readonly name: string;
  readonly type: string;
  readonly default: string;
  /** What is set, secrets masked; empty where nothing is. */
  readonly value: string;
  readonly help: string;
}

/** The settings in `variables`. Throws Fault `config_invalid` that names every fault. */
export function readConfig(variables: NodeJS.ProcessEnv): Config {
  const faults = unknownNames(variables);
  const values: Record<string, unknown> = {};
  for (const [key, setting] of Object.entries(SETTINGS)) {
    const given = variables[setting.name] || setting.fallback;
    if (given === null) continue;
    const parsed = setting.parse(given);
    if ('fault' in parsed) faults.push(`${setting.name} ${parsed.fault}`);
    else values[key] = parsed.value;
  }
  for (const [one, other] of ONE_OF_TWO) {
    if (variables[one] && variables[other]) faults.push(`${one} and ${other} are both set`);
  }
  if (faults.length > 0) throw new Fault('config_invalid', faults.join('; '));
  // Each key was filled by its own setting's parser, or may be unset by its type.
  return values as unknown as Config;
}

/** The table that `sallyport config` prints: what this process was given, secrets masked. */
export function describeConfig(variables: NodeJS.ProcessEnv = process.env): SettingRow[] {
  return Object.values<Setting<unknown>>(SETTINGS).map((setting) => ({
    name: setting.name,
    type: setting.type,
    default: setting.fallback ?? '',
    value: variables[setting.name] ? (setting.secret ? '[secret]' : (variables[setting.name] ?? '')) : '',
    help: setting.help,
  }));
}

/** This process's environment, for the command line: settings, and variables that a credential is taken from. */
export function processVariables(): NodeJS.ProcessEnv {
  return process.env;
}

/** This process's environment with `changes`, for a child that is one of our services. */
export function childEnvironment(changes: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  return { ...process.env, ...changes };
}

function unknownNames(variables: NodeJS.ProcessEnv): string[] {
  const known = Object.values<Setting<unknown>>(SETTINGS).map((setting) => setting.name);
  return Object.keys(variables)
    .filter((name) => name.startsWith('SALLYPORT_') && !known.includes(name))
    .map((name) => [name, nearest(name, known)])
    .map(([name, close]) => `${name} is not a setting${close ? `, did you mean ${close}?` : ''}`);
}

function parseListen(value: string): Parsed<ListenAddress> {
  const match = /^(\[[0-9a-fA-F:.]+\]|[^\s:[\]]+):(\d{1,5})$/.exec(value);
  const port = Number(match?.[2]);
  if (!match?.[1] || port > 65_535) return { fault: 'is not host:port' };
  return { value: { host: match[1].replace(/^\[|\]$/g, ''), port } };
}

function parseDuration(value: string): Parsed<number> {
  const match = /^(\d{1,6})(ms|s|m|h)$/.exec(value);
  const unit = UNIT_MS[match?.[2] ?? ''];
  if (!match || !unit) return { fault: 'is not a duration such as 500ms, 30s, 5m or 2h' };
  const ms = Number(match[1]) * unit;
  return ms <= MAX_TIMER_MS ? { value: ms } : { fault: 'is longer than 24 days' };
}

const MAX_TIMER_MS = 24 * 24 * 3_600_000; // Node's timers that are longer fire at once.
const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };
const ONE_OF_TWO = [
  ['SALLYPORT_MASTER_KEY', 'SALLYPORT_MASTER_KEY_FILE'],
  ['SALLYPORT_MASTER_KEY_PREVIOUS', 'SALLYPORT_MASTER_KEY_PREVIOUS_FILE'],
  ['SALLYPORT_ADMIN_KEY', 'SALLYPORT_ADMIN_KEY_FILE'],
] as const;

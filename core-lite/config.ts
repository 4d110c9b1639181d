/**
 * Every setting: its name, type, default and one line of help. The only module that reads the environment. All faults
 * are reported at once, and a misspelt name is refused: an option that is silently dropped is a check that is off.
 */
import { fileURLToPath } from 'node:url';
import { Fault } from './errors.ts';
import {
  count,
  dnsServers,
  duration,
  hostNames,
  httpUrl,
  type Kind,
  level,
  listen,
  nat64Prefixes,
  openNetworks,
  ownNames,
  parentProxy,
  path,
  postgresUrl,
  secret,
  secretVariables,
} from './setting-kinds.ts';
import { nearest } from './spelling.ts';

interface Setting<T> extends Kind<T> {
  readonly name: string;
  /** The default as text; `null` where there is none. */
  readonly fallback: string | null;
  readonly help: string;
}

/** A setting that may be unset. */
function optional<T>(name: string, kind: Kind<T>, help: string): Setting<T | undefined> {
  return { name, help, fallback: null, ...kind };
}

/** A setting that has a default. */
function preset<T>(name: string, kind: Kind<T>, fallback: string, help: string): Setting<T> {
  return { name, help, fallback, ...kind };
}

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
  egressTlsListen: preset(
    'SALLYPORT_EGRESS_TLS_LISTEN',
    listen,
    '127.0.0.1:4201',
    'the same proxy in TLS, for HTTPS_PROXY=https://…',
  ),
  egressTlsNames: preset(
    'SALLYPORT_EGRESS_TLS_NAMES',
    ownNames,
    '',
    'names and addresses that its certificate is for besides localhost and its listen address, a list',
  ),
  egressTlsCert: optional(
    'SALLYPORT_EGRESS_TLS_CERT',
    path,
    'its certificate, a PEM file with its chain, read again when it changes; one of the egress CA without it',
  ),
  egressTlsKey: optional('SALLYPORT_EGRESS_TLS_KEY', path, 'the private key of that certificate, a PEM file'),
  egressObserveListen: preset(
    'SALLYPORT_EGRESS_OBSERVE_LISTEN',
    listen,
    '127.0.0.1:4209',
    'egress’s health and metrics',
  ),
  gatesListen: preset('SALLYPORT_GATES_LISTEN', listen, '127.0.0.1:4100', 'the gates that runs reach'),
  gatesObserveListen: preset(
    'SALLYPORT_GATES_OBSERVE_LISTEN',
    listen,
    '127.0.0.1:4109',
    'the gates’ health and metrics',
  ),
  gatesHosts: preset(
    'SALLYPORT_GATES_HOSTS',
    hostNames,
    '',
    'names that the gates answer to besides localhost and their listen address, a list',
  ),
  dnsServers: optional(
    'SALLYPORT_DNS_SERVERS',
    dnsServers,
    'address[:port], a list; the system’s servers without it',
  ),
  hostsFile: optional(
    'SALLYPORT_HOSTS_FILE',
    path,
    'names and addresses that come before DNS, as in hosts(5); read at the start',
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
  parentProxy: optional(
    'SALLYPORT_PARENT_PROXY',
    parentProxy,
    'the http, https or socks5 proxy that egress goes out through: it looks names up, so no address is judged',
  ),
  extraCa: optional(
    'SALLYPORT_EXTRA_CA',
    path,
    'a PEM file of more roots that origins, providers and tools may be certified by',
  ),
  secretFolder: optional(
    'SALLYPORT_SECRET_FOLDER',
    path,
    'the folder below which egress may read values of secrets (`file:PATH`), such as a mounted secret; none without it',
  ),
  secretVariables: preset(
    'SALLYPORT_SECRET_VARIABLES',
    secretVariables,
    '',
    'variables of egress that may be values of secrets (`env:NAME`), a list',
  ),
  feedGrace: preset(
    'SALLYPORT_FEED_GRACE',
    duration,
    '30s',
    'how long open connections outlive a lost change feed',
  ),
  tunnelIdle: preset('SALLYPORT_TUNNEL_IDLE', duration, '2h', 'how long a tunnel may stay silent'),
  streamIdle: preset(
    'SALLYPORT_STREAM_IDLE',
    duration,
    '10m',
    'how long a model may stay silent in a stream, while it thinks',
  ),
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
  for (const [one, other] of BOTH_OR_NONE) {
    if (Boolean(variables[one]) !== Boolean(variables[other])) faults.push(`${one} and ${other} go together`);
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

const ONE_OF_TWO = [
  ['SALLYPORT_MASTER_KEY', 'SALLYPORT_MASTER_KEY_FILE'],
  ['SALLYPORT_MASTER_KEY_PREVIOUS', 'SALLYPORT_MASTER_KEY_PREVIOUS_FILE'],
  ['SALLYPORT_ADMIN_KEY', 'SALLYPORT_ADMIN_KEY_FILE'],
] as const;
const BOTH_OR_NONE = [['SALLYPORT_EGRESS_TLS_CERT', 'SALLYPORT_EGRESS_TLS_KEY']] as const;

/**
 * What `doctor` looks at, one check each: it finds out and says so, and changes nothing. Each check stands alone, so
 * that one that fails hides no other.
 */
import { X509Certificate } from 'node:crypto';
import { connect, isIP } from 'node:net';
import { findRemedy } from '../core-lite/codes.ts';
import type { Config } from '../core-lite/config.ts';
import { checkSchema } from '../core-lite/database/migrate.ts';
import type { Database } from '../core-lite/database/pool.ts';
import { loadExtraRoots } from '../core-lite/network/extra-roots.ts';
import { openResolver } from '../core-lite/network/open-resolver.ts';
import { formatParentProxy } from '../core-lite/network/parent-proxy.ts';
import { ResolveFailure } from '../core-lite/network/resolve.ts';
import { formatAddress } from '../core-lite/service.ts';
import { KEY_CLASSES, openClassKey } from '../core-lite/vault/class-keys.ts';
import { OAUTH_FAILURES, type OauthFailureCode } from '../core-lite/vault/oauth-failure.ts';
import { Parent } from '../egress/parent/parent.ts';
import { openApi } from './api.ts';
import type { Io } from './command.ts';
import { CommandError } from './command-error.ts';
import type { CredentialAnswer } from './commands/credential.ts';
import { findAdminKey, findCoreUrl, findEgress, findGates, withMasterKey } from './home.ts';

/** What the checks work with. */
export interface Patient {
  readonly config: Config;
  /** Logs in as whoever the URL names; or why there is none. */
  readonly database: Database | Skipped;
  readonly io: Io;
}

/** Resolves to what was found, or to `Skipped` with why; rejects with what is wrong. */
export type Check = (patient: Patient) => Promise<string | Skipped>;

export class Skipped {
  readonly why: string;

  constructor(why: string) {
    this.why = why;
  }
}

async function checkDatabase({ database }: Patient): Promise<string | Skipped> {
  if (database instanceof Skipped) return database;
  const [row] = await database.query<{ version: string }>(
    `SELECT current_setting('server_version') AS version`,
  );
  return `PostgreSQL ${row?.version} answers`;
}

async function checkVersion({ database }: Patient): Promise<string | Skipped> {
  if (database instanceof Skipped) return database;
  await checkSchema(database);
  return 'the schema is what this program needs';
}

async function checkKeys({ database, config }: Patient): Promise<string | Skipped> {
  if (database instanceof Skipped) return database;
  const given = withMasterKey(config);
  if (given.classKeyFile !== undefined) return await checkClassKeyFile(database, given);
  if (!given.masterKey && !given.masterKeyFile) return new Skipped('this process has no master key');
  for (const keyClass of KEY_CLASSES) await openClassKey(database, given, keyClass);
  return `the master key opens ${KEY_CLASSES.join(', ')}`;
}

/** A service's own key is of one class only. */
async function checkClassKeyFile(database: Database, config: Config): Promise<string> {
  let failure: unknown;
  for (const keyClass of KEY_CLASSES) {
    try {
      await openClassKey(database, config, keyClass);
      return `SALLYPORT_CLASS_KEY_FILE holds the class key ${keyClass}`;
    } catch (error) {
      failure = error;
    }
  }
  throw failure;
}

async function checkCore({ config, io }: Patient): Promise<string> {
  const base = await findCoreUrl(config, io.variables);
  const { where } = await findAdminKey(config);
  const api = await openApi(io);
  await api.call('GET', '/v1/environments');
  return `${base} accepts the admin key of ${where}`;
}

/** What egress could not get a token for, by the failures that it noted. */
async function checkOauth({ io }: Patient): Promise<string | Skipped> {
  // What is wrong with core itself is another check's to say.
  const credentials = await listCredentials(io).catch(() => null);
  if (!credentials) return new Skipped('core does not list the credentials');
  const clients = credentials.filter(({ kind }) => kind === 'oauth');
  const bad = clients.filter(({ problem }) => problem !== null);
  if (bad.length === 0) return `no failure is noted of ${clients.length} credentials`;
  const first = bad.map(({ vault, name, problem }) => `${vault}/${name} (${problem})`).slice(0, 5);
  const texts = bad.map(({ problem }) => OAUTH_FAILURES[problem as OauthFailureCode]?.[0]);
  throw new CommandError(
    `no new token for ${first.join(', ')}`,
    [...new Set(texts)].filter(Boolean).join('; '),
  );
}

async function listCredentials(io: Io): Promise<readonly CredentialAnswer[]> {
  return (await openApi(io)).call<readonly CredentialAnswer[]>('GET', '/v1/credentials');
}

/** Every trust bundle is made with it, and every leaf of an interception by it. */
async function checkAuthority({ config, io }: Patient): Promise<string | Skipped> {
  const base = await findCoreUrl(config, io.variables);
  const answer = await askOnce(`${base}/authority.pem`, io.signal);
  if (answer === null) return new Skipped(`core at ${base} does not answer`);
  const pem = await answer.text();
  if (answer.status >= 500)
    throw new CommandError(
      `core at ${base} answers ${answer.status}`,
      'look at its log, and at the database',
    );
  if (answer.status !== 200 || !pem.startsWith('-----BEGIN CERTIFICATE-----'))
    throw new CommandError(`core at ${base} shows no egress CA`, 'run `sallyport migrate`, which makes it');
  const { validToDate } = new X509Certificate(pem);
  const day = validToDate.toISOString().slice(0, 10);
  if (validToDate.getTime() <= Date.now())
    throw new CommandError(`the egress CA ended on ${day}`, 'nothing is intercepted until there is another');
  return `is there, and valid until ${day}`;
}

async function checkEgress({ config, io }: Patient): Promise<string> {
  const { host, port } = await findEgress(config, io.variables);
  const at = formatAddress({ host, port });
  const status = await askWithoutToken(host, port, io.signal);
  if (status === null) {
    throw new CommandError(
      `nothing answers at ${at}`,
      'start it with `npm start` or `sallyport egress`, or set SALLYPORT_EGRESS_LISTEN',
    );
  }
  if (/^HTTP\/1\.1 503 /.test(status)) {
    throw new CommandError(
      `egress at ${at} cannot tell who may pass`,
      'look at the database: it refuses everyone until that answers again',
    );
  }
  if (!/^HTTP\/1\.1 407 /.test(status)) {
    throw new CommandError(
      `what listens at ${at} does not ask for a token`,
      'set SALLYPORT_EGRESS_LISTEN to where egress listens',
    );
  }
  return `${at} asks for a token`;
}

async function checkGates({ config, io }: Patient): Promise<string> {
  const at = formatAddress(await findGates(config, io.variables));
  const answer = await askOnce(`http://${at}/v1/models`, io.signal);
  if (answer === null) {
    throw new CommandError(
      `nothing answers at ${at}`,
      'start it with `npm start` or `sallyport gates`, or set SALLYPORT_GATES_LISTEN',
    );
  }
  if (!answer.headers.get('www-authenticate')?.includes('sallyport-gates')) {
    throw new CommandError(
      `what listens at ${at} does not ask for a run token`,
      'set SALLYPORT_GATES_LISTEN to where the gates listen',
    );
  }
  return `${at} asks for a run token`;
}

async function checkExtraRoots({ config }: Patient): Promise<string | Skipped> {
  if (config.extraCa === undefined) return new Skipped('SALLYPORT_EXTRA_CA is not set');
  const { length } = await loadExtraRoots(config.extraCa);
  return `${config.extraCa} holds ${length === 1 ? 'a certificate' : `${length} certificates`}`;
}

async function checkHostsFile({ config }: Patient): Promise<string | Skipped> {
  if (config.hostsFile === undefined) return new Skipped('SALLYPORT_HOSTS_FILE is not set');
  (await openResolver(config)).close();
  return `${config.hostsFile} is read`;
}

/** RFC 6761 section 6.4: every resolver answers for `invalid` by itself, so nothing is asked beyond it. */
async function checkDns({ config, io }: Patient): Promise<string | Skipped> {
  if (!config.dnsServers) return new Skipped('SALLYPORT_DNS_SERVERS is not set');
  const resolver = await openResolver({ ...config, hostsFile: undefined });
  try {
    await resolver.resolve('sallyport.invalid', io.signal);
  } catch (error) {
    if (!(error instanceof ResolveFailure)) throw error;
    if (error.code === 'no_answer') {
      const servers = config.dnsServers.join(', ');
      throw new CommandError(
        `no answer from ${servers}`,
        'correct SALLYPORT_DNS_SERVERS, or open the way to it',
      );
    }
  } finally {
    resolver.close();
  }
  return `${config.dnsServers.join(', ')} answers`;
}

/** With its login, since that is what is wrong most often; it is asked for a name that nobody has. */
async function checkParent({ config, io }: Patient): Promise<string | Skipped> {
  const { parentProxy: proxy } = config;
  if (!proxy) return new Skipped('SALLYPORT_PARENT_PROXY is not set');
  // Only the files that this parent needs: a broken one has a check of its own.
  const resolver = await openResolver(isIP(proxy.host) ? { ...config, hostsFile: undefined } : config);
  try {
    const extraRoots = proxy.scheme === 'https' ? await loadExtraRoots(config.extraCa) : [];
    const found = await new Parent({ proxy, resolver, extraRoots }).check(io.signal);
    const shown = formatParentProxy(proxy);
    if (found === 'answered') return `${shown} answers; it looks names up, so no address is judged here`;
    if (found === 'closed')
      return `${shown} is there; asked for a host that nobody has it hung up, as some do: where egress gets nowhere, is it ${proxy.scheme}?`;
    throw new CommandError(`${shown}: ${found.code}`, findRemedy('parent_failed', found.code));
  } finally {
    resolver.close();
  }
}

/** Tokens are judged by each machine's own clock. */
async function checkClock({ database }: Patient): Promise<string | Skipped> {
  if (database instanceof Skipped) return database;
  const before = Date.now();
  const [row] = await database.query<{ now: Date }>('SELECT clock_timestamp() AS now');
  const middle = (before + Date.now()) / 2;
  const offSeconds = Math.round(((row?.now.getTime() ?? 0) - middle) / 1000);
  if (Math.abs(offSeconds) <= LEEWAY_S) return `within ${LEEWAY_S} s of the database's`;
  const direction = offSeconds > 0 ? 'behind' : 'ahead of';
  throw new CommandError(`${Math.abs(offSeconds)} s ${direction} the database's`, 'let NTP set both clocks');
}

/** What answers a GET without any credential; `null` where nothing does. */
async function askOnce(url: string, signal: AbortSignal): Promise<Response | null> {
  const until = AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)]);
  return fetch(url, { redirect: 'manual', signal: until }).catch(() => null);
}

/** What answers a CONNECT without a token, up to its first line's end; `null` where nothing listens. */
function askWithoutToken(host: string, port: number, signal: AbortSignal): Promise<string | null> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, signal });
    let text: string | null = null;
    socket.setTimeout(ANSWER_MS, () => socket.destroy());
    socket.once('connect', () => {
      text = '';
      socket.write('CONNECT sallyport.invalid:443 HTTP/1.1\r\nHost: sallyport.invalid:443\r\n\r\n');
    });
    socket.on('data', (chunk) => {
      text += String(chunk);
      if (text?.includes('\r\n')) socket.destroy();
    });
    socket.on('error', () => socket.destroy());
    socket.once('close', () => resolve(text));
  });
}

/** As long as tokens are given at each end of their life. */
const LEEWAY_S = 30;
const ANSWER_MS = 5_000;

/** In the order in which they are shown. */
export const CHECKS: readonly (readonly [name: string, check: Check])[] = [
  ['database', checkDatabase],
  ['schema', checkVersion],
  ['keys', checkKeys],
  ['core', checkCore],
  ['oauth', checkOauth],
  ['egress CA', checkAuthority],
  ['egress', checkEgress],
  ['gates', checkGates],
  ['extra roots', checkExtraRoots],
  ['hosts file', checkHostsFile],
  ['dns', checkDns],
  ['parent proxy', checkParent],
  ['clock', checkClock],
];

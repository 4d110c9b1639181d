/**
 * The product, running in the test's own process on free ports, set up as an operator sets it up: through the owner's
 * database URL, real settings and the admin API.
 */
import { Writable } from 'node:stream';
import { setUp } from '../../cli/set-up.ts';
import { type Config, readConfig } from '../../core-lite/config.ts';
import { openDatabase } from '../../core-lite/database/pool.ts';
import { type Logger, openLog } from '../../core-lite/log.ts';
import { startCore } from '../../core-lite/main.ts';
import { Secret } from '../../core-lite/secret.ts';
import type { Service } from '../../core-lite/service.ts';
import { type EgressService, startEgress } from '../../egress/main.ts';
import { startGates } from '../../gates/main.ts';
import { createDatabase, type TestDatabase } from './postgres.ts';

export interface World {
  readonly databaseUrl: string;
  readonly adminKey: string;
  readonly settings: Readonly<Record<string, string>>;
  readonly config: Config;
  readonly core: Service;
  /** What core and egress logged so far. */
  readonly logged: () => string;
  /** Calls the admin API; rejects unless the answer is 2xx. */
  call<T>(method: string, path: string, body?: unknown): Promise<T>;
  /** An egress token for an environment. */
  token(environment: string): Promise<string>;
  /** One more egress replica, with these settings on top. */
  egress(settings?: Readonly<Record<string, string>>): Promise<EgressService>;
  /** One more replica of the gates, with these settings on top. */
  gates(settings?: Readonly<Record<string, string>>): Promise<Service>;
  close(): Promise<void>;
}

export async function startWorld(settings: Readonly<Record<string, string>> = {}): Promise<World> {
  const database = await databaseOf(settings);
  const all = { ...SETTINGS, ...settings, DATABASE_URL: database.url };
  const config = readConfig(all);
  const { text, log } = memoryLog();
  const owner = openDatabase(new Secret(database.url), null);
  const { adminKey } = await setUp(owner, config).finally(() => owner.close());
  if (!adminKey) throw new Error('the database was set up before');
  const core = await startCore(config, log);
  const services: Service[] = [core];
  const call = callApi(`http://127.0.0.1:${core.address.port}`, adminKey.reveal());
  return {
    databaseUrl: database.url,
    adminKey: adminKey.reveal(),
    settings: all,
    config,
    core,
    logged: text,
    call,
    token: async (environment) =>
      (await call<{ token: string }>('POST', `/v1/environments/${environment}/egress-tokens`)).token,
    egress: async (more = {}) => {
      const service = await startEgress(readConfig({ ...all, ...more }), log);
      services.push(service);
      return service;
    },
    gates: async (more = {}) => {
      const service = await startGates(readConfig({ ...all, ...more }), log);
      services.push(service);
      return service;
    },
    close: async () => {
      for (const service of services.toReversed()) await service.close();
      await database.close();
    },
  };
}

/** The server that the settings name is its starter's to end; without one, the run's server has a database for it. */
async function databaseOf({ DATABASE_URL: url }: Readonly<Record<string, string>>): Promise<TestDatabase> {
  return url === undefined ? createDatabase() : { url, close: async () => {} };
}

function callApi(base: string, adminKey: string) {
  return async <T>(method: string, path: string, body?: unknown): Promise<T> => {
    const answer = await fetch(base + path, {
      method,
      headers: {
        authorization: `Bearer ${adminKey}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return (text === '' ? null : JSON.parse(text)) as T;
  };
}

function memoryLog(): { text: () => string; log: Logger } {
  const chunks: string[] = [];
  const stream = new Writable({
    write(chunk, _encoding, done) {
      chunks.push(String(chunk));
      done();
    },
  });
  return { text: () => chunks.join(''), log: openLog('test', 'debug', stream) };
}

const SETTINGS = {
  SALLYPORT_MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
  SALLYPORT_CORE_LISTEN: '127.0.0.1:0',
  SALLYPORT_CORE_OBSERVE_LISTEN: '127.0.0.1:0',
  SALLYPORT_EGRESS_LISTEN: '127.0.0.1:0',
  SALLYPORT_EGRESS_TLS_LISTEN: '127.0.0.1:0',
  SALLYPORT_EGRESS_OBSERVE_LISTEN: '127.0.0.1:0',
  SALLYPORT_GATES_LISTEN: '127.0.0.1:0',
  SALLYPORT_GATES_OBSERVE_LISTEN: '127.0.0.1:0',
  SALLYPORT_DRAIN: '0s',
};

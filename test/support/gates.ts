/**
 * A world with gates in it, for the tests of a call's way: providers on loopback that the operator opened and trusts,
 * models and credentials as an operator puts them, runs with their tokens.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Database, openDatabase } from '../../core-lite/database/pool.ts';
import { Secret } from '../../core-lite/secret.ts';
import type { Service } from '../../core-lite/service.ts';
import type { Provider } from './provider.ts';
import { startWorld, type World } from './world.ts';

/** Where a provider is, and whom to trust there. */
type Place = Pick<Provider, 'host' | 'port' | 'caPem'>;

export interface TestRun {
  readonly session: string;
  readonly turn: string;
  readonly token: string;
}

/** A row of the ledger. */
interface UsageRow {
  readonly session_id: string;
  readonly turn_id: string;
  readonly agent: string;
  readonly model: string;
  readonly upstream_name: string;
  readonly dialect: string;
  readonly streamed: boolean;
  readonly status: number | null;
  readonly outcome: string;
  readonly input_tokens: string | null;
  readonly output_tokens: string | null;
  readonly cached_tokens: string | null;
  readonly cache_write_tokens: string | null;
  readonly reasoning_tokens: string | null;
  readonly first_byte_ms: string | null;
}

export interface Reply {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
  readonly text: string;
  /** Whether it came to its end as it was framed. */
  readonly whole: boolean;
}

export interface Ask {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  /** Its end breaks the request off. */
  readonly signal?: AbortSignal;
  /** Told of every piece as it comes; what it returns `true` for is left there and then. */
  readonly onData?: (soFar: Buffer) => boolean | undefined;
}

export interface TestGates {
  readonly world: World;
  readonly gates: Service;
  readonly owner: Database;
  /** Opens a session with a turn and takes its lease. */
  run(manifest?: object, more?: object): Promise<TestRun>;
  ask(path: string, ask?: Ask): Promise<Reply>;
  /** Resolves to the ledger's rows of a run, oldest first, once there are `count`. */
  usage(run: TestRun, count: number): Promise<UsageRow[]>;
  close(): Promise<void>;
}

export async function startTestGates(
  providers: readonly Place[],
  settings: Readonly<Record<string, string>> = {},
): Promise<TestGates> {
  const folder = await mkdtemp(join(tmpdir(), 'sallyport-gates-'));
  await writeFile(join(folder, 'hosts'), providers.map(({ host }) => `127.0.0.1 ${host}\n`).join(''));
  await writeFile(join(folder, 'ca.pem'), providers.map(({ caPem }) => caPem ?? '').join('\n'));
  const trusting = providers.some(({ caPem }) => caPem !== null);
  const world = await startWorld({
    SALLYPORT_HOSTS_FILE: join(folder, 'hosts'),
    SALLYPORT_OPEN_NETWORKS: providers.map(({ host }) => `${host}=127.0.0.0/8`).join(','),
    ...(trusting ? { SALLYPORT_EXTRA_CA: join(folder, 'ca.pem') } : {}),
    ...settings,
  });
  const gates = await world.gates();
  const owner = openDatabase(new Secret(world.databaseUrl), null);
  return {
    world,
    gates,
    owner,
    run: (manifest, more) => openRun(world, manifest, more),
    ask: (path, ask = {}) => askGates(gates.address.port, path, ask),
    usage: (run, count) => readUsage(owner, run, count),
    close: async () => {
      await owner.close();
      await world.close();
      await rm(folder, { recursive: true });
    },
  };
}

/** A model at a provider with a key of its own, as an operator puts both. */
export async function putModel(
  { world }: TestGates,
  name: string,
  provider: Place,
  more: { readonly key?: string; readonly dialects?: readonly string[]; readonly upstreamName?: string } = {},
): Promise<void> {
  const { key, dialects = ['openai', 'anthropic'], upstreamName } = more;
  const credential = name.replaceAll('/', '-');
  if (key !== undefined) {
    await world.call('PUT', '/v1/vaults/test');
    await world.call('PUT', `/v1/vaults/test/credentials/${credential}`, {
      kind: 'model_key',
      hosts: [`${provider.host}:${provider.port}`],
      secret: { value: key },
    });
  }
  const scheme = provider.caPem === null ? 'http' : 'https';
  await world.call('PUT', `/v1/models/${encodeURIComponent(name)}`, {
    baseUrl: `${scheme}://${provider.host}:${provider.port}`,
    dialects,
    ...(upstreamName ? { upstreamName } : {}),
    ...(key === undefined ? {} : { credential: `test/${credential}` }),
  });
}

async function openRun(world: World, manifest?: object, more: object = {}): Promise<TestRun> {
  const body = { agent: 'tester', ...(manifest ? { manifest } : {}), ...more };
  const session = await world.call<{ id: string }>('POST', '/v1/sessions', body);
  const turn = await world.call<{ id: string }>('POST', `/v1/sessions/${session.id}/turns`);
  const lease = await world.call<{ runToken: string }>('POST', `/v1/turns/${turn.id}/lease`, {
    holder: 'test',
  });
  return { session: session.id, turn: turn.id, token: lease.runToken };
}

/** Asks the gates that listen on `port`. */
export function askGates(
  port: number,
  path: string,
  { method = 'POST', headers = {}, body, signal, onData }: Ask = {},
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      { host: '127.0.0.1', port, path, method, headers, agent: false, ...(signal ? { signal } : {}) },
      (response) => {
        const chunks: Buffer[] = [];
        const finish = (): void => {
          const all = Buffer.concat(chunks);
          const { statusCode: status = 0, rawHeaders } = response;
          const text = all.toString('utf8');
          resolve({
            status,
            headers: response.headers,
            rawHeaders,
            body: all,
            text,
            whole: response.complete,
          });
        };
        response.on('data', (chunk: Buffer) => {
          chunks.push(chunk);
          if (onData?.(Buffer.concat(chunks))) request.destroy();
        });
        response.once('close', finish).on('error', () => {});
      },
    );
    request.once('error', reject);
    request.end(body);
  });
}

async function readUsage(owner: Database, run: TestRun, count: number): Promise<UsageRow[]> {
  for (let tries = 0; ; tries += 1) {
    const rows = await owner.query<UsageRow>('SELECT * FROM model_usage WHERE session_id = $1 ORDER BY id', [
      run.session,
    ]);
    if (rows.length >= count) return rows;
    if (tries > 200) throw new Error(`the ledger has ${rows.length} rows, not ${count}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

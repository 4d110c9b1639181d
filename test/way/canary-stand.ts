/**
 * The stand of the canary test: the product with all its doors, a note of every secret that was planted, and of every
 * word that came back. What it did not note was not searched.
 */
import { createPrivateKey, randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import pg from 'pg';
import { runCommand } from '../../cli/run.ts';
import { freePort } from '../../core-lite/database/embedded-server.ts';
import { type Database, openDatabase } from '../../core-lite/database/pool.ts';
import { Secret } from '../../core-lite/secret.ts';
import type { Service } from '../../core-lite/service.ts';
import { KEY_CLASSES, openClassKey } from '../../core-lite/vault/class-keys.ts';
import type { SealKey } from '../../core-lite/vault/seal.ts';
import { type DnsServer, startDnsServer } from '../support/dns-server.ts';
import { startWorld, type World } from '../support/world.ts';
import { type ConnectAnswer, connectThrough, sendRaw } from './connect-client.ts';
import { type CountingOrigin, startCountingOrigin } from './counting-origin.ts';
import type { Canary } from './leak-finder.ts';

/** Something that the product said. */
export interface Said {
  readonly where: string;
  readonly text: string;
  /** The canary that it may hold. */
  readonly except?: string;
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

/** An origin on loopback that the product may reach by its name, and whose CA it trusts. */
interface NamedOrigin {
  readonly name: string;
  readonly caPem: string | null;
}

interface Parts {
  readonly folder: string;
  readonly world: World;
  readonly egress: Service;
  readonly gates: Service;
  readonly origin: CountingOrigin;
  readonly dns: DnsServer;
  readonly observePorts: readonly number[];
}

export class CanaryStand {
  readonly said: Said[] = [];
  readonly canaries: Canary[] = [];
  readonly #parts: Parts;

  private constructor(parts: Parts) {
    this.#parts = parts;
    const { adminKey, databaseUrl, settings } = parts.world;
    const masterKey = Buffer.from(settings['SALLYPORT_MASTER_KEY'] ?? '', 'base64');
    this.canaries.push(
      { name: 'master key', value: masterKey },
      { name: 'admin key', value: adminKey },
      { name: 'database password', value: new URL(databaseUrl).password },
    );
  }

  /** Names: `open.test` leads to the origin, `bound.test` nowhere, those of `origins` to them, others do not exist. */
  static async start(origins: readonly NamedOrigin[] = []): Promise<CanaryStand> {
    const folder = await mkdtemp(join(tmpdir(), 'sallyport-canary-'));
    await mkdir(join(folder, 'secrets'));
    const names = origins.map(({ name }) => name);
    await writeFile(join(folder, 'hosts'), `127.0.0.1 ${['open.test', 'bound.test', ...names].join(' ')}\n`);
    await writeFile(join(folder, 'roots.pem'), origins.map(({ caPem }) => caPem ?? '').join(''));
    const observePorts = [await freePort(), await freePort(), await freePort()];
    const [dns, origin] = [await startDnsServer({}), await startCountingOrigin()];
    const world = await startWorld({
      SALLYPORT_MASTER_KEY: randomBytes(32).toString('base64'),
      SALLYPORT_HOSTS_FILE: join(folder, 'hosts'),
      SALLYPORT_DNS_SERVERS: dns.address,
      SALLYPORT_OPEN_NETWORKS: '*.test=127.0.0.0/8',
      SALLYPORT_LOG_LEVEL: 'debug',
      SALLYPORT_SECRET_FOLDER: join(folder, 'secrets'),
      SALLYPORT_CORE_OBSERVE_LISTEN: `127.0.0.1:${observePorts[0]}`,
      SALLYPORT_EGRESS_OBSERVE_LISTEN: `127.0.0.1:${observePorts[1]}`,
      SALLYPORT_GATES_OBSERVE_LISTEN: `127.0.0.1:${observePorts[2]}`,
      ...(origins.some(({ caPem }) => caPem !== null)
        ? { SALLYPORT_EXTRA_CA: join(folder, 'roots.pem') }
        : {}),
    });
    const [egress, gates] = [await world.egress(), await world.gates()];
    return new CanaryStand({ folder, world, egress, gates, origin, dns, observePorts });
  }

  get world(): World {
    return this.#parts.world;
  }

  get egress(): Service {
    return this.#parts.egress;
  }

  get gates(): Service {
    return this.#parts.gates;
  }

  get adminKey(): string {
    return this.#parts.world.adminKey;
  }

  /** `host:port` of the origin. */
  get openTarget(): string {
    return `open.test:${this.#parts.origin.port}`;
  }

  /** A new canary that a header can carry and that no encoding leaves as it is. */
  plant(name: string, more = ''): string {
    const value = `cnry-"${randomBytes(9).toString('hex')}\\'+&=%~ ${randomBytes(12).toString('hex')}<>${more}/`;
    this.canaries.push({ name, value });
    return value;
  }

  /** Notes a private key by its scalar: in PEM, DER or JWK it is these bytes that must not be seen. */
  plantKey(name: string, pem: string): void {
    const { d } = createPrivateKey(pem).export({ format: 'jwk' });
    this.canaries.push({ name, value: Buffer.from(d ?? '', 'base64url') });
  }

  /** Writes a file that a command reads. @returns its path */
  async write(name: string, text: string): Promise<string> {
    const file = join(this.#parts.folder, name);
    await writeFile(file, text);
    return file;
  }

  /** Calls the API. Status 0 where there was no answer. */
  async call(
    method: string,
    path: string,
    body?: unknown,
    { headers = {}, except }: { headers?: Record<string, string>; except?: string } = {},
  ): Promise<Answer> {
    const raw = typeof body === 'string' || body === undefined ? body : JSON.stringify(body);
    const url = `http://127.0.0.1:${this.#parts.world.core.address.port}${path}`;
    const request = {
      method,
      headers: {
        authorization: `Bearer ${this.adminKey}`,
        ...(raw === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(raw === undefined ? {} : { body: raw }),
    };
    // A body that is too large is answered, and the connection closed, before all of it was sent.
    const answer = await fetch(url, request).catch(() => Response.error());
    const text = await answer.text();
    this.note(`${method} ${path}: ${answer.status}`, JSON.stringify([...answer.headers]) + text, except);
    return { status: answer.status, text };
  }

  /** Runs a command as a user types it. */
  async type(
    words: readonly string[],
    {
      stdin = '',
      variables = {},
      except,
    }: { stdin?: string; variables?: NodeJS.ProcessEnv; except?: string } = {},
  ): Promise<Answer> {
    const { world, folder } = this.#parts;
    const lines: string[] = [];
    const status = await runCommand(words, {
      out: (line) => lines.push(line),
      err: (line) => lines.push(line),
      stdin: Readable.from([stdin]) as NodeJS.ReadableStream,
      variables: {
        ...world.settings,
        SALLYPORT_HOME: folder,
        SALLYPORT_CORE_URL: `http://127.0.0.1:${world.core.address.port}`,
        SALLYPORT_ADMIN_KEY: this.adminKey,
        ...variables,
      },
      signal: AbortSignal.timeout(20_000),
    });
    const text = lines.join('\n');
    this.note(`sallyport ${words.slice(0, 2).join(' ')}: ${status}`, text, except);
    return { status, text };
  }

  /** An egress token, noted as a canary that only its own answer may hold. */
  async mint(environment: string): Promise<string> {
    const except = `egress token ${this.canaries.length}`;
    const answer = await this.call('POST', `/v1/environments/${environment}/egress-tokens`, undefined, {
      except,
    });
    const { token } = JSON.parse(answer.text) as { token: string };
    this.plantToken(except, token);
    return token;
  }

  /** Notes the part of a token that cannot be guessed. */
  plantToken(name: string, text: string): void {
    this.canaries.push({ name, value: /\.([\w-]{86})(?:$|\s)/m.exec(text)?.[1] ?? '' });
  }

  async connect(target: string, token: string): Promise<ConnectAnswer> {
    const answer = await connectThrough(this.#parts.egress.address.port, target, token);
    this.note(`CONNECT ${target}: ${answer.status}`, answer.text);
    return answer;
  }

  /** Sends these very bytes to egress. */
  async send(raw: string): Promise<number> {
    const { status, text, socket } = await sendRaw(this.#parts.egress.address.port, raw);
    socket.destroy();
    this.note(`to egress: ${status}`, text);
    return status;
  }

  /** As the database's owner. */
  async withOwner<T>(work: (owner: Database) => Promise<T>): Promise<T> {
    const owner = openDatabase(new Secret(this.#parts.world.databaseUrl), null);
    return work(owner).finally(() => owner.close());
  }

  /** Notes as canaries what the product made for itself: class keys, the CA's key, every signing key. */
  async plantInner(): Promise<void> {
    await this.withOwner(async (owner) => {
      const open = async (text: string, key: SealKey): Promise<void> => {
        const rows = await owner.query<{ place: string; sealed: Buffer }>(text);
        for (const { place, sealed } of rows) this.plantKey(place, key.open(sealed, place).reveal());
      };
      const keys = new Map<string, SealKey>();
      for (const name of KEY_CLASSES) {
        const key = await openClassKey(owner, this.#parts.world.config, name);
        this.canaries.push({
          name: `class key ${name}`,
          value: Buffer.from(key.export().reveal(), 'base64'),
        });
        keys.set(name, key);
      }
      const [signing, egress] = [keys.get('signing'), keys.get('egress')];
      if (!signing || !egress) throw new Error('a class key is missing');
      await open(SIGNING_KEYS, signing);
      await open(AUTHORITIES, egress);
    });
  }

  /** Notes what was logged, the metrics, and the whole database with PostgreSQL's own log. */
  async collect(): Promise<void> {
    this.note('the logs', this.#parts.world.logged());
    for (const port of this.#parts.observePorts)
      this.note('metrics', await (await fetch(`http://127.0.0.1:${port}/metrics`)).text());
    const client = new pg.Client({ connectionString: this.#parts.world.databaseUrl });
    await client.connect();
    try {
      const { rows: tables } = await client.query<{ name: string }>(TABLES);
      for (const name of [...tables.map((row) => row.name), 'pg_stat_activity']) {
        const { rows } = await client.query<Record<string, unknown>>(`SELECT * FROM ${name}`);
        this.note(`the table ${name}`, rows.flatMap(Object.values).map(textOf).join('\n'));
      }
      const { rows } = await client.query<{ data_directory: string }>('SHOW data_directory');
      const log = join(dirname(rows[0]?.data_directory ?? ''), 'postgres.log');
      this.note('the log of PostgreSQL', await readFile(log, 'utf8'));
    } finally {
      await client.end();
    }
  }

  async close(): Promise<void> {
    const { world, origin, dns, folder } = this.#parts;
    await world.close();
    await origin.close();
    await dns.close();
    await rm(folder, { recursive: true, force: true });
  }

  /** Keeps what the product said, to be searched. */
  note(where: string, text: string, except?: string): void {
    this.said.push({ where, text, ...(except === undefined ? {} : { except }) });
  }
}

/** Bytes both in hex and as they are. */
function textOf(value: unknown): string {
  if (Buffer.isBuffer(value)) return `${value.toString('hex')}\n${value.toString('latin1')}`;
  return typeof value === 'string' ? value : JSON.stringify(value);
}

const TABLES = `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables
  WHERE schemaname NOT IN ('pg_catalog', 'information_schema')`;
const SIGNING_KEYS = `SELECT 'signing_keys ' || kid || ' sealed_private 1' AS place, sealed_private AS sealed
  FROM signing_keys WHERE sealed_private IS NOT NULL`;
const AUTHORITIES = `SELECT 'authorities ' || id || ' sealed_private 1' AS place, sealed_private AS sealed FROM authorities`;

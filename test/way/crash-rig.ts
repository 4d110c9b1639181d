/**
 * Egress as a real process under a load of CONNECTs, to be killed. Every name of the load has a loopback address of
 * its own, so the origin knows which name each connection was for, and the record can be asked for it.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { type EmbeddedDatabase, startTemporary } from '../../core-lite/database/embedded.ts';
import { type Program, startProgram } from '../support/process.ts';
import { startWorld, type World } from '../support/world.ts';
import { connectThrough } from './connect-client.ts';
import { type CountingOrigin, startCountingOrigin } from './counting-origin.ts';

export interface Load {
  /** Stops asking; resolves when every client has given up or got its answer. */
  stop(): Promise<void>;
  /** Answers by status so far. */
  readonly answers: ReadonlyMap<number, number>;
}

export class CrashRig {
  readonly origin: CountingOrigin;
  readonly database: EmbeddedDatabase;
  readonly #world: World;
  readonly #folder: string;
  readonly #token: string;
  #round = 0;

  private constructor(parts: Pick<CrashRig, 'origin' | 'database'> & Started) {
    this.origin = parts.origin;
    this.database = parts.database;
    this.#world = parts.world;
    this.#folder = parts.folder;
    this.#token = parts.token;
  }

  /** A database server of its own: tests here kill its processes. */
  static async start(): Promise<CrashRig> {
    const folder = await mkdtemp(join(tmpdir(), 'sallyport-crash-'));
    const [database, origin] = [await startTemporary(), await startCountingOrigin()];
    const world = await startWorld({
      DATABASE_URL: database.url,
      SALLYPORT_HOSTS_FILE: join(folder, 'hosts'),
      SALLYPORT_OPEN_NETWORKS: '*.crash.test=127.0.0.0/8',
      SALLYPORT_LOG_LEVEL: 'info',
    });
    const unlimited = { maxConnections: 1_000_000, newPerSecond: 1_000_000 };
    await world.call('PUT', '/v1/environments/e', { allow: [`*.crash.test:${origin.port}`], ...unlimited });
    return new CrashRig({ origin, database, world, folder, token: await world.token('e') });
  }

  /** Starts egress with names that were never used before. */
  async startEgress(): Promise<{ program: Program; port: number }> {
    this.#round += 1;
    this.origin.forget();
    const lines = Array.from({ length: NAMES }, (_, i) => `${addressOf(i)} ${this.#nameOf(i)}`);
    await writeFile(join(this.#folder, 'hosts'), `${lines.join('\n')}\n`);
    const program = startProgram(['cli/sallyport.mjs', 'egress'], this.#world.settings);
    const [, port] = await program.said(/"port":(\d+)[^\n]*"egress is ready"/);
    return { program, port: Number(port) };
  }

  /** @param clients how many ask at once, each again and again, each time for a name of its own */
  load(port: number, clients: number): Load {
    const answers = new Map<number, number>();
    let next = 0;
    let going = true;
    const work = async (): Promise<void> => {
      while (going && next < NAMES) {
        const host = this.#nameOf(next);
        next += 1;
        const { status, socket } = await connectThrough(port, `${host}:${this.origin.port}`, this.#token);
        answers.set(status, (answers.get(status) ?? 0) + 1);
        socket.destroy();
        // Nobody listens any more: asking on would only use the names up.
        if (status === 0) await delay(20);
      }
    };
    const workers = Array.from({ length: clients }, work);
    const stop = async (): Promise<void> => {
      going = false;
      await Promise.all(workers);
    };
    return { stop, answers };
  }

  /** Connections that reached the origin since egress was started, and those of them without a committed row. */
  async compare(): Promise<{ reached: number; unrecorded: readonly string[] }> {
    await this.origin.settle();
    const hosts = this.origin.accepted.map((address) => this.#nameOf(indexOf(address)));
    const rows = await this.query('SELECT host FROM connections WHERE host LIKE $1', [
      `%.r${this.#round}.crash.test`,
    ]);
    const recorded = new Set(rows.map((row) => String(row['host'])));
    return { reached: hosts.length, unrecorded: hosts.filter((host) => !recorded.has(host)) };
  }

  /** Runs a statement as the database's owner, on a connection of its own; again while the database recovers. */
  async query(text: string, values: readonly unknown[] = []): Promise<Record<string, unknown>[]> {
    for (const until = Date.now() + RECOVERY_MS; ; await delay(20)) {
      const client = new pg.Client({ connectionString: this.database.url, connectionTimeoutMillis: 5_000 });
      client.on('error', () => {});
      try {
        await client.connect();
        return (await client.query(text, [...values])).rows;
      } catch (error) {
        if (Date.now() > until) throw error;
      } finally {
        await client.end().catch(() => {});
      }
    }
  }

  async close(): Promise<void> {
    await this.#world.close();
    await this.origin.close();
    await this.database.close();
    await rm(this.#folder, { recursive: true, force: true });
  }

  #nameOf(index: number): string {
    return `h${index}.r${this.#round}.crash.test`;
  }
}

interface Started {
  readonly world: World;
  readonly folder: string;
  readonly token: string;
}

/** 127.1.0.0 and up: the machine's own services sit on 127.0.0.x. */
function addressOf(index: number): string {
  return `127.1.${index >> 8}.${index & 255}`;
}

function indexOf(address: string): number {
  const [, , high, low] = address.split('.').map(Number);
  return ((high ?? 0) << 8) | (low ?? 0);
}

/** More than any round asks for. */
const NAMES = 20_000;
const RECOVERY_MS = 15_000;

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { startEmbedded, startTemporary } from '../../../core-lite/database/embedded.ts';
import { planCluster, recallCluster } from '../../../core-lite/database/embedded-cluster.ts';
import { exists } from '../../../core-lite/database/processes.ts';

let home: string;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'sallyport-test-'));
});

afterEach(async () => {
  const data = (await recallCluster(home).catch(() => undefined))?.data;
  rmSync(home, { recursive: true, force: true });
  // Root's server keeps its data elsewhere, in a folder of this cluster alone.
  if (data !== undefined)
    rmSync(data.startsWith(home) ? data : dirname(data), { recursive: true, force: true });
});

describe('a home', () => {
  it('is made on the first start and found again on the second', async () => {
    const first = await startEmbedded({ home: join(home, 'new', 'home') });
    await query(first.url, 'create table kept as select 42 as answer');
    await first.close();
    const second = await startEmbedded({ home: join(home, 'new', 'home') });
    const rows = await query(second.url, 'select answer from kept');
    await second.close();
    await rmCluster(join(home, 'new', 'home'));
    expect(rows).toEqual([{ answer: 42 }]);
  });

  it('keeps the password where nobody else can read it', async () => {
    const server = await startEmbedded({ home });
    const { data, password } = (await recallCluster(home)) ?? expect.unreachable();
    await server.close();
    expect(modeOf(home)).toBe(0o700);
    expect(modeOf(data)).toBe(0o700);
    expect(filesBelow(dirname(data)).filter((file) => readFileSync(file).includes(password))).toEqual(
      dirname(data) === home ? [join(home, 'postgres.json')] : [],
    );
    expect(modeOf(join(home, 'postgres.json'))).toBe(0o600);
    expect(modeOf(join(home, 'postgres.log'))).toBe(0o600);
  });

  it('is refused to a second start in the same process, and given back by close', async () => {
    const server = await startEmbedded({ home });
    await expect(startEmbedded({ home })).rejects.toMatchObject({ code: 'home_in_use' });
    await Promise.all([server.close(), server.close()]);
    await (await startEmbedded({ home })).close();
  });

  it('goes to exactly one of two processes that start at once', async () => {
    const starters = [startProcess(home), startProcess(home), startProcess(home)];
    const said = await Promise.all(starters.map(({ said }) => said));
    const winner = said.find(({ url }) => url !== undefined);
    expect(said.map(({ code }) => code ?? 'ready').sort()).toEqual(['home_in_use', 'home_in_use', 'ready']);
    expect(await query(String(winner?.url), 'select 1 as one')).toEqual([{ one: 1 }]);
    await Promise.all(starters.map(({ child }) => end(child, 'SIGTERM')));
  });

  it('is taken over from a killed start, whose server is stopped', async () => {
    const starter = startProcess(home);
    const left = await starter.said;
    await query(String(left.url), 'create table kept as select 42 as answer');
    await end(starter.child, 'SIGKILL');
    expect(exists(Number(left.pid))).toBe(true);
    const log = vi.fn();
    const server = await startEmbedded({ home, log });
    await vi.waitFor(() => expect(exists(Number(left.pid))).toBe(false));
    expect(log).toHaveBeenCalledWith(expect.stringContaining(String(left.pid)));
    expect(await query(server.url, 'select answer from kept')).toEqual([{ answer: 42 }]);
    await server.close();
  });

  it('whose initdb was interrupted is made again', async () => {
    const { data } = await planCluster(home, process.getuid?.() === 0);
    const unfinished = join(dirname(data), 'postgres-unfinished-abc');
    mkdirSync(join(unfinished, 'data'), { recursive: true });
    writeFileSync(join(unfinished, 'data', 'PG_VERSION'), '18');
    await (await startEmbedded({ home })).close();
    expect(existsSync(unfinished)).toBe(false);
  });

  it('with a broken cluster is a fault that names the complaint, and is not wiped', async () => {
    await (await startEmbedded({ home })).close();
    const { data } = (await recallCluster(home)) ?? expect.unreachable();
    rmSync(join(data, 'global', 'pg_control'));
    await expect(startEmbedded({ home })).rejects.toMatchObject({
      code: 'database_start_failed',
      message: expect.stringMatching(/^[^\n]*pg_control[^\n]*postgres\.log[^\n]*$/),
    });
    expect(existsSync(join(data, 'PG_VERSION'))).toBe(true);
  });

  it('with a cluster but without its password is a fault', async () => {
    mkdirSync(join(home, 'postgres'));
    await expect(planCluster(home, false)).rejects.toMatchObject({ code: 'database_start_failed' });
  });
});

describe('a temporary server', () => {
  it('asks for the password, listens on 127.0.0.1 alone, and leaves nothing behind', async () => {
    const server = await startTemporary();
    const settings = await query(
      server.url,
      `select current_setting('listen_addresses') as address, current_setting('unix_socket_directories') as sockets`,
    );
    const [place] = await query(server.url, `select current_setting('data_directory') as data`);
    expect(settings).toEqual([{ address: '127.0.0.1', sockets: '' }]);
    const wrong = Object.assign(new URL(server.url), { password: 'wrong' }).href;
    await expect(query(wrong, 'select 1')).rejects.toMatchObject({ code: '28P01' });
    await server.close();
    expect(exists(server.pid)).toBe(false);
    expect(existsSync(dirname(String(place?.['data'])))).toBe(false);
  });

  it.skipIf(!existsSync('/proc/self/environ'))('inherits nothing of our environment', async () => {
    vi.stubEnv('CANARY', 'a-secret-of-ours');
    const server = await startTemporary();
    const environment = readFileSync(`/proc/${server.pid}/environ`, 'latin1');
    await server.close();
    vi.unstubAllEnvs();
    expect(environment).not.toContain('a-secret-of-ours');
  });

  it('on a given port that is taken is a fault', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const address = taken.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    await expect(startTemporary({ port })).rejects.toMatchObject({ code: 'port_taken' });
    taken.close();
  });

  it('can be given up while it starts', async () => {
    await expect(startTemporary({ signal: AbortSignal.timeout(100) })).rejects.toMatchObject({
      name: 'TimeoutError',
    });
  });
});

interface Said {
  readonly url?: string;
  readonly pid?: number;
  readonly code?: string;
}

function startProcess(folder: string): { readonly child: ChildProcess; readonly said: Promise<Said> } {
  const program = fileURLToPath(new URL('starter.ts', import.meta.url));
  const child = spawn(process.execPath, [program, folder], { stdio: ['ignore', 'pipe', 'inherit'] });
  const said = once(createInterface({ input: child.stdout }), 'line').then(([line]) => JSON.parse(line));
  return { child, said };
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill(signal);
  await once(child, 'exit');
}

async function query(url: string, statement: string): Promise<readonly Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  try {
    await client.connect();
    return (await client.query(statement)).rows;
  } finally {
    await client.end();
  }
}

async function rmCluster(folder: string): Promise<void> {
  const { data } = (await recallCluster(folder)) ?? expect.unreachable();
  rmSync(data.startsWith(folder) ? data : dirname(data), { recursive: true });
}

function modeOf(file: string): number {
  return statSync(file).mode & 0o777;
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

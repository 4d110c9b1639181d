/** `sallyport up` with its own database: one home, and what becomes of it from start to start. */
import { execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, statSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { allGone, type Home, makeHome, type Up, userEnvironment } from './up-process.ts';

const home: Home = makeHome();
let up: Up;
/** What has to be the same after every start. */
let first: Readonly<Record<string, string>>;

afterAll(async () => {
  await up?.end('SIGTERM');
  await home.remove();
});

describe('a home', () => {
  it('is made by the first start, which prints few lines and no secret', { timeout: 60_000 }, async () => {
    up = home.start();
    await up.ready();
    first = await remember();
    const printed = up.lines().join('\n');
    expect(up.lines().length).toBeLessThan(30);
    for (const file of SECRETS) expect(printed).not.toContain(home.read(file).trim());
    for (const file of ['.', 'addresses.json', 'demo/ca.key', 'logs/core.log', 'logs/gates.log', ...SECRETS])
      expect(statSync(join(home.folder, file)).mode & 0o077, file).toBe(0);
    const { gates, gatesObserve } = JSON.parse(home.read('addresses.json'));
    for (const url of [`http://${gates}/`, `http://${gatesObserve}/ready`])
      expect((await fetch(url)).status).toBe(200);
  });

  it('prints the very commands that README.md shows', () => {
    const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
    const port = home.read('demo/port').trim();
    const shown = [...readme.matchAll(/^npx sallyport .+$/gm)].map(([line]) => `  ${line}`);
    expect(shown).not.toEqual([]);
    for (const line of shown) expect(up.lines()).toContain(line.replaceAll(':4443', `:${port}`));
  });

  it.skipIf(!isThere('curl') || !isThere('git') || !isThere('npx'))(
    'has commands to paste that work as printed',
    { timeout: 120_000 },
    () => {
      const said = paste(up.lines());
      const [secret, model, denied, git, proxy, rows, exchanges, usage, refused] = said.slice(-9);
      const key = home.read('demo/api.key').trim();
      expect(said.join('\n')).not.toContain(key);
      expect(secret).toMatch(/^sallyport-managed\nthe real key arrived, ending in …[0-9a-f]{4}$/m);
      expect(secret).toContain(key.slice(-4));
      expect(JSON.parse(model?.split('\n').at(-2) ?? '')).toMatchObject({
        choices: [{ message: { content: 'hello' } }],
        usage: { total_tokens: 2 },
      });
      expect(denied).toMatch(/^HTTP\/1.1 403 /m);
      expect(denied).toMatch(/^Sallyport-Reason: host_denied\r?$/m);
      expect(denied).toMatch(/^Sallyport-Remedy: \w/m);
      expect(git).toMatch(/^[0-9a-f]{40}\trefs\/heads\/main$/m);
      expect(proxy).toContain('You came through Sallyport');
      expect(rows).toMatch(/ api\.demo\.sallyport\.test:\d+ +allowed +allowlisted +127\.0\.0\.1 /);
      expect(rows).toMatch(/ example\.com:443 +denied +host_denied /);
      expect(rows).toMatch(/ demo\.sallyport\.test:\d+ +allowed /);
      expect(exchanges).toMatch(/ GET \/whoami +200 +injected +demo\/api-key@1 /);
      expect(usage).toMatch(/^fixture\/echo +1 +0 +0 +1 +0 +1 /m);
      expect(refused).toMatch(/host_denied/);
    },
  );

  it.skipIf(!isThere('curl') || !isThere('git'))(
    'lets curl through a tunnel and git through an interception as well',
    { timeout: 60_000 },
    () => {
      const port = home.read('demo/port').trim();
      const run = (...words: string[]) => sallyport('run', '--env', 'demo', '--', ...words);
      expect(run('curl', '-sS', `https://demo.sallyport.test:${port}/`)).toContain('through Sallyport');
      const clone = join(home.folder, 'clone');
      run('git', 'clone', '--quiet', `https://api.demo.sallyport.test:${port}/demo.git`, clone);
      expect(readFileSync(join(clone, 'README.md'), 'utf8')).toContain('through Sallyport');
    },
  );

  it('is refused to a second start', async () => {
    const second = await home.start().ended;
    expect(second).toMatchObject({ status: 1, err: [expect.stringMatching(/is in use by process \d+; /)] });
  });

  it('is left in order by Ctrl-C', { timeout: 30_000 }, async () => {
    expect(home.services()).toHaveLength(3);
    const processes = [...home.services(), databasePid()];
    const { status, out, err } = await up.end('SIGINT');
    expect({ status, last: out.at(-1), err }).toEqual({ status: 0, last: 'sallyport: stopped', err: [] });
    await allGone(processes);
    expect(() => home.read('addresses.json')).toThrow();
  });

  it('is found again by the next start', { timeout: 30_000 }, async () => {
    up = home.start({ SALLYPORT_DRAIN: '5m' });
    await up.ready();
    expect(await remember()).toEqual(first);
  });

  it('is left at once, and in order, at a second Ctrl-C', { timeout: 30_000 }, async () => {
    const processes = [...home.services(), databasePid()];
    const tunnel = await openTunnel();
    const ended = up.end('SIGINT');
    let over = false;
    ended.finally(() => {
      over = true;
    });
    // Signals that come at once count as one, so the second is sent until it is taken.
    while (!over) await Promise.race([up.end('SIGINT'), delay(100)]);
    expect((await ended).status).toBe(0);
    tunnel.destroy();
    await allGone(processes);
  });

  it('outlives a kill, after which nothing runs on', { timeout: 60_000 }, async () => {
    up = home.start();
    await up.ready();
    const services = home.services();
    await up.end('SIGKILL');
    await allGone(services);
    up = home.start();
    await up.ready();
    expect(await remember()).toEqual(first);
  });

  it('is stopped with one line when a service dies', { timeout: 30_000 }, async () => {
    const services = home.services();
    process.kill(Number(services[0]), 'SIGKILL');
    const { status, err } = await up.ended;
    expect({ status, err }).toEqual({
      status: 1,
      err: [expect.stringMatching(/^sallyport: core ended \(SIGKILL\); read .*core\.log$/)],
    });
    await allGone(services);
  });
});

async function remember(): Promise<Record<string, string>> {
  const { core } = JSON.parse(home.read('addresses.json'));
  const authorization = `Bearer ${home.read('admin.key').trim()}`;
  const ask = async (path: string) =>
    (await fetch(`http://${core}${path}`, { headers: { authorization } })).text();
  return {
    adminKey: home.read('admin.key'),
    masterKey: home.read('master.key'),
    demoSecret: home.read('demo/api.key'),
    demoAuthority: home.read('demo/ca.pem'),
    authority: await ask('/authority.pem'),
    environment: JSON.parse(await ask('/v1/environments/demo')).id,
    credentials: await ask('/v1/credentials'),
  };
}

/** A tunnel to the demo's origin that stays open. */
async function openTunnel(): Promise<Socket> {
  const { core, egress } = JSON.parse(home.read('addresses.json'));
  const headers = { authorization: `Bearer ${home.read('admin.key').trim()}` };
  const made = await fetch(`http://${core}/v1/environments/demo/egress-tokens`, { method: 'POST', headers });
  const { token } = (await made.json()) as { token: string };
  const origin = `demo.sallyport.test:${home.read('demo/port').trim()}`;
  const socket = connect({ host: '127.0.0.1', port: Number(egress.split(':')[1]) });
  socket.on('error', () => {});
  socket.write(
    `CONNECT ${origin} HTTP/1.1\r\nHost: ${origin}\r\nProxy-Authorization: Bearer ${token}\r\n\r\n`,
  );
  const [answer] = await once(socket, 'data');
  expect(String(answer)).toMatch(/^HTTP\/1.1 200 /);
  return socket;
}

/** Root's server keeps its data outside the home. */
function databasePid(): number {
  const { data } = JSON.parse(home.read('postgres.json'));
  return Number.parseInt(readFileSync(resolve(home.folder, data, 'postmaster.pid'), 'utf8'), 10);
}

/** Runs the printed commands in one shell, and gives what each said. */
function paste(lines: readonly string[]): readonly string[] {
  const commands = lines.filter((line) => line.startsWith('  '));
  const script = commands.map((command) => `${command}\necho '${MARK}'\n`).join('');
  const { stdout, stderr } = spawnSync('sh', ['-c', `exec 2>&1\n${script}`], {
    cwd: tmpdir(),
    encoding: 'utf8',
    env: userEnvironment(),
  });
  expect(stderr).toBe('');
  return stdout.split(`${MARK}\n`).slice(0, commands.length);
}

/** What the command line printed on standard output, in this home. */
function sallyport(...words: readonly string[]): string {
  const env = { ...userEnvironment(), SALLYPORT_HOME: home.folder };
  return execFileSync(process.execPath, [MAIN, ...words], {
    cwd: tmpdir(),
    encoding: 'utf8',
    env,
    stdio: 'pipe',
  });
}

function isThere(program: string): boolean {
  try {
    execFileSync(program, ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

const MAIN = fileURLToPath(new URL('../../cli/sallyport.mjs', import.meta.url));
const SECRETS = ['admin.key', 'master.key', 'demo/api.key'];
const MARK = '-- next --';

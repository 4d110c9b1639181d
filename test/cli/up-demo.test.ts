/** The demo's origin and its repository, as real clients see them. */
import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { get } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeAuthority } from '../../certs/authority.ts';
import { startDemo } from '../../cli/up/demo.ts';
import { openDemoAuthority } from '../../cli/up/demo-authority.ts';
import { DEMO_API_HOST, DEMO_HOST, type DemoOrigin, startDemoOrigin } from '../../cli/up/demo-origin.ts';
import { type DemoSecret, openDemoSecret } from '../../cli/up/demo-secret.ts';
import { prepareHome } from '../../cli/up/home.ts';
import { readConfig } from '../../core-lite/config.ts';
import { loadExtraRoots } from '../../core-lite/network/extra-roots.ts';
import { parseHostsFile } from '../../core-lite/network/hosts-file.ts';

let folder: string;
let origin: DemoOrigin;
let secret: DemoSecret;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sallyport-demo-'));
  const authority = await openDemoAuthority(join(folder, 'ca.pem'), join(folder, 'ca.key'));
  secret = await openDemoSecret(join(folder, 'api.key'));
  origin = await startDemoOrigin(authority, secret, [0]);
});

afterAll(async () => {
  await origin.close();
  rmSync(folder, { recursive: true });
});

it.each([
  ['/', 200, /through Sallyport/],
  ['/hello?and=more', 200, /^hello\n$/],
  ['/headers', 200, /"x-sent": \[\s*"by a test"/],
  ['/demo.git/HEAD', 200, /^ref: refs\/heads\/main\n$/],
  ['/demo.git/../hello', 404, /there is nothing here/],
])('%s answers %i', async (path, status, text) => {
  const answer = await ask(path);
  expect(answer.status).toBe(status);
  expect(answer.text).toMatch(text);
});

describe('the name that asks for the secret', () => {
  it('says that it came, and never what it is', async () => {
    const value = secret.value.reveal();
    expect(await ask('/whoami', { host: DEMO_API_HOST, authorization: `Bearer ${value}` })).toEqual({
      status: 200,
      text: `the real key arrived, ending in …${value.slice(-4)}\n`,
    });
  });

  it.each([undefined, 'Bearer sallyport-managed', 'Bearer '])('answers 401 to %j', async (authorization) => {
    const answer = await ask('/whoami', { host: DEMO_API_HOST, ...(authorization && { authorization }) });
    expect(answer).toEqual({ status: 401, text: 'no key arrived, or another one\n' });
  });

  it('gives nothing back of what it was sent, whatever Host says', async () => {
    for (const path of ['/headers', '/', '/hello'])
      expect((await ask(path, { host: DEMO_API_HOST, named: DEMO_HOST })).status).toBe(404);
    expect((await ask('/whoami', { named: DEMO_API_HOST })).status).toBe(404);
  });

  it('has a certificate of its own, and a third name has none', async () => {
    await expect(ask('/', { host: 'other.sallyport.test' })).rejects.toThrow();
  });
});

it('gives egress what the operator gave it, and its own', async () => {
  const operator = makeAuthority({ name: 'of the operator', now: new Date() }).certificatePem;
  const files = { hosts: join(folder, 'hosts'), roots: join(folder, 'roots.pem') };
  writeFileSync(files.hosts, '192.0.2.1 a.test');
  writeFileSync(files.roots, operator.trimEnd());
  const config = readConfig({ SALLYPORT_HOSTS_FILE: files.hosts, SALLYPORT_EXTRA_CA: files.roots });
  const demo = await startDemo(config, await prepareHome(join(folder, 'home')));
  const given = readConfig(demo.environment);
  await demo.close();
  expect(demo.api).toBe(`api.${demo.origin}`);
  expect(await loadExtraRoots(given.extraCa)).toEqual([
    operator.trimEnd(),
    readFileSync(join(folder, 'home', 'demo', 'ca.pem'), 'utf8').trimEnd(),
  ]);
  const hosts = parseHostsFile(readFileSync(given.hostsFile ?? '', 'utf8'));
  for (const name of ['a.test', DEMO_HOST, DEMO_API_HOST]) expect(hosts.has(name), name).toBe(true);
});

it('keeps its secret, which nobody else reads', async () => {
  const file = join(folder, 'api.key');
  const again = await openDemoSecret(file);
  expect(again.value.reveal()).toBe(secret.value.reveal());
  expect([secret.isNew, again.isNew]).toEqual([true, false]);
  expect(statSync(file).mode & 0o077).toBe(0);
});

it('keeps its CA, with a key that nobody else reads', async () => {
  const [certificate, key] = [join(folder, 'ca.pem'), join(folder, 'ca.key')];
  const before = readFileSync(certificate, 'utf8');
  expect((await openDemoAuthority(certificate, key)).certificatePem).toBe(before);
  expect(statSync(key).mode & 0o077).toBe(0);
});

it('takes the next port when one is taken', async () => {
  const authority = await openDemoAuthority(join(folder, 'ca.pem'), join(folder, 'ca.key'));
  const second = await startDemoOrigin(authority, secret, [origin.port, 0]);
  expect(second.port).not.toBe(origin.port);
  await second.close();
  await expect(startDemoOrigin(authority, secret, [origin.port])).rejects.toMatchObject({
    code: 'port_taken',
  });
});

it.skipIf(!isThere('git'))('is a repository that git clones and finds whole', async () => {
  const clone = join(folder, 'clone');
  const url = `https://${DEMO_HOST}:${origin.port}/demo.git`;
  const settings = ['-c', `http.sslCAInfo=${join(folder, 'ca.pem')}`];
  const reach = ['-c', `http.curloptResolve=${DEMO_HOST}:${origin.port}:127.0.0.1`];
  await git(...settings, ...reach, 'clone', '--quiet', url, clone);
  await git('-C', clone, 'fsck', '--strict');
  expect(readFileSync(join(clone, 'README.md'), 'utf8')).toContain('through Sallyport');
  expect((await git('-C', clone, 'log', '--format=%s')).trim()).toBe('Come through the sally port');
});

async function git(...words: readonly string[]): Promise<string> {
  const env = { PATH: process.env['PATH'] ?? '', HOME: folder, GIT_CONFIG_NOSYSTEM: '1' };
  return (await promisify(execFile)('git', words, { env })).stdout;
}

interface Asked {
  /** Of the handshake. */
  readonly host?: string;
  /** Of the request; the same if left out. */
  readonly named?: string;
  readonly authorization?: string;
}

function ask(
  path: string,
  { host = DEMO_HOST, named = host, authorization }: Asked = {},
): Promise<{ status: number | undefined; text: string }> {
  const ca = readFileSync(join(folder, 'ca.pem'));
  const options = {
    host: '127.0.0.1',
    port: origin.port,
    servername: host,
    ca,
    path,
    agent: false as const,
    headers: {
      host: `${named}:${origin.port}`,
      'x-sent': 'by a test',
      ...(authorization !== undefined && { authorization }),
    },
  };
  return new Promise((resolve, reject) => {
    const request = get(options, async (response) => {
      const chunks = await response.toArray();
      resolve({ status: response.statusCode, text: Buffer.concat(chunks).toString() });
    });
    request.once('error', reject);
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

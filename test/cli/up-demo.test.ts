/** The demo's origin and its repository, as real clients see them. */
import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { get } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openDemoAuthority } from '../../cli/up/demo-authority.ts';
import { DEMO_HOST, type DemoOrigin, startDemoOrigin } from '../../cli/up/demo-origin.ts';

let folder: string;
let origin: DemoOrigin;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sallyport-demo-'));
  const authority = await openDemoAuthority(join(folder, 'ca.pem'), join(folder, 'ca.key'));
  origin = await startDemoOrigin(authority, [0]);
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

it('keeps its CA, with a key that nobody else reads', async () => {
  const [certificate, key] = [join(folder, 'ca.pem'), join(folder, 'ca.key')];
  const before = readFileSync(certificate, 'utf8');
  expect((await openDemoAuthority(certificate, key)).certificatePem).toBe(before);
  expect(statSync(key).mode & 0o077).toBe(0);
});

it('takes the next port when one is taken', async () => {
  const authority = await openDemoAuthority(join(folder, 'ca.pem'), join(folder, 'ca.key'));
  const second = await startDemoOrigin(authority, [origin.port, 0]);
  expect(second.port).not.toBe(origin.port);
  await second.close();
  await expect(startDemoOrigin(authority, [origin.port])).rejects.toMatchObject({ code: 'port_taken' });
});

it.skipIf(!isThere('git'))('is a repository that git clones and finds whole', async () => {
  const clone = join(folder, 'clone');
  const url = `https://${DEMO_HOST}:${origin.port}/demo.git`;
  const settings = ['-c', `http.sslCAInfo=${join(folder, 'ca.pem')}`];
  const reach = ['-c', `http.curloptResolve=${DEMO_HOST}:${origin.port}:127.0.0.1`];
  await git(...settings, ...reach, 'clone', '--quiet', url, clone);
  await git('-C', clone, 'fsck', '--strict');
  expect(readFileSync(join(clone, 'README.md'), 'utf8')).toContain('through a tunnel');
  expect((await git('-C', clone, 'log', '--format=%s')).trim()).toBe('Come through the sally port');
});

async function git(...words: readonly string[]): Promise<string> {
  const env = { PATH: process.env['PATH'] ?? '', HOME: folder, GIT_CONFIG_NOSYSTEM: '1' };
  return (await promisify(execFile)('git', words, { env })).stdout;
}

function ask(path: string): Promise<{ status: number | undefined; text: string }> {
  const ca = readFileSync(join(folder, 'ca.pem'));
  const options = {
    host: '127.0.0.1',
    port: origin.port,
    servername: DEMO_HOST,
    ca,
    path,
    headers: { host: `${DEMO_HOST}:${origin.port}`, 'x-sent': 'by a test' },
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

/** The command line as a process: its streams, its exit status and its signals. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startWorld, type World } from '../support/world.ts';
import { settingsOf } from './sallyport.ts';

let world: World;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world?.close());

it('answers on standard output, and complains on standard error', () => {
  const help = run('--help');
  expect(help).toMatchObject({ status: 0, stderr: '' });
  expect(help.stdout).toContain('usage: sallyport COMMAND');
  const wrong = run('frobnicate');
  expect(wrong).toMatchObject({ status: 2, stdout: '' });
  expect(wrong.stderr).toBe('sallyport: there is no command "frobnicate"; see sallyport --help\n');
  expect(run('config').status).toBe(0);
});

it('takes a secret from a pipe', async () => {
  await world.call('PUT', '/v1/vaults/team');
  const words = ['credential', 'put', 'team/piped', '--kind', 'bearer', '--host', 'a.test'];
  const child = spawn(process.execPath, [MAIN, ...words], { env: { ...process.env, ...settingsOf(world) } });
  child.stdin.end('canary-through-a-pipe\n');
  expect(await once(child, 'exit')).toEqual([0, null]);
});

it('bears that nobody reads on', async () => {
  const child = spawn(process.execPath, [MAIN, '--help'], { stdio: ['ignore', 'pipe', 'pipe'] });
  child.stdout.destroy();
  let complaint = '';
  child.stderr.on('data', (chunk) => {
    complaint += String(chunk);
  });
  expect(await once(child, 'exit')).toEqual([0, null]);
  expect(complaint).toBe('');
});

it.each(['SIGINT', 'SIGTERM'] as const)('%s ends a service in order', async (signal) => {
  const env = { ...process.env, ...world.settings };
  const child = spawn(process.execPath, [MAIN, 'core'], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let printed = '';
  child.stdout.on('data', (chunk) => {
    printed += String(chunk);
  });
  await expect.poll(() => printed, { timeout: 15_000 }).toContain('core is ready');
  child.kill(signal);
  expect(await once(child, 'exit')).toEqual([0, null]);
});

function run(...words: readonly string[]) {
  return spawnSync(process.execPath, [MAIN, ...words], { encoding: 'utf8' });
}

const MAIN = fileURLToPath(new URL('../../cli/sallyport.mjs', import.meta.url));

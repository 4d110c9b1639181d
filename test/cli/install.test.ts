import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const CLI = fileURLToPath(new URL('../../cli', import.meta.url));

/** A project with one dependency, and an npm that notes each call, in place of the registry. */
let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'sallyport-install-'));
  cpSync(CLI, join(root, 'cli'), { recursive: true, filter: (file) => !file.endsWith('.ts') });
  writeFileSync(join(root, 'package.json'), JSON.stringify({ devDependencies: { node: '24.0.0' } }));
  writeLock('a');
  writeFileSync(join(root, 'cli', 'main.ts'), 'console.log(JSON.stringify(process.argv.slice(2)));');
  writeNpm('24.0.0', 0);
});

afterEach(() => rmSync(root, { recursive: true }));

describe('npm start', () => {
  it('installs once, and again when the lock file changes', async () => {
    expect(await start()).toMatchObject({ status: 0, output: 'ran' });
    expect(await start()).toMatchObject({ status: 0, errors: '' });
    expect(npmCalls()).toBe(1);
    writeLock('b');
    expect(await start()).toMatchObject({ status: 0 });
    expect(npmCalls()).toBe(2);
  });

  it('leaves alone what the user installed', async () => {
    await start();
    rmSync(join(root, 'node_modules', '.sallyport-lock'));
    expect(await start()).toMatchObject({ status: 0, errors: '' });
    expect(existsSync(join(root, 'node_modules', '.sallyport-lock'))).toBe(true);
    expect(npmCalls()).toBe(1);
  });

  it('installs again what was installed only in part', async () => {
    await start();
    rmSync(join(root, 'node_modules'), { recursive: true });
    expect(await start()).toMatchObject({ status: 0 });
    expect(npmCalls()).toBe(2);
  });

  it('installs once when two start at the same time', async () => {
    expect(await Promise.all([start(), start()])).toMatchObject([{ status: 0 }, { status: 0 }]);
    expect(npmCalls()).toBe(1);
  });

  it('takes the lock of an installation that was killed', async () => {
    const gone = spawn(process.execPath, ['--version']);
    await once(gone, 'exit');
    mkdirSync(join(root, '.sallyport'));
    writeFileSync(join(root, '.sallyport', 'installing'), String(gone.pid));
    expect(await start()).toMatchObject({ status: 0 });
    expect(existsSync(join(root, '.sallyport'))).toBe(false);
  });

  it.each([
    ['npm fails', '24.0.0', 1, /^sallyport: npm ci failed \(code E404, .*\): run `npm ci` here/],
    [
      'the pinned Node is of another version',
      '20.0.0',
      0,
      /^sallyport: .* Node 24\.0\.0, .*v20\.0\.0 .*: run `npm ci`/,
    ],
    [
      'the pinned Node is missing',
      undefined,
      0,
      /^sallyport: Node 24\.0\.0, .*could not be installed.*: run `npm ci`/,
    ],
  ])('says in one line what to do when %s', async (_case, version, status, line) => {
    writeNpm(version, status);
    const { errors, ...rest } = await start();
    expect(rest).toEqual({ status: 1, output: '' });
    expect(errors.split('\n')[1]).toMatch(line);
    expect(errors.split('\n')).toHaveLength(2);
  });
});

describe('sallyport', () => {
  it('says what to do when nothing is installed', async () => {
    expect(await run([join(root, 'cli', 'sallyport.mjs')])).toEqual({
      status: 1,
      output: '',
      errors: 'sallyport: nothing is installed here yet: run `npm start` (or `npm ci`) first',
    });
  });

  it('runs the command line with the arguments as typed', async () => {
    await start();
    expect(await run([join(root, 'cli', 'sallyport.mjs'), 'env', '--json'])).toMatchObject({
      output: '["env","--json"]',
    });
  });

  it('gives services, and no other command, a small nursery, in the process that was started', async () => {
    await start();
    writeFileSync(
      join(root, 'cli', 'main.ts'),
      'console.log(process.pid, process.execArgv.join(), process.argv.slice(2).join());',
    );
    const started = (command: string) => run([join(root, 'cli', 'sallyport.mjs'), command, '--json']);
    expect((await started('egress')).output).toMatch(/^\d+ --max-semi-space-size=\d+ egress,--json$/);
    expect((await started('env')).output).toMatch(/^\d+ {2}env,--json$/);
  });

  it('runs another program of the project', async () => {
    await start();
    writeFileSync(join(root, 'other.ts'), 'console.log(process.argv.slice(2).join()); process.exitCode = 7;');
    const { status, output } = await run([
      join(root, 'cli', 'sallyport.mjs'),
      '--program',
      'other.ts',
      'a',
      '--b',
    ]);
    expect({ status, output }).toEqual({ status: 7, output: 'a,--b' });
  });
});

describe('launch', () => {
  beforeEach(() => {
    writeFileSync(
      join(root, 'child.ts'),
      `for (const s of ['SIGINT', 'SIGTERM', 'disconnect']) process.on(s, () => { console.log(s); process.exit(5); });
       console.log('ready'); setInterval(() => {}, 1000);`,
    );
    writeFileSync(
      join(root, 'start.mjs'),
      `import { endWithNpm } from './cli/end-with-npm.mjs';
       import { launch } from './cli/launch.mjs';
       endWithNpm(launch(process.execPath, ['child.ts']), process.ppid);`,
    );
    const command = `exec '${process.execPath}' start.mjs`;
    writeFileSync(
      join(root, 'npm.cjs'),
      `require('node:child_process').spawn('sh', ['-c', ${JSON.stringify(command)}], { stdio: 'inherit' });`,
    );
  });

  /** Sends the signal when the child is ready. @returns all that the child says, and what became of the program */
  async function signalled(program: string, signal: NodeJS.Signals): Promise<[string[], number | null]> {
    const child = spawn(process.execPath, [program], { cwd: root, stdio: ['ignore', 'pipe', 'ignore'] });
    const lines: string[] = [];
    for await (const line of createInterface({ input: child.stdout })) {
      lines.push(line);
      if (line === 'ready') child.kill(signal);
    }
    return [lines, await exitOf(child)];
  }

  it.each(['SIGINT', 'SIGTERM'] as const)('passes %s on and ends as the child ends', async (signal) => {
    expect(await signalled('start.mjs', signal)).toEqual([['ready', signal], 5]);
  });

  it('tells the child when it was killed', async () => {
    expect(await signalled('start.mjs', 'SIGKILL')).toEqual([['ready', 'disconnect'], null]);
  });

  it('ends the child when npm was killed', async () => {
    expect(await signalled('npm.cjs', 'SIGKILL')).toEqual([['ready', 'SIGTERM'], null]);
  });
});

interface Ended {
  readonly status: number | null;
  readonly output: string;
  readonly errors: string;
}

function start(): Promise<Ended> {
  return run([join(root, 'cli', 'start.mjs')]);
}

async function run(args: readonly string[]): Promise<Ended> {
  const env = { ...process.env, npm_execpath: join(root, 'npm-cli.js') };
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const [output, errors, status] = await Promise.all([text(child.stdout), text(child.stderr), exitOf(child)]);
  return { status, output: output.trim(), errors: errors.trim() };
}

async function exitOf(child: ChildProcess): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  return child.exitCode;
}

function writeLock(integrity: string): void {
  const packages = {
    '': {},
    'node_modules/x': { version: '1.0.0', integrity },
    'node_modules/y': { optional: true },
  };
  writeFileSync(join(root, 'package-lock.json'), JSON.stringify({ packages }));
}

/** @param version what its `node` says; none is installed when `undefined` */
function writeNpm(version: string | undefined, status: number): void {
  writeFileSync(
    join(root, 'npm-cli.js'),
    `const fs = require('node:fs');
     fs.appendFileSync('npm-calls', process.argv[2] + '\\n');
     if (${status}) { console.error('npm error code E404\\nnpm error 404 Not Found'); process.exit(${status}); }
     fs.rmSync('node_modules', { recursive: true, force: true });
     fs.mkdirSync('node_modules/node/bin', { recursive: true });
     const { packages } = JSON.parse(fs.readFileSync('package-lock.json', 'utf8'));
     fs.writeFileSync('node_modules/.package-lock.json', JSON.stringify({ packages: { 'node_modules/x': packages['node_modules/x'] } }));
     if (${version !== undefined}) {
       const node = 'node_modules/node/bin/node';
       fs.writeFileSync(node, '#!/bin/sh\\nif [ "$1" = --version ]; then echo v${version}; else echo ran; fi\\n');
       fs.chmodSync(node, 0o755);
     }`,
  );
}

function npmCalls(): number {
  return readFileSync(join(root, 'npm-calls'), 'utf8').trim().split('\n').length;
}

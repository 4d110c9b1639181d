import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const MAIN = fileURLToPath(new URL('../kit/main.ts', import.meta.url));

/** A folder that holds no kit. */
let dir: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'sallyport-no-kit-'));
});

afterEach(() => rmSync(dir, { recursive: true }));

describe('npm run kit', () => {
  it.each([
    ['hostile-connect', 'hostile/run-connect.mjs'],
    ['hostile-gates', 'hostile/run-gates.mjs'],
    ['clients', 'clients/run.mjs'],
    ['agents', 'node_modules'],
    ['bench-connect', 'bench/connect-bench.mjs'],
    ['bench-model', 'bench/model-bench.mjs'],
  ])('%s exits 3 without its folder and says so in one line', async (name, program) => {
    const errors = `kit: there is no ${program} under ${dir}: name the kits' folder with --dir\n`;
    expect(await kit(name, '--dir', dir, '--', '--rounds', '1')).toEqual({ status: 3, output: '', errors });
  });

  it.each(['', 'hostile', 'bench-model more', 'bench-connect --rounds 1', 'clients --only curl'])(
    'exits 2 with the usage for "%s"',
    async (words) => {
      const { status, errors } = await kit(...words.split(' ').filter((word) => word !== ''));
      expect(status).toBe(2);
      expect(errors).toMatch(
        /^kit: usage: .*hostile-connect\|hostile-gates\|clients\|agents\|bench-connect\|bench-bodies\|bench-model.*\n$/,
      );
    },
  );
});

async function kit(...words: readonly string[]) {
  const child = spawn(process.execPath, [MAIN, ...words], { stdio: ['ignore', 'pipe', 'pipe'] });
  const [[status], output, errors] = await Promise.all([
    once(child, 'close'),
    text(child.stdout),
    text(child.stderr),
  ]);
  return { status, output, errors };
}

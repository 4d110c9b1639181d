import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { isAbandoned, lockFolder } from '../../../core-lite/database/folder-lock.ts';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sallyport-lock-'));
});

afterEach(() => rmSync(folder, { recursive: true }));

it('is held until it is given back', async () => {
  const release = await lockFolder(folder);
  await expect(lockFolder(folder)).rejects.toMatchObject({ code: 'home_in_use' });
  expect(isAbandoned(folder)).toBe(false);
  release();
  expect(readdirSync(folder)).toEqual([]);
  (await lockFolder(folder))();
});

it('is taken over from a process that is gone', async () => {
  const gone = spawn(process.execPath, ['--version']);
  await once(gone, 'exit');
  await expectTakenOver(`lock-${gone.pid}-1`);
});

it('is taken over when another process got the pid of its owner', async () => {
  await expectTakenOver(`lock-${process.pid}-1`);
});

async function expectTakenOver(dead: string): Promise<void> {
  writeFileSync(join(folder, dead), '');
  expect(isAbandoned(folder)).toBe(true);
  const release = await lockFolder(folder);
  expect(readdirSync(folder)).not.toContain(dead);
  release();
}

/** Claude Code as a workload runs it, told of the gates by its environment alone, in a home that is thrown away. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface ClaudeTurn {
  readonly base: string;
  readonly token: string;
  readonly model: string;
  readonly prompt: string;
  /** Words on top of these. */
  readonly more?: readonly string[];
}

/** What a turn of it says, on both its streams, and how it ended. */
export async function runClaudeCode({
  base,
  token,
  model,
  prompt,
  more = [],
}: ClaudeTurn): Promise<{ readonly said: string; readonly status: number | null }> {
  const home = await mkdtemp(join(tmpdir(), 'sallyport-claude-'));
  const env = {
    PATH: process.env['PATH'],
    HOME: home,
    ANTHROPIC_BASE_URL: base,
    ANTHROPIC_AUTH_TOKEN: token,
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  };
  const child = spawn(process.execPath, [CLAUDE, '-p', prompt, '--model', model, ...more], {
    detached: true,
    cwd: home,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const { pid } = child;
  // The wrapper's own child too.
  const limit = setTimeout(() => pid && process.kill(-pid, 'SIGKILL'), 60_000);
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (said += text));
  await once(child, 'close');
  clearTimeout(limit);
  await rm(home, { recursive: true, force: true });
  return { said, status: child.exitCode };
}

/** Starts the program of this platform, whether or not the package's install script ran. */
const CLAUDE = createRequire(import.meta.url).resolve('@anthropic-ai/claude-code/cli-wrapper.cjs');

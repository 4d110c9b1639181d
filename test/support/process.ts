/** Other processes in tests: the product as a child that can be killed, and a server with all of its children. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

export interface Program {
  readonly pid: number;
  /** What it wrote so far to standard output and error. */
  readonly output: () => string;
  /** Resolves to the match once its output has one; rejects when it ends or 20 s have passed without. */
  said(pattern: RegExp): Promise<RegExpExecArray>;
  /** Signals it, and resolves when it has ended. */
  end(signal: NodeJS.Signals): Promise<void>;
}

/** Starts a program of the project on this Node, with `settings` on top of this environment. */
export function startProgram(
  args: readonly string[],
  settings: Readonly<Record<string, string>> = {},
): Program {
  const child = spawn(process.execPath, args, {
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
    env: { ...process.env, ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk;
      child.emit('said');
    });
  }
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    if (hasEnded(child)) return;
    child.kill(signal);
    await once(child, 'exit');
  };
  return {
    pid: child.pid ?? 0,
    output: () => output,
    said: (pattern) => heard(child, () => output, pattern),
    end,
  };
}

/** Signals a process and then all of its children; stopped first, it starts no more of them. */
export function signalWithChildren(pid: number, signal: NodeJS.Signals): void {
  process.kill(pid, signal);
  for (const child of childrenOf(pid)) {
    try {
      process.kill(child, signal);
    } catch (error) {
      // It may have ended by itself since it was listed.
      if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
    }
  }
}

function childrenOf(pid: number): number[] {
  const rows = execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' }).trim().split('\n');
  return rows
    .map((row) => row.trim().split(/\s+/).map(Number))
    .flatMap(([child, parent]) => (parent === pid && child !== undefined ? [child] : []));
}

function heard(child: ChildProcess, output: () => string, pattern: RegExp): Promise<RegExpExecArray> {
  return new Promise((resolve, reject) => {
    const look = (): void => {
      const match = pattern.exec(output());
      if (!match && !hasEnded(child)) return;
      clearTimeout(limit);
      child.removeListener('said', look).removeListener('exit', look);
      if (match) resolve(match);
      else reject(new Error(`it ended without saying ${pattern}: ${output()}`));
    };
    const limit = setTimeout(() => reject(new Error(`it did not say ${pattern}: ${output()}`)), PATIENCE_MS);
    child.on('said', look).on('exit', look);
    look();
  });
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

const PATIENCE_MS = 20_000;

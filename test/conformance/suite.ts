/**
 * The official conformance suite, run as its command line is, on the project's own Node. It runs in a process group of
 * its own, which ends with the call and never lasts longer than the limit.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

export const REVISIONS = ['2025-11-25', '2026-07-28'] as const;
export type Revision = (typeof REVISIONS)[number];

/** What one scenario found. */
export interface Score {
  readonly passed: number;
  readonly failed: number;
  readonly warned: number;
  /** Ids of the checks that did not pass, each once. */
  readonly wrong: readonly string[];
  /** Why, for whoever reads the failure of a test. */
  readonly said: readonly string[];
}

export type Scores = ReadonlyMap<string, Score>;

/** Every server scenario that a revision requires, and those that it only reports. */
export function runServerSuite(url: string, revision: Revision): Promise<Scores> {
  return runSuite(['server', '--url', url, '--requirements', revision], 'server-');
}

export async function runServerScenario(url: string, revision: Revision, scenario: string): Promise<Score> {
  const words = ['server', '--url', url, '--spec-version', revision, '--scenario', scenario];
  return only(await runSuite(words, 'server-'), scenario);
}

/** @param command is started with the URL of a server behind it, and with `variables` */
export async function runClientScenario(
  command: string,
  revision: Revision,
  scenario: string,
  variables: Readonly<Record<string, string>>,
): Promise<Score> {
  const words = ['client', '--command', command, '--spec-version', revision, '--scenario', scenario];
  return only(await runSuite(words, '', variables), scenario);
}

/** The scenarios of a revision, as the suite's own file of requirements has them. */
export function readRequirements(
  revision: Revision,
): Readonly<Record<'server' | 'client', readonly string[]>> {
  const text = readFileSync(join(PACKAGE, 'requirements', `${revision}.yaml`), 'utf8');
  const list = (name: string): string[] => {
    const block = new RegExp(`^${name}:\\n((?:  - .+\\n)+)`, 'm').exec(text)?.[1] ?? '';
    return [...block.matchAll(/^ {2}- (\S+)$/gm)].map(([, scenario]) => scenario as string);
  };
  return { server: list('server'), client: list('client') };
}

async function runSuite(
  words: readonly string[],
  prefix: string,
  variables: Readonly<Record<string, string>> = {},
): Promise<Scores> {
  const folder = await mkdtemp(join(tmpdir(), 'sallyport-conformance-'));
  try {
    const said = await runToEnd([MAIN, ...words, '--timeout', '60000', '--output-dir', folder], variables);
    const scores = await readScores(folder, prefix);
    if (scores.size === 0) throw new Error(`the suite ran nothing: ${said.slice(-2_000)}`);
    return scores;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Its exit status says no more than what it wrote down. */
async function runToEnd(
  words: readonly string[],
  variables: Readonly<Record<string, string>>,
): Promise<string> {
  const child = spawn(process.execPath, words, {
    detached: true,
    env: { PATH: process.env['PATH'], NO_COLOR: '1', ...variables },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (said += text));
  const { pid } = child;
  const end = (): void => {
    try {
      if (pid) process.kill(-pid, 'SIGKILL');
    } catch {
      // The whole group has ended by itself.
    }
  };
  const limit = setTimeout(end, LIMIT_MS);
  await once(child, 'close');
  clearTimeout(limit);
  end();
  return said;
}

async function readScores(folder: string, prefix: string): Promise<Scores> {
  const scores = new Map<string, Score>();
  for (const file of await readdir(folder, { recursive: true })) {
    const scenario = FOLDER.exec(file)?.[1];
    if (scenario === undefined || !scenario.startsWith(prefix)) continue;
    const path = join(folder, file);
    const checks = JSON.parse(await readFile(path, 'utf8')) as readonly Check[];
    // What a client said; the suite keeps nothing of a server.
    const errors = await readFile(join(dirname(path), 'stderr.txt'), 'utf8').catch(() => '');
    scores.set(scenario.slice(prefix.length), score(checks, errors));
  }
  return scores;
}

function score(checks: readonly Check[], errors: string): Score {
  const count = (status: string): number => checks.filter((each) => each.status === status).length;
  const wrong = checks.filter(({ status }) => status === 'FAILURE' || status === 'WARNING');
  return {
    passed: count('SUCCESS'),
    failed: count('FAILURE'),
    warned: count('WARNING'),
    wrong: [...new Set(wrong.map(({ id }) => id))],
    said: wrong.map(({ id, errorMessage = '' }) => `${id}: ${errorMessage} ${errors}`.trim()),
  };
}

function only(scores: Scores, scenario: string): Score {
  const found = scores.get(scenario);
  if (!found) throw new Error(`the suite did not run ${scenario}`);
  return found;
}

interface Check {
  readonly id: string;
  readonly status: string;
  readonly errorMessage?: string;
}

const MAIN = createRequire(import.meta.url).resolve('@modelcontextprotocol/conformance/dist/index.js');
const PACKAGE = join(MAIN, '..', '..');
/** `server-<scenario>-<time>/checks.json`; a client's is without the first word, and may be in a folder. */
const FOLDER = /^(.+)-\d{4}-\d\d-\d\dT[\d-]+Z\/checks\.json$/;
const LIMIT_MS = 180_000;

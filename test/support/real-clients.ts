/**
 * The clients that people use, each with the command that asks for one thing, as it stands in a script: nothing of the
 * proxy, the certificates or the secret is on it. One that this machine lacks is a failure: it would pass by absence.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export interface RealClient {
  readonly name: string;
  /** @param origin its URL */
  readonly command: (origin: string) => readonly string[];
  /** What it prints when it got what it asked for. */
  readonly got: RegExp;
  /** What it prints when the proxy answers 403, and when it answers 407. */
  readonly refused: RegExp;
  readonly unknown: RegExp;
  /** Whose secret it uses. */
  readonly secret: 'api' | 'openai' | 'anthropic';
}

export interface Ended {
  readonly status: number | null;
  /** Standard output and error. */
  readonly said: string;
}

/** Runs commands, each in a folder of its own that is its home. @param parent holds these folders */
export async function runCommand(
  words: readonly string[],
  variables: Readonly<Record<string, string>>,
  parent: string,
): Promise<Ended> {
  const [program = '', ...rest] = words;
  const home = await mkdtemp(join(parent, 'home-'));
  const child = spawn(program, rest, {
    cwd: home,
    env: { ...variables, ...SETTINGS, HOME: home, TMPDIR: home },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: LIMIT_MS,
    killSignal: 'SIGKILL',
  });
  return watch(child, program);
}

function watch(child: ChildProcess, program: string): Promise<Ended> {
  let said = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
  }
  return new Promise((resolve, reject) => {
    child.once('close', (status) => resolve({ status, said }));
    child.once('error', () =>
      reject(new Error(`this machine has no ${program}: install it, or nobody knows that it works`)),
    );
  });
}

const LIMIT_MS = 45_000;
/** What the machine is set up with must neither help nor hinder; nothing may be asked of a person. */
const SETTINGS = {
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_TERMINAL_PROMPT: '0',
  PIP_CONFIG_FILE: '/dev/null',
  PIP_DISABLE_PIP_VERSION_CHECK: '1',
  PIP_NO_INPUT: '1',
  npm_config_update_notifier: 'false',
};

export const programOf = (name: string): string =>
  fileURLToPath(new URL(`../way/programs/${name}`, import.meta.url));

const PAGE = /hello from the origin/;
const WEB_SOCKET = /hello by WebSocket/;
const MODEL = /hello from a model/;
/** As a script has it: the variable holds the sentinel. */
const HEADER = 'authorization: Bearer sallyport-managed';

type Given = Pick<RealClient, 'name' | 'command'> & Partial<RealClient>;

/** Most get a page, and repeat the status that the proxy answered. */
const client = (given: Given): RealClient => ({
  got: PAGE,
  refused: /\b403\b/,
  unknown: /\b407\b/,
  secret: 'api',
  ...given,
});

const node = (name: string, given: Partial<RealClient> = {}): RealClient =>
  client({
    name: `${name} of Node`,
    command: (origin) => [process.execPath, programOf('fetch.ts'), name, `${origin}/page`],
    ...given,
  });

const python = (name: string): RealClient =>
  client({
    name: `${name} of Python`,
    command: (origin) => ['python3', programOf('fetch.py'), name, `${origin}/page`],
  });

export const CLIENTS: readonly RealClient[] = [
  client({ name: 'curl', command: (origin) => ['curl', '-sS', '-H', HEADER, `${origin}/page`] }),
  client({
    name: 'wget',
    command: (origin) => ['wget', '-nv', '-O-', '--tries=1', `--header=${HEADER}`, `${origin}/page`],
    refused: /Forbidden/,
    unknown: /Proxy Authentication Required/,
  }),
  client({
    name: 'git',
    command: (origin) => ['git', 'clone', '--progress', `${origin}/demo.git`],
    got: /Cloning into 'demo'/,
  }),
  client({
    name: 'npm',
    command: (origin) => ['npm', 'pack', 'demo', '--registry', `${origin}/npm/`, '--fetch-retries=0'],
    got: /^demo-1\.0\.0\.tgz$/m,
  }),
  client({
    name: 'pip',
    command: (origin) => [
      'python3',
      '-m',
      'pip',
      'download',
      '--no-deps',
      '--retries=0',
      '-i',
      `${origin}/simple/`,
      'demo',
    ],
    got: /Successfully downloaded demo/,
    // Why, it says with -v only.
    refused: /No matching distribution/,
    unknown: /No matching distribution/,
  }),
  ...['urllib', 'requests'].map(python),
  ...['fetch', 'https', 'undici', 'axios'].map((name) => node(name)),
  node('ws', { got: WEB_SOCKET }),
  // It names no cause.
  node('WebSocket', { got: WEB_SOCKET, refused: /TypeError/, unknown: /TypeError/ }),
  node('gRPC', { got: /hello by gRPC/ }),
  node('openai', { got: MODEL, secret: 'openai' }),
  node('@anthropic-ai/sdk', { got: MODEL, secret: 'anthropic' }),
  client({
    name: 'Java with a password in its program',
    command: (origin) => ['java', programOf('FetchAsUser.java'), `${origin}/page`],
    unknown: /too many authentication attempts/,
  }),
];

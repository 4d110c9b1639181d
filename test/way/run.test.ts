/**
 * `sallyport run` from end to end, with the programs that people run: they use a secret that they never hold, through
 * both gates, and nothing of the run is left behind.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startGate, type TestGate } from '../support/gate.ts';
import { type Asked, type Behaviour, type Provider, startProvider } from '../support/provider.ts';
import { type Finished, makeRunner, type Runner } from '../support/run.ts';

const SECRET = 'canary-secret-5d2f81';
const MODEL_KEY = 'canary-model-key-77aa';
const BOUND = 'api.bound.test';

let folder: string;
let bound: Provider;
let open: Provider;
let gate: TestGate;
let runner: Runner;
let boundUrl: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sallyport-way-run-'));
  bound = await startProvider(BOUND);
  open = await startProvider('tunnel.test');
  await writeFile(join(folder, 'roots.pem'), `${bound.caPem}${open.caPem}`);
  boundUrl = `https://${BOUND}:${bound.port}`;
  gate = await startGate({
    hosts: `127.0.0.1 ${BOUND} tunnel.test`,
    open: `${BOUND}=127.0.0.0/8,tunnel.test=127.0.0.0/8`,
    settings: { SALLYPORT_EXTRA_CA: join(folder, 'roots.pem') },
  });
  const { world } = gate;
  await world.call('PUT', '/v1/vaults/v');
  await put('secret', { kind: 'environment_secret', variable: 'API_KEY', secret: { value: SECRET } });
  await put('region', { kind: 'environment_variable', variable: 'REGION', secret: { value: 'eu' } });
  await put('model', { kind: 'model_key', secret: { value: MODEL_KEY } });
  const model = { baseUrl: boundUrl, dialects: ['openai', 'anthropic'], credential: 'v/model' };
  await world.call('PUT', '/v1/models/team', model);
  const allow = [`${BOUND}:${bound.port}`, `tunnel.test:${open.port}`];
  await gate.put('dev', { allow, credentials: ['v/secret', 'v/region'] });
  runner = await makeRunner(world, gate.egress, await world.gates());
});
beforeEach(() => {
  for (const origin of [bound, open]) {
    origin.asked.length = 0;
    origin.behave = (_asked, response) => response.end('hello from the origin\n');
  }
});
afterEach(async () => {
  expect(await runner.left()).toEqual([]);
  const sessions = await gate.world.call<SessionRow[]>('GET', '/v1/sessions?open=true&agent=cli');
  expect(sessions).toEqual([]);
});
afterAll(async () => {
  await runner?.close();
  await gate?.close();
  await Promise.all([bound?.close(), open?.close()]);
  await rm(folder, { recursive: true, force: true });
});

interface SessionRow {
  readonly id: string;
}

const put = (name: string, body: object) =>
  gate.world.call('PUT', `/v1/vaults/v/credentials/${name}`, { hosts: [`${BOUND}:${bound.port}`], ...body });
const sh = (script: string, more?: NodeJS.ProcessEnv): Promise<Finished> =>
  runner.run(['--env', 'dev', '--', 'sh', '-c', script], more);
const start = (script: string, where = ['--env', 'dev']) =>
  runner.start([...where, '--', 'sh', '-c', script]);
const authorizations = (): (string | undefined)[] => bound.asked.map(({ headers }) => headers.authorization);

describe('a command', () => {
  it('uses a secret that neither its environment nor its process nor its output holds', async () => {
    const script = `env; tr '\\0' '\\n' </proc/self/environ; curl -sS -H "Authorization: Bearer $API_KEY" ${boundUrl}/x`;
    const { status, out, err } = await sh(script, { GH_TOKEN: 'of the shell' });
    expect([status, out.split('\n').at(-2)]).toEqual([0, 'hello from the origin']);
    expect(authorizations()).toEqual([`Bearer ${SECRET}`]);
    expect(out.match(/^API_KEY=.*$/gm)).toEqual(['API_KEY=sallyport-managed', 'API_KEY=sallyport-managed']);
    expect(out).toContain('REGION=eu\n');
    for (const secret of [SECRET, MODEL_KEY, gate.world.adminKey, 'eyJ', 'SALLYPORT_', 'DATABASE_URL']) {
      expect(out + err).not.toContain(secret);
    }
    const hosts = [...out.matchAll(/\w+:\/\/(?:[^@/\s]*@)?([^:/\s]+)/g)].map(([, host]) => host);
    expect(new Set(hosts)).toEqual(new Set(['127.0.0.1']));
    expect(err.match(/isolates nothing/g)).toHaveLength(1);
    expect(gate.world.logged()).not.toContain(SECRET);
  });

  it('reaches a host that is not bound through a tunnel, by its own certificate', async () => {
    const { status, out } = await sh(`curl -sS https://tunnel.test:${open.port}/`);
    expect([status, out]).toEqual([0, 'hello from the origin\n']);
    expect(open.asked[0]?.headers.authorization).toBeUndefined();
  });

  it('is told why a host is denied', async () => {
    const { status, out } = await sh('curl -sS -D - https://denied.test/ || exit 9');
    expect(status).toBe(9);
    expect(out).toMatch(/^HTTP\/1\.1 403 .*\r\nSallyport-Reason: host_denied\r\n/);
  });

  it('calls a model with no key', async () => {
    const body = '{"model":"team","messages":[]}';
    bound.behave = (_asked, response) => response.end('{"choices":[]}');
    const call = (path: string, header: string): string =>
      `curl -sS -H "${header}" -H 'content-type: application/json' -d '${body}' "${path}"`;
    const { status, out } = await sh(
      `${call('$OPENAI_BASE_URL/chat/completions', 'Authorization: Bearer $OPENAI_API_KEY')}
       ${call('$ANTHROPIC_BASE_URL/v1/messages', 'x-api-key: $ANTHROPIC_API_KEY')}`,
    );
    expect([status, out]).toEqual([0, '{"choices":[]}{"choices":[]}']);
    const [first, second] = bound.asked.map(({ headers }) => headers);
    expect([first?.authorization, second?.['x-api-key']]).toEqual([`Bearer ${MODEL_KEY}`, MODEL_KEY]);
  });
});

describe('clients', () => {
  it('fetch of Node', async () => {
    const script = `fetch('${boundUrl}/x').then((a) => a.text()).then((t) => process.stdout.write(t))`;
    const { out, err } = await runner.run(['--env', 'dev', '--', process.execPath, '-e', script]);
    expect([out, err.replace(/^sallyport: .*\n/, '')]).toEqual(['hello from the origin\n', '']);
    expect(authorizations()).toEqual([`Bearer ${SECRET}`]);
  });

  it.skipIf(absent('python3', '-c', ''))('urllib of Python', async () => {
    const script = `import urllib.request; print(urllib.request.urlopen('${boundUrl}/x').read().decode(), end='')`;
    const { out, err } = await runner.run(['--env', 'dev', '--', 'python3', '-c', script]);
    expect([out, err.replace(/^sallyport: .*\n/, '')]).toEqual(['hello from the origin\n', '']);
    expect(authorizations()).toEqual([`Bearer ${SECRET}`]);
  });

  it.skipIf(absent('python3', '-c', 'import requests'))('requests of Python', async () => {
    const script = `import requests; print(requests.get('${boundUrl}/x').text, end='')`;
    const { out } = await runner.run(['--env', 'dev', '--', 'python3', '-c', script]);
    expect(out).toBe('hello from the origin\n');
    expect(authorizations()).toEqual([`Bearer ${SECRET}`]);
  });

  it.skipIf(absent('wget', '--version'))('wget, which reads its own file', async () => {
    const { out, status } = await sh(`wget -qO- ${boundUrl}/x`);
    expect([status, out]).toEqual([0, 'hello from the origin\n']);
  });

  it.skipIf(absent('go', 'version'))(
    'the client of Go',
    async () => {
      const [source, program] = [join(folder, 'main.go'), join(folder, 'main')];
      await writeFile(source, GO_CLIENT);
      execFileSync('go', ['build', '-o', program, source], { stdio: 'pipe' });
      const { out } = await runner.run(['--env', 'dev', '--', program, `${boundUrl}/x`]);
      expect(out).toBe('hello from the origin\n');
      expect(authorizations()).toEqual([`Bearer ${SECRET}`]);
    },
    COMPILER_LIMIT_MS,
  );

  it.skipIf(absent('git', '--version'))('git clones from a bound host and through a tunnel', async () => {
    const repository = await makeRepository();
    bound.behave = serveFolder(repository);
    open.behave = bound.behave;
    const clone = (url: string, name: string): string =>
      `git clone -q ${url}/ "$TMP/${name}" && cat "$TMP/${name}/file"`;
    const { out, status, err } = await sh(
      `${clone(boundUrl, 'a')} && ${clone(`https://tunnel.test:${open.port}`, 'b')}`,
      { TMP: folder },
    );
    expect([out, status, err.replace(/^sallyport: .*\n/, '')]).toEqual(['content\ncontent\n', 0, '']);
    expect(new Set(authorizations())).toEqual(new Set([`Bearer ${SECRET}`]));
  });
});

describe('the end', () => {
  it.each([
    ['its own status', ['sh', '-c', 'exit 7'], 7],
    ['a signal', ['sh', '-c', 'kill -KILL $$'], 137],
    ['no such program', ['/nowhere/to/be-found'], 127],
    ['a file that is no program', ['/dev/null'], 126],
  ])('of %s', async (_name, command, status) => {
    expect((await runner.run(['--env', 'dev', '--', ...command])).status).toBe(status);
  });

  it.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)(
    'by %s, which is the command’s to answer',
    async (name) => {
      const run = start(
        `trap 'echo heard; exit 42' ${name.slice(3)}; echo ready; while :; do sleep 0.05; done`,
      );
      await run.said(/ready/);
      run.signal(name);
      const { status, out } = await run.ended;
      expect([status, out]).toEqual([42, 'ready\nheard\n']);
    },
  );

  it('by a signal before the command ran: nothing runs', async () => {
    const silent = createServer(() => run.signal('SIGTERM'));
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const { port } = silent.address() as AddressInfo;
    const run = runner.start(['--env', 'dev', '--', 'echo', 'ran'], {
      SALLYPORT_CORE_URL: `http://127.0.0.1:${port}`,
    });
    expect(await run.ended).toEqual({ status: 143, out: '', err: '' });
    silent.close();
  });

  it('of a command that keeps at it: a second signal is its own as well', async () => {
    const run = start(
      `n=0; trap 'n=$((n+1)); echo heard $n; [ $n = 2 ] && exit 3' INT; echo ready; while :; do sleep 0.05; done`,
    );
    await run.said(/ready/);
    run.signal('SIGINT');
    await run.said(/heard 1/);
    run.signal('SIGINT');
    expect((await run.ended).status).toBe(3);
  });
});

describe('sessions and turns', () => {
  it('given, the session stays open and the turn ends', async () => {
    const session = await gate.world.call<SessionRow>('POST', '/v1/sessions', {
      agent: 'own',
      environment: 'dev',
    });
    for (let turn = 0; turn < 2; turn += 1) {
      const { status } = await runner.run(['--session', session.id, '--', 'true']);
      expect(status).toBe(0);
    }
    const { endedAt, activeTurn } = await gate.world.call<{ endedAt: unknown; activeTurn: unknown }>(
      'GET',
      `/v1/sessions/${session.id}`,
    );
    expect([endedAt, activeTurn]).toEqual([null, null]);
    const turns = await gate.world.call<{ state: string }[]>('GET', `/v1/sessions/${session.id}/turns`);
    expect(turns.map(({ state }) => state)).toEqual(['ended', 'ended']);
  });

  it('two of one environment live side by side, and neither takes the other’s secret', async () => {
    const wait = `echo $HTTPS_PROXY; while [ ! -e ${folder}/go ]; do sleep 0.05; done; curl -sS ${boundUrl}/`;
    const runs = [start(wait), start(wait)];
    const proxies = await Promise.all(runs.map(async (run) => (await run.said(/^http:.*$/m))[0]));
    const [one, other] = proxies.map((proxy) => new URL(proxy));
    expect([one?.port, one?.password]).not.toEqual([other?.port, other?.password]);
    const mixed = `http://sallyport:${one?.password}@127.0.0.1:${other?.port}`;
    const curl = spawnSync('curl', [
      '-sS',
      '-o',
      '/dev/null',
      '-w',
      '%{http_connect}',
      '-x',
      mixed,
      boundUrl,
    ]);
    expect(String(curl.stdout)).toBe('407');
    await writeFile(join(folder, 'go'), '');
    for (const run of runs) expect(await run.ended).toMatchObject({ status: 0 });
    expect(authorizations()).toEqual([`Bearer ${SECRET}`, `Bearer ${SECRET}`]);
  });

  it('cancelled, what is open closes within a second, and the next call is refused', async () => {
    const arrived = new Promise<void>((resolve) => {
      bound.behave = (_asked, response) => {
        response.write('one\n');
        resolve();
      };
    });
    const session = await gate.world.call<SessionRow>('POST', '/v1/sessions', {
      agent: 'own',
      environment: 'dev',
    });
    const turn = await gate.world.call<{ id: string }>('POST', `/v1/sessions/${session.id}/turns`);
    const ask = `curl -sS -o /dev/null -w '%{http_code} ' "$OPENAI_BASE_URL/models" -H "Authorization: Bearer $OPENAI_API_KEY"`;
    const connect = `curl -sS -o /dev/null -w '%{http_connect}' ${boundUrl}/`;
    const run = start(`curl -sSN ${boundUrl}/; echo closed; ${ask}; ${connect}`, ['--turn', turn.id]);
    await run.said(/one/);
    await arrived;
    const before = performance.now();
    await gate.world.call('POST', `/v1/turns/${turn.id}/cancel`);
    await run.said(/closed/);
    expect(performance.now() - before).toBeLessThan(1_000);
    const { out, err } = await run.ended;
    expect(out).toMatch(/closed\n409 407$/);
    expect(err).not.toContain('left open');
  });
});

describe('a run that cannot start', () => {
  it.each([
    ['no such environment', ['--env', 'nowhere'], {}, /nowhere/],
    ['no gates', ['--env', 'dev'], { SALLYPORT_GATES_LISTEN: '127.0.0.1:1' }, /the gates cannot be reached/],
    ['no egress', ['--env', 'dev'], { SALLYPORT_EGRESS_LISTEN: '127.0.0.1:1' }, /egress cannot be reached/],
    ['no core', ['--env', 'dev'], { SALLYPORT_CORE_URL: 'http://127.0.0.1:1' }, /core/],
    ['another admin key', ['--env', 'dev'], { SALLYPORT_ADMIN_KEY: 'x' }, /admin key/],
  ])('%s: one line, and nothing ran', async (_name, where, settings, line) => {
    const { status, out, err } = await runner.run([...where, '--', 'echo', 'ran'], settings);
    expect([status, out]).toEqual([125, '']);
    expect(err).toMatch(line);
    expect(err.trim().split('\n')).toHaveLength(1);
  });

  it.each([
    ['no command', ['--env', 'dev']],
    ['no --', ['--env', 'dev', 'echo', 'ran']],
    ['no place', ['--', 'echo', 'ran']],
    ['an agent for a session', ['--session', 'ses_1', '--agent', 'a', '--', 'echo', 'ran']],
  ])('%s: typed wrongly', async (_name, words) => {
    const { status, out } = await runner.run(words);
    expect([status, out]).toEqual([2, '']);
  });
});

function absent(program: string, ...args: string[]): boolean {
  return spawnSync(program, args).status !== 0;
}

/** A bare repository with one file, as files that any web server can serve. */
async function makeRepository(): Promise<string> {
  const work = join(folder, 'work');
  const bare = join(folder, 'bare.git');
  const git = (...args: string[]) => execFileSync('git', args, { stdio: 'pipe', env: GIT_ENVIRONMENT });
  git('init', '-q', work);
  await writeFile(join(work, 'file'), 'content\n');
  git('-C', work, 'add', 'file');
  git('-C', work, 'commit', '-q', '-m', 'one');
  git('clone', '-q', '--bare', work, bare);
  git('-C', bare, 'update-server-info');
  return bare;
}

function serveFolder(root: string): Behaviour {
  return (asked: Asked, response) => {
    const file = join(root, new URL(asked.path, 'http://x').pathname);
    readFile(file).then(
      (bytes) => response.end(bytes),
      () => response.writeHead(404).end(),
    );
  };
}

const GIT_ENVIRONMENT = {
  PATH: process.env['PATH'] ?? '',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_AUTHOR_NAME: 'a',
  GIT_AUTHOR_EMAIL: 'a@example.com',
  GIT_COMMITTER_NAME: 'a',
  GIT_COMMITTER_EMAIL: 'a@example.com',
};
const GO_CLIENT = `package main
import ("io"; "net/http"; "os")
func main() {
	answer, err := http.Get(os.Args[1])
	if err != nil { panic(err) }
	io.Copy(os.Stdout, answer.Body)
}
`;
const COMPILER_LIMIT_MS = 120_000;

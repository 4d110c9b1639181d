/**
 * Java in `sallyport run`: its two HTTP clients and Maven, with nothing set by hand, through tunnels and interceptions.
 * Java must be here: a test that is skipped where it is not would pass by absence.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startGate, type TestGate } from '../support/gate.ts';
import { type Provider, startProvider } from '../support/provider.ts';
import { type Finished, makeRunner, type Runner } from '../support/run.ts';

const SECRET = 'canary-secret-of-java-91';
const BOUND = 'api.bound.test';
const TUNNEL = 'tunnel.test';
const JAVA_LIMIT_MS = 120_000;

let folder: string;
let bound: Provider;
let open: Provider;
let gate: TestGate;
let runner: Runner;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sallyport-way-java-'));
  execFileSync('javac', ['-d', folder, join(import.meta.dirname, 'programs', 'Fetch.java')]);
  bound = await startProvider(BOUND);
  open = await startProvider(TUNNEL);
  await writeFile(join(folder, 'roots.pem'), `${bound.caPem}${open.caPem}`);
  gate = await startGate({
    hosts: `127.0.0.1 ${BOUND} ${TUNNEL}`,
    open: `${BOUND}=127.0.0.0/8,${TUNNEL}=127.0.0.0/8`,
    settings: { SALLYPORT_EXTRA_CA: join(folder, 'roots.pem') },
  });
  const { world } = gate;
  await world.call('PUT', '/v1/vaults/v');
  await world.call('PUT', '/v1/vaults/v/credentials/secret', {
    kind: 'environment_secret',
    variable: 'API_KEY',
    hosts: [`${BOUND}:${bound.port}`],
    secret: { value: SECRET },
  });
  const allow = [`${BOUND}:${bound.port}`, `${TUNNEL}:${open.port}`];
  await gate.put('dev', { allow, credentials: ['v/secret'] });
  runner = await makeRunner(world, gate.egress, await world.gates());
}, JAVA_LIMIT_MS);
beforeEach(() => {
  for (const origin of [bound, open]) {
    origin.asked.length = 0;
    origin.behave = (_asked, response) => response.end('hello from the origin\n');
  }
});
afterAll(async () => {
  await runner?.close();
  await gate?.close();
  await Promise.all([bound?.close(), open?.close()]);
  await rm(folder, { recursive: true, force: true });
});

const java = (client: string, url: string, more?: NodeJS.ProcessEnv): Promise<Finished> =>
  runner.run(['--env', 'dev', '--', 'java', '-cp', folder, 'Fetch', client, url], more);
const urlOf = ({ host, port }: Provider): string => `https://${host}:${port}/x`;

describe.each(['HttpURLConnection', 'HttpClient'])('%s of Java', { timeout: JAVA_LIMIT_MS }, (client) => {
  it('uses a secret that it never holds', async () => {
    const { status, out, err } = await java(client, urlOf(bound));
    expect([status, out]).toEqual([0, '200 hello from the origin\n']);
    expect(bound.asked.map(({ headers }) => headers.authorization)).toEqual([`Bearer ${SECRET}`]);
    expect(err).toContain('Picked up JAVA_TOOL_OPTIONS');
    expect(out + err).not.toMatch(/eyJ|canary|@127\.0\.0\.1/);
  });

  it('reaches a host that is not bound by its own certificate, keeping the options that were there', async () => {
    const { out, err } = await java(client, urlOf(open), { JAVA_TOOL_OPTIONS: '-Dkept=yes' });
    expect(out).toBe('200 hello from the origin\n');
    expect(err).toContain('JAVA_TOOL_OPTIONS: -Dkept=yes -D');
    expect(open.asked[0]?.headers.authorization).toBeUndefined();
  });

  it('reaches nothing that nobody allowed, and fails', async () => {
    const { status, err } = await java(client, 'https://denied.test/');
    expect(status).not.toBe(0);
    expect(err).toMatch(/403|tunnel/i);
    const [newest] = await gate.rows();
    expect([newest?.host, newest?.reason]).toEqual(['denied.test', 'host_denied']);
  });
});

describe.skipIf(spawnSync('mvn', ['--version']).status !== 0)('Maven', { timeout: JAVA_LIMIT_MS }, () => {
  it('takes what it needs from a repository that asks for a secret, and through a tunnel', async () => {
    const project = join(folder, 'project');
    await mkdir(project);
    await writeFile(join(project, 'pom.xml'), childPom([urlOf(bound), urlOf(open)]));
    bound.behave = ({ path }, response) => {
      if (path.endsWith('/parent-1.pom')) response.end(pom('parent'));
      else response.writeHead(404).end();
    };
    open.behave = ({ path }, response) => {
      if (path.endsWith('/versions-1.pom')) response.end(pom('versions'));
      else response.writeHead(404).end();
    };
    const words = [
      'mvn',
      '-B',
      '-f',
      join(project, 'pom.xml'),
      `-Dmaven.repo.local=${join(folder, 'm2')}`,
      'validate',
    ];
    const { status, out } = await runner.run(['--env', 'dev', '--', ...words]);
    expect([status, out.match(/BUILD \w+/)?.[0]]).toEqual([0, 'BUILD SUCCESS']);
    expect(open.asked.some(({ path }) => path.endsWith('/versions-1.pom'))).toBe(true);
    expect(new Set(bound.asked.map(({ headers }) => headers.authorization))).toEqual(
      new Set([`Bearer ${SECRET}`]),
    );
  });
});

const pom = (artifact: string): string => `<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>test.sallyport</groupId><artifactId>${artifact}</artifactId><version>1</version>
  <packaging>pom</packaging>
</project>
`;
/** It needs a parent and a list of versions before anything can be built. */
const childPom = (repositories: readonly string[]): string => `<project>
  <modelVersion>4.0.0</modelVersion>
  <parent><groupId>test.sallyport</groupId><artifactId>parent</artifactId><version>1</version><relativePath/></parent>
  <artifactId>child</artifactId>
  <packaging>pom</packaging>
  <repositories>${repositories.map((url, place) => `<repository><id>r${place}</id><url>${url}</url></repository>`).join('')}</repositories>
  <dependencyManagement><dependencies><dependency>
    <groupId>test.sallyport</groupId><artifactId>versions</artifactId><version>1</version>
    <type>pom</type><scope>import</scope>
  </dependency></dependencies></dependencyManagement>
</project>
`;

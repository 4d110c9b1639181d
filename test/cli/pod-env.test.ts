/** `pod env`: what it prints is what `run` gives, it writes what that names, and no token is ever in it. */
import { execFileSync } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { nameFiles } from '../../pod/files.ts';
import { makeVariables } from '../../pod/variables.ts';
import { startWorld, type World } from '../support/world.ts';
import { type Around, sallyport, settingsOf, type Typed } from './sallyport.ts';

type Variables = Record<string, string>;

const REGION = "it's in eu-1";

let world: World;
let folder: string;

beforeAll(async () => {
  world = await startWorld();
  folder = await mkdtemp(join(tmpdir(), 'sallyport-pod-env-'));
  const must = async (line: string, stdin = ''): Promise<void> =>
    expect(await type(line, { stdin })).toMatchObject({ status: 0, err: [] });
  await must('vault put v');
  await must(
    'credential put v/s --kind environment_secret --variable API_KEY --host a.test',
    'canary-of-pod-env-1',
  );
  await must('credential put v/r --kind environment_variable --variable REGION --host a.test', REGION);
  await must('env put dev --allow a.test --credential v/s --credential v/r');
});
afterAll(async () => {
  await world?.close();
  await rm(folder, { recursive: true });
});

function type(line: string, around: Around = {}): Promise<Typed> {
  return sallyport(line.split(' '), { ...around, variables: { ...settingsOf(world), ...around.variables } });
}

describe('pod env', () => {
  it('prints what a run has, and asks nobody', async () => {
    const { status, out, err } = await sallyport('pod env --proxy http://10.1.2.3:3128/ --json'.split(' '));
    expect([status, err]).toEqual([0, []]);
    expect(JSON.parse(out.join('\n'))).toEqual(
      makeVariables(
        {},
        {
          proxyUrl: 'http://10.1.2.3:3128',
          javaProxy: { host: '10.1.2.3', port: 3128 },
          models: null,
          files: nameFiles('/etc/sallyport'),
          sentinels: [],
          plain: {},
        },
      ),
    );
  });

  it('leads models to the gates where it is told of them, as a run does', async () => {
    const line = 'pod env --proxy http://127.0.0.1:3128 --json';
    const models = (variables: Variables) =>
      Object.entries(variables).filter(([name]) => /^(OPENAI|ANTHROPIC|GOOGLE_GEMINI|GEMINI)_/.test(name));
    expect(models((await type(line)).json<Variables>())).toEqual([]);
    const told = (await type(`${line} --gates http://run:s3cret@127.0.0.1:4180/`)).json<Variables>();
    const facts = { proxyUrl: 'http://127.0.0.1:3128', javaProxy: null, files: nameFiles('/etc/sallyport') };
    const key = { models: { url: 'http://127.0.0.1:4180', key: 's3cret' }, sentinels: [], plain: {} };
    expect(models(told)).toEqual(models(makeVariables({}, { ...facts, ...key })));
    expect(told['OPENAI_BASE_URL']).toBe('http://127.0.0.1:4180/v1');
    const bare = (await type(`${line} --gates https://gates.test`)).json<Variables>();
    expect([bare['ANTHROPIC_BASE_URL'], bare['ANTHROPIC_API_KEY']]).toEqual([
      'https://gates.test',
      'sallyport-managed',
    ]);
  });

  it('is the same in every form', async () => {
    const line = 'pod env --proxy http://relay.test:3128';
    const json = (await type(`${line} --json`)).json<Variables>();
    expect(parseEnv((await type(`${line} --dotenv`)).out.join('\n'))).toEqual(json);
    const script = `${(await type(line)).out.join('\n')}\nexec env -0\n`;
    const read = execFileSync('sh', { input: script, env: {} }).toString().split('\0');
    expect(read).toEqual(
      expect.arrayContaining(Object.entries(json).map(([name, value]) => `${name}=${value}`)),
    );
  });

  it('writes the files, which name the place where the workload finds them', async () => {
    const dir = join(folder, 'made', 'here');
    const line = `pod env --proxy http://127.0.0.1:3128 --dir ${dir} --at /etc/trust --json`;
    const variables = (await type(line)).json<Variables>();
    expect(variables['SSL_CERT_FILE']).toBe('/etc/trust/ca-bundle.pem');
    expect((await readdir(dir)).sort()).toEqual(
      ['apt.conf', 'ca-bundle.pem', 'php.d', 'trust.p12', 'wget2rc', 'wgetrc'].sort(),
    );
    expect(await readFile(join(dir, 'wgetrc'), 'utf8')).toBe('ca_certificate = /etc/trust/ca-bundle.pem\n');
    const authority = await fetch(`http://127.0.0.1:${world.core.address.port}/authority.pem`);
    expect(await readFile(join(dir, 'ca-bundle.pem'), 'utf8')).toContain((await authority.text()).trim());
    const here = (await type(`pod env --proxy http://127.0.0.1:3128 --dir ${dir} --json`)).json<Variables>();
    expect(here['SSL_CERT_FILE']).toBe(join(dir, 'ca-bundle.pem'));
  });

  it.each([0o775, 0o757])(
    'names the folder that others may write to, and what takes that away (%o)',
    async (mode) => {
      const open = join(folder, `open-${mode}`);
      await mkdir(open);
      await chmod(open, mode);
      for (const dir of [open, join(open, 'inside')]) {
        const { status, err } = await type(`pod env --proxy http://10.1.2.3:3128/ --dir ${dir}`);
        expect(status).not.toBe(0);
        expect(err.join('\n')).toContain(`its group or others may write to ${open}`);
        expect(err.join('\n')).toContain(`chmod g-w,o-w ${open})`);
      }
    },
  );

  it('adds what an environment declares, and no secret', async () => {
    const { out } = await type('pod env --proxy http://127.0.0.1:3128 --env dev --json');
    const variables = JSON.parse(out.join('\n')) as Variables;
    expect([variables['API_KEY'], variables['REGION']]).toEqual(['sallyport-managed', REGION]);
    expect(out.join('\n')).not.toMatch(/canary|eyJ|sak_/);
    const refused = await type('pod env --proxy http://127.0.0.1:3128 --env dev --dotenv');
    expect([refused.status, refused.out]).toEqual([1, []]);
    expect(refused.err[0]).toMatch(/"REGION" .*use --shell or --json$/);
    expect(refused.err[0]).not.toContain(REGION);
  });

  it('tells Java of no proxy that asks for a password, and never of the password', async () => {
    const java = async (more: string) =>
      (
        await type(`pod env --proxy http://sallyport:t0k@127.0.0.1:3128 --json ${more}`.trim())
      ).json<Variables>();
    const without = await java('');
    expect(without['HTTPS_PROXY']).toBe('http://sallyport:t0k@127.0.0.1:3128');
    expect(without['JAVA_TOOL_OPTIONS']).not.toMatch(/proxyHost|t0k/);
    const other = await java('--java-proxy 127.0.0.1:3129');
    expect(other['JAVA_TOOL_OPTIONS']).toContain('-Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=3129 ');
  });

  it.each([
    ['no proxy', ''],
    ['a proxy without a port', '--proxy http://relay.test'],
    ['a proxy with a path', '--proxy http://relay.test:1/x'],
    ['another scheme', '--proxy socks5://relay.test:1080'],
    ['a port that is none', '--proxy http://relay.test:65536'],
    ['gates with a path', '--proxy http://relay.test:1 --gates http://relay.test:2/v1'],
    ['gates without a scheme', '--proxy http://relay.test:1 --gates relay.test:2'],
    ['gates at a port that is none', '--proxy http://relay.test:1 --gates http://relay.test:65536'],
    ['what a shell would run', '--proxy http://$(id):1'],
    ['a place that is not absolute', '--proxy http://relay.test:1 --at trust'],
    ['two forms', '--proxy http://relay.test:1 --json --shell'],
    ['a Java proxy that is a URL', '--proxy http://relay.test:1 --java-proxy http://relay.test:1'],
  ])('%s is typed wrongly', async (_name, line) => {
    expect(await type(`pod env ${line}`.trim())).toMatchObject({ status: 2, out: [] });
  });

  it.each([
    ['a place that some file cannot hold', '--at /etc/a"b'],
    ['a folder that cannot be made', '--dir /dev/null/x'],
  ])('%s is refused', async (_name, line) => {
    expect(await type(`pod env --proxy http://relay.test:1 ${line}`)).toMatchObject({ status: 1, out: [] });
  });
});

/**
 * Every form of a secret, from the operator's call to the bytes that the origin gets, over the real interception: with
 * rules, with placeholders, with values that are files and variables, and with the record of what was put on.
 */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { Peer } from '../support/client.ts';
import { startGate, type TestGate } from '../support/gate.ts';
import { startTlsOrigin, type TlsOrigin } from '../support/tls-origin.ts';

const HOST = 'api.bound.test';
const SECRET = 'the/real+secret';
const MINUTES_MS = 300_000;
const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi';

let folder: string;
let origin: TlsOrigin;
let gate: TestGate;
let egressCa: string;
let target: string;
/** One for each test, with the credentials that it put. */
let environment = 'e0';
let names: string[] = [];
const open: Peer[] = [];
/** What the origin got. */
const heads: string[] = [];
/** What it says to a head. */
let answer = (_head: string): string => OK;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sallyport-injection-'));
  await mkdir(join(folder, 'secrets'));
  origin = await startTlsOrigin({ name: HOST });
  void serveAll();
  await writeFile(join(folder, 'roots.pem'), origin.caPem);
  vi.stubEnv('A_TOKEN', 'value-of-a-variable');
  gate = await startGate({
    hosts: `127.0.0.1 ${HOST}`,
    open: '*.bound.test=127.0.0.0/8',
    settings: {
      SALLYPORT_EXTRA_CA: join(folder, 'roots.pem'),
      SALLYPORT_SECRET_FOLDER: join(folder, 'secrets'),
      SALLYPORT_SECRET_VARIABLES: 'A_TOKEN',
    },
  });
  target = `${HOST}:${origin.port}`;
  await gate.world.call('PUT', '/v1/vaults/v');
  egressCa = await (await fetch(`http://127.0.0.1:${gate.world.core.address.port}/authority.pem`)).text();
});

beforeEach(() => {
  environment = `e${Number(environment.slice(1)) + 1}`;
  names = [];
  heads.length = 0;
  answer = () => OK;
});
afterEach(() => {
  for (const peer of open.splice(0)) peer.close();
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await gate?.close();
  await origin?.close();
  await rm(folder, { recursive: true, force: true });
});

/** Puts a credential for the target, and binds the environment of the test to it. @returns its name */
async function bind(body: object): Promise<string> {
  const name = `${environment}-${names.length}`;
  await gate.world.call('PUT', `/v1/vaults/v/credentials/${name}`, {
    kind: 'environment_secret',
    variable: 'KEY',
    hosts: [target],
    ...('valueFrom' in body ? {} : { secret: { value: SECRET } }),
    ...body,
  });
  names.push(`v/${name}`);
  await gate.put(environment, { allow: [target], credentials: names });
  return `v/${name}`;
}

async function enter(): Promise<Peer> {
  const outer = await gate.connect(target, await gate.world.token(environment));
  open.push(outer);
  const answer = await outer.answer();
  if (answer.status !== 200) throw new Error(answer.text);
  const socket = outer.detach();
  const secured = await new Promise<TLSSocket>((resolve, reject) => {
    const made = connect({ socket, servername: HOST, ca: [egressCa] }, () => resolve(made));
    made.once('error', reject);
  });
  const peer = new Peer(secured);
  open.push(peer);
  return peer;
}

interface Answered {
  readonly status: number;
  readonly reason: string | undefined;
}

/** One request over a client connection of its own. */
async function ask(line: string, headers = ''): Promise<Answered> {
  return askOver(await enter(), line, headers);
}

async function askOver(client: Peer, line: string, headers = ''): Promise<Answered> {
  client.send(`${line} HTTP/1.1\r\nHost: ${target}\r\n${headers}\r\n`);
  const { status, headers: answered } = await client.answer();
  return { status, reason: answered.get('sallyport-reason') };
}

/** Answers whatever comes, and keeps its head. */
async function serve(peer: Peer): Promise<void> {
  for (;;) {
    const { text } = await peer.answer(MINUTES_MS);
    heads.push(text);
    peer.send(answer(text));
  }
}

async function serveAll(): Promise<void> {
  for (;;) void serve(await origin.next()).catch(() => {});
}

async function exchanges(): Promise<{ reason: string; credentials: string[]; path: string }[]> {
  const [row] = await gate.rows(`&environment=${environment}`);
  return gate.world.call('GET', `/v1/exchanges?connection=${row?.id}`);
}

describe('a secret goes out', () => {
  it.each<[string, object, string, string, string, string]>([
    [
      'as Basic',
      { kind: 'basic', user: 'git' },
      'GET /p',
      'authorization: x\r\n',
      'GET /p',
      `Basic ${btoa(`git:${SECRET}`)}`,
    ],
    [
      'as a parameter',
      { kind: 'query', name: 'key' },
      'GET /p?a=%20&k%65y=x',
      '',
      'GET /p?a=%20&key=the%2Freal%2Bsecret',
      '',
    ],
    [
      'for its placeholder in Basic',
      { kind: 'replace', headers: ['authorization'] },
      'GET /p',
      `Authorization: Basic ${btoa('x:sallyport-managed')}\r\n`,
      'GET /p',
      `Authorization: Basic ${btoa(`x:${SECRET}`)}`,
    ],
    [
      'for a placeholder of its own',
      { kind: 'replace', placeholder: 'ghp_000000', query: ['key'], headers: ['x-key'] },
      'GET /p?key=ghp%5f000000',
      'X-Key: ghp_000000\r\n',
      'GET /p?key=the%2Freal%2Bsecret',
      `X-Key: ${SECRET}`,
    ],
  ])('%s', async (_, placement, line, headers, sent, part) => {
    const id = await bind({ placement });
    expect(await ask(line, headers)).toEqual({ status: 200, reason: undefined });
    expect(heads).toEqual([expect.stringContaining(part)]);
    expect(heads[0]).toContain(`${sent} HTTP/1.1\r\n`);
    await expect
      .poll(exchanges)
      .toMatchObject([{ reason: 'injected', credentials: [`${id}@1`], path: '/p' }]);
  });
});

describe('a request with a placeholder form', () => {
  it('and a key of its own is refused, and nothing is sent', async () => {
    await bind({ placement: { kind: 'replace', headers: ['authorization'] } });
    const answer = await ask('GET /p', 'Authorization: Bearer my-own\r\n');
    expect([answer, heads]).toEqual([{ status: 502, reason: 'injection_failed' }, []]);
  });

  it('and nothing in its place goes on, and the record says so', async () => {
    await bind({ placement: { kind: 'replace', headers: ['authorization'] } });
    expect((await ask('GET /p')).status).toBe(200);
    expect(heads).toEqual([`GET /p HTTP/1.1\r\nHost: ${target}\r\n\r\n`]);
    await expect.poll(exchanges).toMatchObject([{ reason: 'placeholder_absent', credentials: [] }]);
  });
});

it('git, which asks without credentials first, gets the secret inside its Basic value', async () => {
  await bind({ placement: { kind: 'replace', headers: ['authorization'] } });
  const service = '001e# service=git-upload-pack\n0000';
  const refs = `003e${'a'.repeat(40)} refs/heads/main\0\n0000`;
  answer = (head) => {
    if (!/^authorization:/im.test(head))
      return 'HTTP/1.1 401 Who\r\nWWW-Authenticate: Basic realm="x"\r\nContent-Length: 0\r\n\r\n';
    const body = service + refs;
    return `HTTP/1.1 200 OK\r\nContent-Type: application/x-git-upload-pack-advertisement\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  };
  await writeFile(join(folder, 'egress.pem'), egressCa);
  const { stdout } = await promisify(execFile)(
    'git',
    ['-c', 'protocol.version=0', 'ls-remote', `https://u:sallyport-managed@${target}/r.git`],
    {
      env: {
        PATH: process.env['PATH'],
        HOME: folder,
        GIT_CONFIG_NOSYSTEM: '1',
        GIT_TERMINAL_PROMPT: '0',
        GIT_SSL_CAINFO: join(folder, 'egress.pem'),
        https_proxy: `http://x:${await gate.world.token(environment)}@127.0.0.1:${gate.egress.address.port}`,
      },
    },
  );
  expect(stdout).toBe(`${'a'.repeat(40)}\trefs/heads/main\n`);
  expect(heads).toHaveLength(2);
  expect(heads[1]).toContain(`Basic ${btoa(`u:${SECRET}`)}\r\n`);
  await expect
    .poll(exchanges)
    .toMatchObject([{ reason: 'injected' }, { reason: 'placeholder_absent', status: 401 }]);
});

describe('rules', () => {
  it('choose between secrets by path, request by request', async () => {
    const base = await bind({ rules: { paths: ['/'] }, secret: { value: 'secret-of-all' } });
    const deep = await bind({ rules: { paths: ['/v1/'] }, secret: { value: 'secret-of-v1' } });
    const before = origin.peers.length;
    await ask('GET /v1/x');
    expect(heads.at(-1)).toContain('Bearer secret-of-v1\r\n');
    // The connection that was made at the CONNECT, before the path was known, serves.
    expect(origin.peers.length).toBe(before + 1);
    await expect.poll(exchanges).toMatchObject([{ credentials: [`${deep}@1`] }]);
    await ask('GET /v2/x');
    expect(heads.at(-1)).toContain('Bearer secret-of-all\r\n');
    await expect.poll(exchanges).toMatchObject([{ credentials: [`${base}@1`] }]);
  });

  it.each([
    ['GET /v2/x', '', 403, 'rule_denied'],
    ['POST /v1/x', 'Content-Length: 0\r\n', 403, 'rule_denied'],
    ['GET /v1/../v2/x', '', 400, 'request_ambiguous'],
    ['GET /v1/%2e%2e/v2/x', '', 400, 'request_ambiguous'],
    ['GET /v1/x?_method=PUT', '', 400, 'request_ambiguous'],
    ['GET /v1/x', 'X_HTTP_Method_Override: PUT\r\n', 400, 'request_ambiguous'],
  ])('refuse what they do not cover: %s %s', async (line, headers, status, reason) => {
    await bind({ rules: { paths: ['/v1/'], methods: ['GET'] } });
    expect([await ask(line, headers), heads]).toEqual([{ status, reason }, []]);
    await expect.poll(exchanges).toMatchObject([{ reason, credentials: [] }]);
  });
});

describe('a value from elsewhere', () => {
  it('is a variable of egress', async () => {
    const id = await bind({ valueFrom: 'env:A_TOKEN' });
    await ask('GET /');
    expect(heads.at(-1)).toContain('Bearer value-of-a-variable\r\n');
    await expect
      .poll(exchanges)
      .toMatchObject([{ credentials: [expect.stringMatching(`^${id}@1\\.[0-9a-f]{16}$`)] }]);
  });

  it('is a file, and a changed one counts for the next requests over the same connection', async () => {
    const file = join(folder, 'secrets', 'token');
    await writeFile(file, 'first-of-the-file\n');
    await bind({ valueFrom: 'file:token' });
    const client = await enter();
    await askOver(client, 'GET /');
    expect(heads.at(-1)).toContain('Bearer first-of-the-file\r\n');
    await writeFile(file, 'second-of-the-file\n');
    const last = () => askOver(client, 'GET /').then(() => heads.at(-1));
    await expect.poll(last, { timeout: 5_000 }).toContain('Bearer second-of-the-file\r\n');
    await unlink(file);
    const reason = async () => (await askOver(client, 'GET /')).reason;
    await expect.poll(reason, { timeout: 5_000 }).toBe('injection_failed');
  });

  it.each([
    ['env:HOME', 'VALUE_NOT_OPENED'],
    ['file:not-there', 'VALUE_MISSING'],
  ])('%s is refused at the CONNECT', async (valueFrom, code) => {
    await bind({ valueFrom });
    const outer = await gate.connect(target, await gate.world.token(environment));
    open.push(outer);
    const answer = await outer.answer();
    expect([answer.status, answer.headers.get('sallyport-reason')]).toEqual([502, 'injection_failed']);
    expect(answer.text).toContain(code);
  });
});

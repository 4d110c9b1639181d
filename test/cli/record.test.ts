/** The record, tokens and explanations by command, against a real core, a real egress and an origin on loopback. */
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeAuthority } from '../../certs/authority.ts';
import type { ConnectionAnswer } from '../../cli/connection-row.ts';
import { formatAddress } from '../../core-lite/service.ts';
import { connectHead, connectTo } from '../support/client.ts';
import { startGate, type TestGate } from '../support/gate.ts';
import { echo, freePort, type Origin, startOrigin } from '../support/origin.ts';
import { startHttpParent, type TestParent } from '../support/parent.ts';
import { type Around, sallyport, settingsOf, type Typed } from './sallyport.ts';

let gate: TestGate;
let origin: Origin;
let target: string;
/** What egress judges names and addresses by, for commands that do so too. */
let network: Record<string, string>;

function type(line: string, around: Around = {}): Promise<Typed> {
  const variables = { ...settingsOf(gate.world, gate.egress), ...network, ...around.variables };
  return sallyport(line.split(' '), { ...around, variables });
}

/** Opens a tunnel with a token that the command printed, and closes it: one row of the record. */
async function visit(environment: string, where = target): Promise<number> {
  const token = (await type(`token egress --env ${environment}`)).out[0];
  const client = await gate.connect(where, token ?? '');
  const { status } = await client.answer();
  if (status === 200) await client.send('ping').text(4);
  client.close();
  return status;
}

beforeAll(async () => {
  origin = await startOrigin({ behave: echo });
  target = `open.test:${origin.port}`;
  gate = await startGate({
    hosts: '127.0.0.1 open.test closed.test half.test\n93.184.215.14 half.test public.test\n',
    open: 'open.test=127.0.0.0/8',
  });
  const { config, settings } = gate.world;
  network = {
    SALLYPORT_HOSTS_FILE: config.hostsFile ?? '',
    SALLYPORT_DNS_SERVERS: gate.dns.address,
    SALLYPORT_OPEN_NETWORKS: settings['SALLYPORT_OPEN_NETWORKS'] ?? '',
  };
  await type(`env put one --allow ${target} --allow *.test`);
  await type('env put loose --mode report');
});
afterAll(async () => {
  await gate?.close();
  await origin?.close();
});

describe('token egress', () => {
  it('prints the token alone, and says on standard error that it is for debugging', async () => {
    const { status, out, err } = await type('token egress --env one');
    expect(status).toBe(0);
    expect(out).toHaveLength(1);
    expect(out[0]).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+$/);
    expect(err).toHaveLength(1);
    expect(err[0]).toContain('for debugging');
  });

  it('prints a proxy URL that works as it is', async () => {
    const [url = ''] = (await type('token egress --env one --proxy-url')).out;
    const { hostname, port, password, username } = new URL(url);
    expect({ hostname, username }).toEqual({ hostname: '127.0.0.1', username: 'sallyport' });
    const client = await connectTo(Number(port));
    expect((await client.send(connectHead(target, password)).answer()).status).toBe(200);
    client.close();
  });

  it('names an address that can be reached where egress listens on all', async () => {
    const variables = { SALLYPORT_EGRESS_LISTEN: '0.0.0.0:4200' };
    expect((await type('token egress --env one --proxy-url', { variables })).out[0]).toMatch(
      /@127\.0\.0\.1:4200$/,
    );
  });
});

describe('connections', () => {
  it('shows what happened, newest last, with filters', async () => {
    expect(await visit('one')).toBe(200);
    expect(await visit('one', 'denied.example:443')).toBe(403);
    expect(await visit('loose', 'public.test:22')).toBe(403);
    const ended = async () =>
      (await type('connections --json')).json<ConnectionAnswer[]>().filter(({ end }) => end !== null).length;
    await expect.poll(ended, POLL).toBe(2);

    const all = (await type('connections --json')).json<ConnectionAnswer[]>();
    expect(all.map(({ reason }) => reason)).toEqual([
      'allowlisted',
      'allowlisted',
      'host_denied',
      'port_denied',
    ]);
    const shown = async (filter: string) =>
      (await type(`connections --json ${filter}`)).json<ConnectionAnswer[]>().map(({ host }) => host);
    expect(await shown('--env loose')).toEqual(['public.test']);
    expect(await shown('--host denied.example')).toEqual(['denied.example']);
    expect(await shown('--host *.test')).toEqual(['open.test', 'open.test', 'public.test']);
    expect(await shown('--verdict denied --env one')).toEqual(['denied.example']);
    expect(await shown('--limit 1')).toEqual(['public.test']);
    expect(await shown('--since 1h')).toHaveLength(4);
    expect(await shown('--since 2199-01-01')).toEqual([]);

    const [head, first = '', , denied = ''] = (await type('connections')).out;
    expect(head).toMatch(/^TIME +ENVIRONMENT +TARGET +VERDICT +REASON/);
    expect(first).toMatch(
      new RegExp(`^\\S+Z +one +${target} +allowed +allowlisted +127.0.0.1 +\\d+ +\\d+ +\\S+ +client_closed$`),
    );
    expect(denied).toMatch(/one +denied\.example:443 +denied +host_denied +- +- +- +- +-$/);
  });

  it('shows counted refusals', async () => {
    const client = await connectTo(gate.egress.address.port);
    await client.send(connectHead(target)).answer();
    client.close();
    const counted = async () => (await type('connections --refusals --json')).json<{ reason: string }[]>();
    await expect
      .poll(counted, POLL)
      .toMatchObject([{ reason: 'token_missing', count: 1, environmentId: null }]);
    const { out } = await type('connections --refusals --since 1h');
    expect(out[0]).toMatch(/^MINUTE/);
    expect(out[1]).toMatch(/token_missing +1$/);
  });

  it('--follow shows what is new, then how it ended, until it is interrupted', async () => {
    const stop = new AbortController();
    const lines: string[] = [];
    const following = type('connections --follow --limit 1', {
      signal: stop.signal,
      seen: (line) => lines.push(line),
    });
    await expect.poll(() => lines.length, POLL).toBe(1);
    const token = await gate.world.token('one');
    const client = await gate.connect(target, token);
    expect((await client.answer()).status).toBe(200);
    await expect.poll(() => lines.length, POLL).toBe(2);
    expect(lines[1]).toMatch(/open$/);
    client.close();
    await expect.poll(() => lines.length, POLL).toBe(3);
    expect(lines[2]).toMatch(/client_closed$/);
    stop.abort();
    expect(await following).toMatchObject({ status: 0, err: [] });
  });

  it('--follow with --since shows nothing that is older', async () => {
    const stop = new AbortController();
    const lines: string[] = [];
    const since = new Date(Date.now() + 1).toISOString();
    const following = type(`connections --follow --since ${since}`, {
      signal: stop.signal,
      seen: (line) => lines.push(line),
    });
    expect(await visit('loose', 'public.test:22')).toBe(403);
    await expect.poll(() => lines.length, POLL).toBe(1);
    stop.abort();
    await following;
    expect(lines[0]).toContain('public.test:22');
  });

  it('--follow --json has one object a line, and nothing twice', async () => {
    const stop = new AbortController();
    const lines: string[] = [];
    const following = type('connections --follow --json --env loose', {
      signal: stop.signal,
      seen: (line) => lines.push(line),
    });
    await expect.poll(() => lines.length, POLL).toBe(2);
    for (let visits = 1; visits <= 3; visits += 1) {
      expect(await visit('loose', 'public.test:22')).toBe(403);
      await expect.poll(() => lines.length, POLL).toBe(2 + visits);
    }
    stop.abort();
    await following;
    const ids = lines.map((line) => JSON.parse(line).id);
    expect(new Set(ids).size).toBe(5);
  });
});

describe('explain', () => {
  interface Explained {
    readonly verdict: string;
    readonly reason: string;
    readonly rules: readonly { readonly rule: string; readonly outcome: string }[];
    readonly addresses: readonly object[];
  }

  it.each([
    { what: 'public.test', verdict: 'allowed', reason: 'allowlisted', last: 'listed' },
    { what: 'other.example', verdict: 'denied', reason: 'host_denied', last: 'host' },
    { what: 'public.test:25', verdict: 'denied', reason: 'port_denied', last: 'port' },
    { what: '127.0.0.1', verdict: 'denied', reason: 'ip_literal', last: 'literal' },
    { what: '[::1]', verdict: 'denied', reason: 'ip_literal', last: 'literal' },
    { what: 'https://a.test/', verdict: 'denied', reason: 'target_malformed', last: undefined },
    { what: 'closed.test', verdict: 'denied', reason: 'address_refused', last: 'listed' },
    { what: 'nowhere.test', verdict: 'denied', reason: 'resolve_failed', last: 'listed' },
    { what: 'public.test', env: 'loose', verdict: 'reported', reason: 'reported', last: 'report' },
  ])('$what from $env: $reason', async ({ what, env = 'one', verdict, reason, last }) => {
    const { status, err, json } = await type(`explain --env ${env} ${what} --json`);
    expect(err).toEqual([]);
    const explained = json<Explained>();
    expect(explained).toMatchObject({ verdict, reason });
    expect(explained.rules.at(-1)?.rule).toBe(last);
    expect(status).toBe(verdict === 'denied' ? 1 : 0);
    const text = await type(`explain --env ${env} ${what}`);
    expect(text.status).toBe(status);
    expect(text.out.at(-1)).toMatch(new RegExp(`^${verdict}: ${reason}: `));
  });

  it('says of each address whether it would be dialled', async () => {
    expect((await type('explain --env one half.test --json')).json<Explained>().addresses).toEqual([
      { address: '127.0.0.1', class: 'loopback', dialled: false },
      { address: '93.184.215.14', class: 'public', dialled: true },
    ]);
    const opened = (await type(`explain --env one ${target}`)).out;
    expect(opened.some((line) => /127\.0\.0\.1 +loopback +dialled, opened for it$/.test(line))).toBe(true);
  });

  it('sees the secrets of the environment', async () => {
    await type('vault put team');
    await type('credential put team/key --kind environment_secret --variable K --host public.test', {
      stdin: 'canary-canary',
    });
    await type('env put bound --allow public.test --credential team/key');
    const { json } = await type('explain --env bound public.test --json');
    expect(json<Explained>()).toMatchObject({
      rules: expect.arrayContaining([
        { rule: 'bound', outcome: 'passed', saw: expect.stringContaining('its TLS is terminated') },
      ]),
      secrets: [{ credential: 'team/key', use: ['put on as header authorization: Bearer {}'] }],
    });
    expect((await type('explain --env bound public.test')).out).toContainEqual(
      expect.stringMatching(/^ {2}team\/key +put on as header authorization/),
    );
    const elsewhere = (await type('explain --env bound public.test:80 --json')).json<object>();
    expect(elsewhere).toMatchObject({ secrets: [] });
  });

  it('looks up no name that it denies, nor any with --no-resolve', async () => {
    const before = gate.dns.lookups.length;
    await type('explain --env one secret-name.example');
    const { status, json } = await type('explain --env one nowhere.test --no-resolve --json');
    expect(status).toBe(0);
    expect(json<Explained>().addresses).toEqual([]);
    expect(gate.dns.lookups.length).toBe(before);
  });

  it('of an environment that is not there is a failure', async () => {
    const { status, out, err } = await type('explain --env none a.test');
    expect({ status, out }).toEqual({ status: 1, out: [] });
    expect(err[0]).toContain('no environment none');
  });
});

describe('doctor', () => {
  interface Finding {
    readonly check: string;
    readonly state: string;
    readonly detail: string;
  }

  let folder: string;
  let parent: TestParent;
  let more: Record<string, string>;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sallyport-doctor-'));
    const roots = join(folder, 'roots.pem');
    await writeFile(roots, makeAuthority({ name: 'of the operator', now: new Date() }).certificatePem);
    const gates = await gate.world.gates();
    parent = await startHttpParent();
    more = {
      SALLYPORT_GATES_LISTEN: formatAddress(gates.address),
      SALLYPORT_EXTRA_CA: roots,
      SALLYPORT_PARENT_PROXY: `http://127.0.0.1:${parent.port}`,
      SALLYPORT_SECRET_FOLDER: folder,
    };
  });
  afterAll(async () => {
    await parent?.close();
    await rm(folder, { recursive: true });
  });
  const examine = async (variables: Record<string, string> = {}) => {
    const { status, json } = await type('doctor --json', { variables: { ...more, ...variables } });
    return { status, findings: json<Finding[]>() };
  };

  it('finds everything well', async () => {
    const { status, findings } = await examine();
    expect(findings.filter(({ state }) => state !== 'ok')).toEqual([]);
    expect(status).toBe(0);
    const { out } = await type('doctor', { variables: more });
    expect(out.map((line) => line.split(/\s+/)[0])).toEqual(out.map(() => 'ok'));
  });

  it.each([
    { check: 'core', variables: { SALLYPORT_CORE_URL: 'http://127.0.0.1:1' } },
    { check: 'core', variables: { SALLYPORT_ADMIN_KEY: `sak_${'x'.repeat(43)}` } },
    { check: 'gates', variables: { SALLYPORT_GATES_LISTEN: '127.0.0.1:1' } },
    { check: 'extra roots', variables: { SALLYPORT_EXTRA_CA: '/nonexistent/roots.pem' } },
    { check: 'parent proxy', variables: { SALLYPORT_PARENT_PROXY: 'socks5://127.0.0.1:1' } },
    { check: 'secret sources', variables: { SALLYPORT_SECRET_FOLDER: '/nonexistent/secrets' } },
    { check: 'hosts file', variables: { SALLYPORT_HOSTS_FILE: '/nonexistent/hosts' } },
    { check: 'keys', variables: { SALLYPORT_MASTER_KEY: Buffer.alloc(32, 8).toString('base64') } },
    { check: 'database', variables: { DATABASE_URL: 'postgres://a:b@127.0.0.1:1/c' } },
    { check: 'settings', variables: { SALLYPORT_DRAIN: 'soon' } },
  ])('names what is wrong with $check, and nothing else', async ({ check, variables }) => {
    const { status, findings } = await examine(variables);
    const wrong = findings.filter(({ state }) => state === 'wrong');
    expect(status).toBe(1);
    expect(wrong.map((finding) => finding.check)).toEqual([check]);
    expect(wrong[0]?.detail).toMatch(/^[^\n]+; [^\n]+$/);
  });

  it.each([
    { check: 'egress', setting: 'SALLYPORT_EGRESS_LISTEN', other: 'does not ask for a token' },
    { check: 'gates', setting: 'SALLYPORT_GATES_LISTEN', other: 'does not ask for a run token' },
  ])('tells $check that is not there from another program', async ({ check, setting, other }) => {
    const closed = await freePort();
    const detail = async (port: number) => {
      const { findings } = await examine({ [setting]: `127.0.0.1:${port}` });
      return findings.find((finding) => finding.check === check)?.detail;
    };
    expect(await detail(closed)).toContain('nothing answers');
    expect(await detail(gate.world.core.address.port)).toContain(other);
  });

  it('tells services whose database is away from ones that are not there', async () => {
    const server = createServer((socket) => {
      socket.on('error', () => {});
      socket.once('data', () => socket.end('HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n'));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { findings } = await examine({
      SALLYPORT_EGRESS_LISTEN: address,
      SALLYPORT_CORE_URL: `http://${address}`,
    });
    const details = findings.filter(({ check }) => ['egress', 'egress CA'].includes(check));
    expect(details.map(({ detail }) => detail)).toEqual([
      expect.stringContaining('answers 503; look at its log'),
      expect.stringContaining('cannot tell who may pass; look at the database'),
    ]);
    server.close();
  });

  it('does not wait for ever for servers that are silent', async () => {
    const variables = { SALLYPORT_DNS_SERVERS: `127.0.0.1:${await freePort()}` };
    const { findings } = await examine(variables);
    expect(findings.find(({ check }) => check === 'dns')?.state).toBe('wrong');
  });
});

const POLL = { timeout: 10_000 };

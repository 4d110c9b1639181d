/**
 * Promise 1 where secrets are used: egress puts them on, the gates call with them, a run holds its tokens. Whatever
 * succeeds, fails or breaks off there, no secret and no token comes back to the caller, stays in a log, a metric or the
 * database, or stands anywhere in what the workload of `sallyport run` sees of itself and of the run's processes.
 *
 * An origin that got the secret and says it again is no part of this where egress passes the answer on: it does not mask
 * before step 3. The gates do, so their providers say the key in every way that is plain.
 */
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { connect } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectHead, connectTo, Peer } from '../support/client.ts';
import { type Provider, startProvider } from '../support/provider.ts';
import { makeRunner, type Runner } from '../support/run.ts';
import { startTlsOrigin, type TlsOrigin } from '../support/tls-origin.ts';
import { ANSWERS, answerCall, keyOf } from './canary-provider.ts';
import { CanaryStand } from './canary-stand.ts';
import { LOOK, startTap, workload } from './canary-workload.ts';
import { LeakFinder } from './leak-finder.ts';

let bound: Provider;
let provider: Provider;
let expired: TlsOrigin;
let broken: TlsOrigin;
let stand: CanaryStand;
let runner: Runner;
let egressCa: string;
let lease: Lease;

beforeAll(async () => {
  [bound, provider] = [await startProvider('api.run.test'), await startProvider('provider.test')];
  const issuedAt = new Date(Date.now() - 40 * 86_400_000);
  expired = await startTlsOrigin({ name: 'expired.test', issuedAt });
  broken = await startTlsOrigin({ name: 'broken.test' });
  stand = await CanaryStand.start([
    { name: bound.host, caPem: bound.caPem },
    { name: provider.host, caPem: provider.caPem },
    { name: 'expired.test', caPem: expired.caPem },
    { name: 'broken.test', caPem: broken.caPem },
  ]);
  bound.behave = (_asked, response) => response.end('fine\n');
  provider.behave = answerCall;
  void breakAll();
  runner = await makeRunner(stand.world, stand.egress, stand.gates);
  egressCa = (await stand.call('GET', '/authority.pem')).text;
}, 60_000);
afterAll(async () => {
  await runner?.close();
  await stand?.close();
  await Promise.all([bound, provider, expired, broken].map((origin) => origin?.close()));
}, 60_000);

describe('a secret that is used', { timeout: 60_000 }, () => {
  it('is bound, to hosts of every outcome', async () => {
    const hosts = [at(bound), ...tlsTargets()];
    const secret = { kind: 'environment_secret', variable: 'TOKEN', hosts };
    await put('secret', { ...secret, secret: { value: stand.plant('environment secret') } });
    await put('second', { ...secret, variable: 'OTHER', secret: { value: stand.plant('second secret') } });
    await put('model', modelKey('model key'));
    await put('tool', { ...modelKey('tool credential'), kind: 'bearer' });
    const headers = { 'x-tool-key': plantWord('header credential') };
    await put('headers', { kind: 'headers', hosts: [at(provider)], secret: headers });
    const model = { baseUrl: `https://${at(provider)}`, dialects: ['openai', 'anthropic'] };
    await stand.call('PUT', '/v1/models/team', { ...model, credential: 'run/model' });
    const one = { ...model, dialects: ['openai'], credential: 'run/model' };
    await stand.call('PUT', '/v1/models/one-dialect', one);
    const allow = [...hosts, stand.openTarget];
    for (const [name, credentials] of [
      ['run', ['run/secret']],
      ['unbound', ['run/secret']],
      ['two', ['run/secret', 'run/second']],
    ])
      expect(
        await stand.call('PUT', `/v1/environments/${name}`, { allow, credentials, newPerSecond: 10_000 }),
      ).toMatchObject({ status: 200 });
    lease = await openRun();
  });

  it('is put on by egress, in exchanges of every outcome', async () => {
    const statuses = new Set<number>();
    for (const value of [lease.egressToken, lease.runToken, stand.adminKey, secretNow()])
      for (const raw of exchanges(value)) statuses.add(await exchange(at(bound), raw, lease.egressToken));
    for (const target of tlsTargets()) {
      const raw = `GET /x HTTP/1.1\r\nHost: ${target}\r\n\r\n`;
      statuses.add(await exchange(target, raw, lease.egressToken));
    }
    const two = await stand.mint('two');
    const last = bound.asked.length;
    expect(await exchange(at(bound), exchanges('x')[0] ?? '', two)).toBe(502);
    expect(bound.asked).toHaveLength(last);
    expect(statuses).toEqual(new Set([200, 421, 405, 400, 502]));
    expect(bound.asked.map(({ headers }) => headers.authorization)).toContain(`Bearer ${secretNow()}`);
  });

  it('is put on in every form, also one that egress reads itself', async () => {
    const values = ['as Basic', 'as a parameter', 'for a placeholder'].map((name) => stand.plant(name));
    const inFile = plantWord('of a file');
    await stand.write('secrets/token', `${inFile}\n`);
    const [basic, query, replace] = values.map((value) => ({ secret: { value } }));
    const forms = {
      basic: { ...basic, placement: { kind: 'basic', user: 'u' } },
      query: { ...query, placement: { kind: 'query', name: 'key' } },
      replace: { ...replace, placement: { kind: 'replace', headers: ['x-key'], query: ['k'] } },
      file: { valueFrom: 'file:token', placement: { header: 'x-file', format: 'k={}' } },
    };
    for (const [name, form] of Object.entries(forms))
      await put(name, { kind: 'environment_secret', variable: 'FORM', hosts: [at(bound)], ...form });
    const credentials = Object.keys(forms).map((name) => `run/${name}`);
    await stand.call('PUT', '/v1/environments/forms', { allow: [at(bound)], credentials });
    const token = await stand.mint('forms');
    const head = (line: string) => `${line} HTTP/1.1\r\nHost: ${at(bound)}\r\n`;
    const line = 'GET /x?key=mine&k=sallyport-managed';
    expect(await exchange(at(bound), `${head(line)}X-Key: sallyport-managed\r\n\r\n`, token)).toBe(200);
    const { path = '', headers = {} } = bound.asked.at(-1) ?? {};
    expect([...new URL(path, 'https://a.test').searchParams]).toEqual([
      ['k', values[2]],
      ['key', values[1]],
    ]);
    expect(headers).toMatchObject({
      'x-key': values[2],
      'x-file': `k=${inFile}`,
      authorization: `Basic ${btoa(`u:${values[0]}`)}`,
    });
    const own = `${head('GET /x')}X-Key: ${values[2]}\r\n\r\n`;
    expect(await exchange(at(bound), own, token)).toBe(502);
    await stand.write('secrets/token', `${inFile}\n${inFile}\n`);
    await expect.poll(() => exchange(at(bound), `${head(line)}\r\n`, token), { timeout: 5_000 }).toBe(502);
  });

  it('is rotated and unbound while egress uses it', async () => {
    const held = await enter(at(bound), await stand.mint('unbound'));
    const value = stand.plant('environment secret rotated');
    await stand.call('POST', '/v1/vaults/run/credentials/secret/rotate', { secret: { value } });
    const [ask = ''] = exchanges('x');
    const seen = async () => {
      expect(await exchange(at(bound), ask, lease.egressToken)).toBe(200);
      return bound.asked.at(-1)?.headers.authorization;
    };
    await expect.poll(seen).toBe(`Bearer ${value}`);
    await stand.call('PUT', '/v1/environments/unbound', { allow: [at(bound)], credentials: [] });
    if (typeof held === 'number') throw new Error(`refused: ${held}`);
    await held.ending();
    stand.note('an interception that ended', held.received.toString('latin1'));
  });

  it.each([
    ['/v1/chat/completions', 'authorization', 'Bearer '],
    ['/v1/messages', 'x-api-key', ''],
  ] as const)('is used by the gates, whatever the provider answers: %s', async (path, header, scheme) => {
    const outcomes: string[] = [];
    const key = { [header]: scheme + lease.runToken };
    for (const say of Object.keys(ANSWERS)) {
      for (const stream of [false, true]) {
        const body = { ...messageOf(say), stream, max_tokens: 1 };
        const { status, text } = await ask(
          `${path}?k=${lease.runToken}`,
          { ...key, 'x-k': lease.runToken },
          body,
        );
        outcomes.push(`${say} ${status}`);
        // Masked, not left out: the rest of the answer is the caller's.
        expect(MASKED.test(say) ? text : MASK).toContain(MASK);
      }
    }
    const others = ['fine', 'body', 'split', 'header', 'trailer', 'early'].map((say) => `${say} 200`);
    others.push('phrase 400');
    expect(new Set(outcomes)).toEqual(new Set([...others, ...NAMED, ...LOST]));
    expect((await ask('/v1/messages', key, { ...messageOf('fine'), model: 'gone' })).status).toBe(404);
    expect((await ask('/v1/messages', key, { ...messageOf('fine'), model: 'one-dialect' })).status).toBe(400);
  });

  it('is used by tools, and rotated while the gates use it', async () => {
    for (const tool of ['bearer', 'headers'])
      for (const say of Object.keys(ANSWERS)) {
        await ask(`/v1/http-calls/${tool}`, bearer(lease.runToken), { input: { say } });
        // What it gave is kept, and given again.
        const keyed = { ...bearer(lease.runToken), 'idempotency-key': `${tool}-${say}` };
        for (let times = 0; times < 2; times += 1)
          await ask(`/v1/http-calls/${tool}`, keyed, { input: { say } });
      }
    const calls = await stand.call('GET', `/v1/sessions/${lease.session}/calls/tool`);
    expect(calls.text).toContain('"completed"');
    const keys = provider.asked.map(({ headers }) => keyOf(headers));
    for (const name of ['model key', 'tool credential', 'header credential'])
      expect(keys).toContain(canaryOf(name));
    await put('model', modelKey('model key, rotated'));
    const seen = async () => {
      await ask('/v1/messages', bearer(lease.runToken), messageOf('401'));
      return keyOf(provider.asked.at(-1)?.headers ?? {});
    };
    await expect.poll(seen).toBe(canaryOf('model key, rotated'));
  });

  it('is sent to the gates in odd places', async () => {
    const statuses = new Set<number>();
    const values = ['model key', 'tool credential', 'environment secret'].map(canaryOf);
    for (const value of [...values, stand.adminKey, lease.egressToken, `${lease.runToken}x`]) {
      for (const headers of oddHeaders(value))
        for (const path of ['/v1/messages', '/v1/http-calls/bearer', `/${encodeURIComponent(value)}`])
          statuses.add((await ask(path, headers, messageOf('fine'))).status);
      const good = bearer(lease.runToken);
      const inUrl = encodeURIComponent(value);
      for (const path of [`/v1/${inUrl}?key=${inUrl}`, `/v1/http-calls/${inUrl}`])
        statuses.add((await ask(path, good, { input: {} })).status);
      for (const body of [`{"model": "${value}`, [value], { model: 'team', messages: value, model2: value }])
        statuses.add((await ask(`/v1/chat/completions?key=${inUrl}`, good, body)).status);
      statuses.add((await ask('/v1/http-calls/bearer', good, value.repeat(60_000))).status);
      statuses.add((await ask('/v1/http-calls/bearer', { ...good, 'content-type': value }, 'x')).status);
      statuses.add(
        (await ask('/v1/http-calls/bearer', good, { input: { say: 'fine', [value]: value } })).status,
      );
    }
    for (const each of [400, 401, 403, 404, 413, 415]) expect(statuses).toContain(each);
  });

  it('and tokens are sent to egress by whom they are not for', async () => {
    for (const value of [lease.runToken, stand.adminKey, secretNow(), canaryOf('model key')])
      for (const credential of [
        `Bearer ${value}`,
        `Basic ${btoa(`u:${value}`)}`,
        `Basic ${btoa(value)}`,
        value,
      ])
        await stand.send(
          `CONNECT ${at(bound)} HTTP/1.1\r\nHost: ${at(bound)}\r\nProxy-Authorization: ${credential}\r\n\r\n`,
        );
  });

  it.skipIf(!existsSync('/proc/self/environ'))('is nowhere that the workload of a run can look', async () => {
    const tap = await startTap(stand.world.core.address.port);
    // The key in a file: a variable of whoever starts the run is theirs, and another process of the user can read it.
    const more = {
      SALLYPORT_ADMIN_KEY: undefined,
      SALLYPORT_ADMIN_KEY_FILE: await stand.write('admin.key', stand.adminKey),
      SALLYPORT_CORE_URL: `http://127.0.0.1:${tap.port}`,
      LOOK,
    };
    const badUrls = tlsTargets().map((target) => `https://${target}/x`);
    const look = workload(`https://${at(bound)}`, badUrls, JSON.stringify(messageOf('401')));
    const script = `sleep 60 & ${look}; kill $!`;
    const { status, out, err } = await runner.run(['--env', 'run', '--', 'sh', '-c', script], more);
    expect(status).toBe(0);
    const tokens = [...new Set(tap.heard().match(TOKEN) ?? [])];
    expect(tokens).toHaveLength(2);
    for (const token of tokens) stand.plantToken('token of a run', token);
    const secret = /^HTTPS_PROXY=http:\/\/sallyport:(\w{48})@/m.exec(out)?.[1] ?? '';
    stand.canaries.push({ name: 'relay secret', value: secret });
    stand.note('the workload', out + err, 'relay secret');
    expect(out).not.toMatch(TOKEN);
    // It did look, and its requests did arrive.
    expect(out.match(/^\/proc\/\d+\/environ/gm)?.length).toBeGreaterThan(3);
    for (const file of ['ca-bundle.pem', 'wgetrc', 'apt.conf', 'egress.ini'])
      expect(out).toContain(`/${file}\n`);
    for (const each of [
      'HTTP/1.1 200',
      ' 421 ',
      ' 405 ',
      ' 400 ',
      ' 502 ',
      ' 401 ',
      ' 403 ',
      ' 404 ',
      ' 407 ',
    ])
      expect(out).toContain(each);
    expect(out).toContain('TOKEN=sallyport-managed');
    await tap.close();
  });

  it('is asked for by a run that is over', async () => {
    await stand.call('POST', `/v1/turns/${lease.turn}/cancel`);
    const good = bearer(lease.runToken);
    const call = () => ask('/v1/chat/completions', good, messageOf('fine'));
    await expect.poll(async () => (await call()).status).toBe(409);
    expect((await ask('/v1/http-calls/bearer', good, { input: {} })).status).toBe(409);
    expect(await exchange(at(bound), '', lease.egressToken)).toBe(407);
  });

  it('is nowhere', async () => {
    await stand.plantInner();
    const rows = async () => (await stand.call('GET', '/v1/exchanges?limit=500')).text;
    for (const each of [
      'injected',
      'authority_mismatch',
      'method_refused',
      'request_malformed',
      'origin_failed',
    ])
      await expect.poll(rows).toContain(`"${each}"`);
    for (const path of ['connections', 'exchanges', 'usage', 'refusal-counts', 'admin-events', 'models'])
      expect(await stand.call('GET', `/v1/${path}`)).toMatchObject({ status: 200 });
    await stand.collect();
    const { said, canaries } = stand;
    const finder = new LeakFinder(canaries);
    expect(said.length).toBeGreaterThan(300);
    const found = said.flatMap(({ where, text, except }) =>
      finder.search(text, except === undefined ? [] : [except]).map((finding) => ({ where, ...finding })),
    );
    expect(found).toEqual([]);
    // What may be there is there: the search would have seen it.
    for (const { text, except } of said) if (except) expect(finder.search(text)).not.toEqual([]);
  });
});

interface Lease {
  readonly session: string;
  readonly turn: string;
  readonly runToken: string;
  readonly egressToken: string;
}

async function openRun(): Promise<Lease> {
  const tool = (credential: string) => ({
    url: `https://${at(provider)}/tool`,
    method: 'POST',
    credential,
    inputSchema: { type: 'object' },
  });
  const httpTools = { bearer: tool('run/tool'), headers: tool('run/headers') };
  const { world } = stand;
  const body = { agent: 'canary', environment: 'run', manifest: { httpTools } };
  const session = await world.call<{ id: string }>('POST', '/v1/sessions', body);
  const { id: turn } = await world.call<{ id: string }>('POST', `/v1/sessions/${session.id}/turns`);
  const taken = await world.call<Lease>('POST', `/v1/turns/${turn}/lease`, { holder: 'test' });
  stand.plantToken('run token', taken.runToken);
  stand.plantToken('egress token of the run', taken.egressToken);
  return { ...taken, turn, session: session.id };
}

const at = ({ host, port }: Provider): string => `${host}:${port}`;
const tlsTargets = (): string[] => [`expired.test:${expired.port}`, `broken.test:${broken.port}`];
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const messageOf = (content: string) => ({ model: 'team', messages: [{ role: 'user', content }] });

async function put(name: string, body: object): Promise<void> {
  await stand.call('PUT', '/v1/vaults/run');
  expect(await stand.call('PUT', `/v1/vaults/run/credentials/${name}`, body)).toMatchObject({ status: 200 });
}

/** A canary as keys look, which JSON leaves as it is: what is masked is the plain spelling. */
function plantWord(name: string): string {
  const value = `sk-cnry-${crypto.randomUUID()}`;
  stand.canaries.push({ name, value });
  return value;
}

function modelKey(name: string): object {
  return { kind: 'model_key', hosts: [at(provider)], secret: { value: plantWord(name) } };
}

function canaryOf(name: string): string {
  return String(stand.canaries.find((canary) => canary.name === name)?.value);
}

/** The newest generation. */
function secretNow(): string {
  const found = stand.canaries.findLast(({ name }) => name.startsWith('environment secret'));
  return String(found?.value);
}

/** Requests of every outcome, with a value that is not theirs wherever one could stand. No path has it: that is recorded. */
function exchanges(value: string): readonly string[] {
  const url = encodeURIComponent(value);
  const host = `Host: ${at(bound)}\r\n`;
  const odd = [`Bearer ${value}`, `Basic ${btoa(`u:${value}`)}`, value, `Digest username="${value}"`];
  const ride = `X-Api-Key: ${value}\r\nProxy-Authorization: Bearer ${value}\r\nCookie: a=${url}\r\n`;
  return [
    ...odd.map((each) => `GET /x?q=${url}#${url} HTTP/1.1\r\n${host}Authorization: ${each}\r\n${ride}\r\n`),
    `GET /x HTTP/1.1\r\nHost: ${url}\r\nAuthorization: Bearer ${value}\r\n\r\n`,
    `GET https://u:${url}@denied.test/ HTTP/1.1\r\n${host}${ride}\r\n`,
    `TRACE /x?q=${url} HTTP/1.1\r\n${host}${ride}\r\n`,
    `GET u:${url}@denied.test HTTP/1.1\r\n${host}${ride}\r\n`,
    `GET /x HTTP/1.1\r\n${host}X: ${value}\x01\r\n\r\n`,
    `POST /x HTTP/1.1\r\n${host}Transfer-Encoding: chunked\r\n\r\n3;${url}\nabc`,
  ];
}

/** The TLS of an interception; the status where the CONNECT was refused. */
async function enter(target: string, token: string): Promise<Peer | number> {
  const outer = await connectTo(stand.egress.address.port);
  const opened = await outer.send(connectHead(target, token)).answer();
  stand.note(`CONNECT ${target}: ${opened.status}`, opened.text);
  if (opened.status !== 200) {
    outer.close();
    return opened.status;
  }
  const [servername = ''] = target.split(':');
  const socket = connect({ socket: outer.detach(), servername, ca: [egressCa], ALPNProtocols: ['http/1.1'] });
  await once(socket, 'secureConnect');
  return new Peer(socket);
}

/** One exchange and its status; that of the CONNECT where it was refused. */
async function exchange(target: string, raw: string, token: string): Promise<number> {
  const peer = await enter(target, token);
  if (typeof peer === 'number') return peer;
  const { status, text } = await peer.send(Buffer.from(raw, 'latin1')).answer();
  stand.note(`exchange with ${target}: ${status}`, text);
  peer.close();
  return status;
}

/** Answers every request to the broken origin with what is no HTTP. */
async function breakAll(): Promise<void> {
  for (;;) {
    const peer = await broken.next();
    void peer.answer(60_000).then(
      () => peer.send('SSH-2.0-x\r\n\r\n'),
      () => {},
    );
  }
}

/** Calls the gates. Status 0 where the answer broke off. */
async function ask(
  path: string,
  headers: Record<string, string>,
  body: unknown,
): Promise<{ readonly status: number; readonly text: string }> {
  const url = `http://127.0.0.1:${stand.gates.address.port}${path}`;
  const raw = typeof body === 'string' ? body : JSON.stringify(body);
  const all = { 'content-type': 'application/json', ...headers };
  const signal = AbortSignal.timeout(raw.includes('"hang"') ? 200 : 20_000);
  try {
    const answer = await fetch(url, { method: 'POST', headers: all, body: raw, signal, redirect: 'manual' });
    const head = `${answer.status} ${answer.statusText} ${JSON.stringify([...answer.headers])}`;
    const text = await answer.text().catch(() => '');
    stand.note(`POST to the gates: ${answer.status}`, `${head}\n${text}`);
    return { status: answer.status, text: `${head}\n${text}` };
  } catch {
    return { status: 0, text: '' };
  }
}

function oddHeaders(value: string): readonly Record<string, string>[] {
  const names = ['x-api-key', 'x-goog-api-key', 'cookie', 'proxy-authorization', 'anthropic-version'];
  const schemes = ['Bearer ', 'bearer  ', 'Basic ', 'Digest username=', 'Token ', ''];
  return [
    ...schemes.map((scheme) => ({ authorization: scheme + value })),
    { authorization: `Basic ${btoa(`u:${value}`)}` },
    ...names.map((name) => ({ [name]: value })),
  ];
}

const MASKED = /^(body|401|header|phrase|split)$/;
const MASK = '*'.repeat(12);
const NAMED = ['401 401', '403 403', '429 429', '500 500', '529 529'];
const LOST = ['die 200', 'junk 502', 'redirect 502', 'gzip 502', 'hang 200'];
const TOKEN = /eyJ[\w-]+\.[\w-]+\.[\w-]{86}/g;

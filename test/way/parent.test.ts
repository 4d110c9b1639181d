/**
 * Egress behind a parent proxy: tunnels and interceptions go through it and through nothing else, the policy holds
 * before anything leaves, and the record says nothing of addresses that nobody here has seen.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseTarget } from '../../core-lite/network/target.ts';
import type { Service } from '../../core-lite/service.ts';
import { connectHead, connectTo, Peer } from '../support/client.ts';
import { startGate, type TestGate } from '../support/gate.ts';
import { echo, type Origin, startOrigin } from '../support/origin.ts';
import { startHttpParent, startSocksParent, type TestParent } from '../support/parent.ts';
import { startTlsOrigin, type TlsOrigin } from '../support/tls-origin.ts';

const HOST = 'api.bound.test';
const SECRET = 'the-real-secret-value';
const LOGIN = 'parent-user:parent-canary';

let folder: string;
let origin: Origin;
let secure: TlsOrigin;
let gate: TestGate;
let token: string;
let egressCa: string;
let http: TestParent;
let https: TestParent;
let socks: TestParent;
const services = new Map<string, Service>();

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sallyport-parent-'));
  origin = await startOrigin({ behave: echo });
  secure = await startTlsOrigin({ name: HOST });
  http = await startHttpParent({ login: LOGIN });
  https = await startHttpParent({ login: LOGIN, name: 'proxy.test' });
  socks = await startSocksParent({ login: LOGIN });
  await writeFile(join(folder, 'roots.pem'), secure.caPem + https.caPem);
  gate = await startGate({
    // Of the targets no name is here: only a parent knows them.
    hosts: '127.0.0.1 proxy.test',
    settings: { SALLYPORT_EXTRA_CA: join(folder, 'roots.pem') },
  });
  await gate.world.call('PUT', '/v1/vaults/v');
  await gate.world.call('PUT', '/v1/vaults/v/credentials/secret', {
    kind: 'environment_secret',
    variable: 'API_KEY',
    hosts: [`${HOST}:${secure.port}`],
    secret: { value: SECRET },
  });
  await gate.put('e', {
    allow: [
      `*.test:${origin.port}`,
      `${HOST}:${secure.port}`,
      'localhost',
      '*.localhost',
      'metadata.google.internal',
    ],
    credentials: ['v/secret'],
  });
  token = await gate.world.token('e');
  egressCa = await (await fetch(`http://127.0.0.1:${gate.world.core.address.port}/authority.pem`)).text();
  for (const [name, url] of [
    ['http', `http://${LOGIN}@127.0.0.1:${http.port}`],
    ['https', `https://${LOGIN}@proxy.test:${https.port}`],
    ['socks5', `socks5://${LOGIN}@proxy.test:${socks.port}`],
    ['wrong', `http://parent-user:wrong@127.0.0.1:${http.port}`],
    // The product as its own parent: the first one refuses private addresses, as it should.
    ['chain', `http://sallyport:${token}@127.0.0.1:${gate.egress.address.port}`],
  ] as const) {
    services.set(name, await gate.world.egress({ SALLYPORT_PARENT_PROXY: url }));
  }
});

afterAll(async () => {
  await gate?.close();
  await Promise.all([origin, secure, http, https, socks].map((each) => each?.close()));
  await rm(folder, { recursive: true, force: true });
});

async function ask(through: string, target: string): Promise<Peer> {
  const service = services.get(through);
  if (!service) throw new Error(through);
  return (await connectTo(service.address.port)).send(connectHead(target, token));
}

const parentOf = (scheme: string): TestParent => ({ http, https, socks5: socks })[scheme] as TestParent;

describe.each(['http', 'https', 'socks5'])('through a parent over %s', (scheme) => {
  it('a tunnel passes, its bytes are counted, and no name is looked up', async () => {
    const host = `tunnel-${scheme}.test`;
    const client = await ask(scheme, `${host}:${origin.port}`);
    expect((await client.answer()).status).toBe(200);
    client.send('hello').finish();
    expect(await client.text(5)).toBe('hello');
    expect(await client.ending()).toBe('end');
    expect(parentOf(scheme).asked).toContain(`${host}:${origin.port}`);
    await expect.poll(async () => (await gate.rows(`&host=${host}`))[0]?.end ?? null).not.toBeNull();
    const [row] = await gate.rows(`&host=${host}`);
    expect(row).toMatchObject({
      verdict: 'allowed',
      end: { reason: 'client_closed', addresses: [], address: null, bytesUp: 5, bytesDown: 5 },
    });
    expect(gate.dns.lookups).toEqual([]);
  });

  it('an interception puts the secret on inside verified TLS, on connections that are kept', async () => {
    const target = `${HOST}:${secure.port}`;
    const before = secure.peers.length;
    for (const path of ['/1', '/2']) {
      const outer = await ask(scheme, target);
      expect((await outer.answer()).status).toBe(200);
      const inner = connect({ socket: outer.detach(), servername: HOST, ca: [egressCa] });
      const client = new Peer(inner);
      client.send(`GET ${path} HTTP/1.1\r\nHost: ${target}\r\n\r\n`);
      await expect.poll(() => secure.peers.length).toBe(before + 1);
      const theirs = secure.peers[before] as Peer;
      const { text } = await theirs.answer();
      expect(text).toContain(`GET ${path} `);
      expect(text).toContain(`Bearer ${SECRET}`);
      expect(text).not.toMatch(/proxy-/i);
      theirs.send('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi');
      expect((await client.answer()).body).toBe('hi');
      client.close();
      await expect.poll(async () => (await gate.rows(`&host=${HOST}`))[0]?.end?.exchanges).toBe(1);
    }
    expect(parentOf(scheme).asked.filter((each) => each === target)).toHaveLength(1);
    expect((await gate.rows(`&host=${HOST}`))[0]?.end).toMatchObject({ addresses: [], address: null });
  });

  it('what the policy denies never reaches it; nor does what leads inside by its name', async () => {
    const before = parentOf(scheme).asked.length;
    for (const [target, reason] of [
      ['denied.example:443', 'host_denied'],
      ['denied.test:444', 'port_denied'],
      ['127.0.0.1:443', 'ip_literal'],
      ['0x7f.1:443', 'ip_literal'],
      ['localhost:443', 'address_refused'],
      ['a.localhost:80', 'address_refused'],
      ['metadata.google.internal:80', 'address_refused'],
    ] as const) {
      const client = await ask(scheme, target);
      expect((await client.answer()).headers.get('sallyport-reason')).toBe(reason);
      const { host } = parseTarget(target) as { host: string };
      const row = async () => (await gate.rows(`&host=${host}`))[0];
      await expect.poll(row).toMatchObject({ verdict: 'denied', reason });
      client.close();
    }
    expect(parentOf(scheme).asked.length).toBe(before);
  });

  it('a client that breaks off frees the way', async () => {
    const parent = parentOf(scheme);
    const before = parent.open;
    const client = await ask(scheme, `reset-${scheme}.test:${origin.port}`);
    await client.answer();
    client.send('x');
    await client.text(1);
    client.reset();
    await expect.poll(() => parent.open).toBe(before);
    await expect.poll(() => origin.open).toBe(0);
    await expect
      .poll(async () => (await gate.rows(`&host=reset-${scheme}.test`))[0]?.end?.reason)
      .toBe('client_reset');
  });
});

describe('a parent that refuses the login', () => {
  it('is a 502 of the gate’s own, never a 407, without a word of the parent’s', async () => {
    const client = await ask('wrong', `wrong.test:${origin.port}`);
    const answer = await client.answer();
    expect([answer.status, answer.headers.get('sallyport-reason')]).toEqual([502, 'parent_failed']);
    expect(answer.body).toContain('(PARENT_AUTH)');
    expect(answer.text).not.toMatch(/PARENT-WORDS|Proxy-Authenticate/i);
    await expect.poll(async () => (await gate.rows('&host=wrong.test'))[0]?.end ?? null).not.toBeNull();
    expect((await gate.rows('&host=wrong.test'))[0]).toMatchObject({
      verdict: 'denied',
      reason: 'parent_failed',
      end: { address: null, addresses: [] },
    });
  });
});

describe('the product as its own parent', () => {
  it('passes on what the first allows, and says where it stopped', async () => {
    const hosts = join(folder, 'hosts');
    await writeFile(hosts, '127.0.0.1 chained.test');
    const first = await gate.world.egress({
      SALLYPORT_HOSTS_FILE: hosts,
      SALLYPORT_OPEN_NETWORKS: 'chained.test=127.0.0.0/8',
    });
    services.set(
      'chained',
      await gate.world.egress({
        SALLYPORT_PARENT_PROXY: `http://x:${token}@127.0.0.1:${first.address.port}`,
      }),
    );
    const client = await ask('chained', `chained.test:${origin.port}`);
    expect((await client.answer()).status).toBe(200);
    client.send('through both').finish();
    expect(await client.text(12)).toBe('through both');
    const rows = async () => (await gate.rows('&host=chained.test')).map(({ end }) => end?.address);
    await expect.poll(rows).toEqual(expect.arrayContaining([null, '127.0.0.1']));
    const refused = await ask('chain', `unknown.test:${origin.port}`);
    const { body } = await refused.answer();
    expect(body).toMatch(/^sallyport: connect_failed: .*\(PARENT_ANSWERED_502\)/);
  });
});

describe('the login of the parent', () => {
  it('is in no log line', () => {
    expect(gate.world.logged()).toContain('"parent":"https://proxy.test');
    expect(gate.world.logged()).not.toContain('parent-canary');
    expect(gate.world.logged()).not.toContain(Buffer.from(LOGIN).toString('base64'));
  });
});

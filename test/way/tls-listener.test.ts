/** The proxy in TLS (`HTTPS_PROXY=https://…`): whatever goes through the plain listener goes through it. */
import { execFile } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls';
import { promisify } from 'node:util';
import { fetch, ProxyAgent } from 'undici';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { makeAuthority, openAuthority } from '../../certs/authority.ts';
import { issueLeaf } from '../../certs/leaf.ts';
import type { EgressService } from '../../egress/main.ts';
import { basic, connectHead, Peer } from '../support/client.ts';
import { startGate, type TestGate } from '../support/gate.ts';
import { echo, type Origin, startOrigin } from '../support/origin.ts';
import { startTlsOrigin, type TlsOrigin } from '../support/tls-origin.ts';

const BOUND = 'api.bound.test';
const SECRET = 'the-real-secret-value';
const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi';

let folder: string;
let gate: TestGate;
let echoes: Origin;
let web: Origin;
let bound: TlsOrigin;
let egressCa: string;
let token: string;
const open: Peer[] = [];
const run = promisify(execFile);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sallyport-tls-listener-'));
  [echoes, web, bound] = await Promise.all([
    startOrigin({ behave: echo }),
    startOrigin({ behave: (socket) => void socket.once('data', () => socket.end(OK)) }),
    startTlsOrigin({ name: BOUND }),
  ]);
  await writeFile(join(folder, 'roots.pem'), bound.caPem);
  gate = await startGate({
    hosts: `127.0.0.1 open.test ${BOUND}`,
    open: '*.test=127.0.0.0/8',
    settings: {
      SALLYPORT_EXTRA_CA: join(folder, 'roots.pem'),
      SALLYPORT_EGRESS_TLS_NAMES: 'egress.example.test, 10.1.2.3, 2001:db8::1',
    },
  });
  egressCa = await (
    await globalThis.fetch(`http://127.0.0.1:${gate.world.core.address.port}/authority.pem`)
  ).text();
  await writeFile(join(folder, 'egress-ca.pem'), egressCa);
  await gate.world.call('PUT', '/v1/vaults/v');
  await gate.world.call('PUT', '/v1/vaults/v/credentials/s', {
    kind: 'environment_secret',
    variable: 'API_KEY',
    hosts: [`${BOUND}:${bound.port}`],
    secret: { value: SECRET },
  });
  await gate.put('e', {
    allow: [`open.test:${echoes.port}`, `open.test:${web.port}`, `${BOUND}:${bound.port}`],
    credentials: ['v/s'],
  });
  token = await gate.world.token('e');
});

afterEach(() => {
  for (const peer of open.splice(0)) peer.close();
});

afterAll(async () => {
  await gate?.close();
  await Promise.all([echoes?.close(), web?.close(), bound?.close()]);
  await rm(folder, { recursive: true, force: true });
});

const portOf = (service: EgressService = gate.egress) => service.tlsAddress.port;

function secure(options: ConnectionOptions): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ ca: [egressCa], allowHalfOpen: true, ...options } as ConnectionOptions);
    socket.once('secureConnect', () => resolve(socket));
    socket.once('error', reject);
  });
}

/** A client in TLS with the listener. */
async function enter(options: ConnectionOptions = {}): Promise<Peer> {
  const peer = new Peer(await secure({ host: '127.0.0.1', port: portOf(), ...options }));
  open.push(peer);
  return peer;
}

async function tunnelTo(target: string): Promise<Peer> {
  const client = await enter();
  const answer = await client.send(connectHead(target, token)).answer();
  expect(answer.status).toBe(200);
  return client;
}

describe('the certificate', () => {
  it('is of the egress CA, for localhost, the listen address and the names that are set', async () => {
    const { socket } = await enter();
    const shown = (socket as TLSSocket).getPeerX509Certificate();
    const names = shown?.subjectAltName?.split(', ').sort();
    expect(names).toEqual(
      [
        'DNS:egress.example.test',
        'DNS:localhost',
        'IP Address:10.1.2.3',
        'IP Address:127.0.0.1',
        'IP Address:0:0:0:0:0:0:0:1',
        'IP Address:2001:DB8:0:0:0:0:0:1',
      ].sort(),
    );
    await expect(enter({ servername: 'localhost' })).resolves.toBeTruthy();
    await expect(enter({ servername: 'other.test' })).rejects.toThrow('altnames');
  });

  it.each([
    ['TLS 1.3', { minVersion: 'TLSv1.3' }],
    ['TLS 1.2', { maxVersion: 'TLSv1.2' }],
    ['TLS 1.2 with ChaCha20', { maxVersion: 'TLSv1.2', ciphers: 'ECDHE-ECDSA-CHACHA20-POLY1305' }],
  ] as const)('is shown in %s', async (_, options) => {
    await expect(enter(options)).resolves.toBeTruthy();
  });

  it.each([
    ['TLS 1.1', { minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1', ciphers: 'ALL:@SECLEVEL=0' }],
    ['suites without authenticated encryption', { maxVersion: 'TLSv1.2', ciphers: 'ECDHE-ECDSA-AES128-SHA' }],
    ['HTTP/2 alone', { ALPNProtocols: ['h2'] }],
  ] as const)('is not shown in %s', async (_, options) => {
    await expect(enter(options as ConnectionOptions)).rejects.toThrow();
  });

  it('cannot be asked for twice on one connection', async () => {
    const client = await enter({ maxVersion: 'TLSv1.2' });
    (client.socket as TLSSocket).renegotiate({ rejectUnauthorized: false }, () => {});
    await expect(client.ending()).rejects.toMatchObject({ code: 'ERR_SSL_NO_RENEGOTIATION' });
  });
});

describe('through it', () => {
  it('a tunnel keeps early bytes and half-closes', async () => {
    const client = await enter();
    const answer = await client.send(`${connectHead(`open.test:${echoes.port}`, token)}early`).answer();
    expect(answer.status).toBe(200);
    expect(await client.text(5)).toBe('early');
    client.send('late').finish();
    expect(await client.text(4)).toBe('late');
    expect(await client.ending()).toBe('end');
    await expect
      .poll(async () => (await gate.rows())[0])
      .toMatchObject({ source: '127.0.0.1', end: { bytesUp: 9, bytesDown: 9, reason: 'client_closed' } });
  });

  it('megabytes pass both ways unchanged', async () => {
    const client = await tunnelTo(`open.test:${echoes.port}`);
    const sent = Buffer.alloc(8 * 1024 * 1024, 'abcdefg');
    client.send(sent);
    expect((await client.read(sent.length, 15_000)).equals(sent)).toBe(true);
  });

  it('an interception is TLS in TLS', async () => {
    const outer = await tunnelTo(`${BOUND}:${bound.port}`);
    const inner = new Peer(await secure({ socket: outer.detach(), servername: BOUND }));
    open.push(inner);
    inner.send(`GET /x HTTP/1.1\r\nHost: ${BOUND}:${bound.port}\r\n\r\n`);
    const origin = await bound.next();
    expect((await origin.answer()).text).toContain(`Bearer ${SECRET}\r\n`);
    origin.send(OK);
    expect((await inner.answer()).body).toBe('hi');
  });

  it('an interception renegotiates nothing either', async () => {
    const outer = await tunnelTo(`${BOUND}:${bound.port}`);
    const inner = new Peer(
      await secure({ socket: outer.detach(), servername: BOUND, maxVersion: 'TLSv1.2' }),
    );
    open.push(inner);
    (inner.socket as TLSSocket).renegotiate({ rejectUnauthorized: false }, () => {});
    await expect(inner.ending()).rejects.toMatchObject({ code: 'ERR_SSL_NO_RENEGOTIATION' });
  });

  it('a 407 may be followed by another try, and a refusal ends it', async () => {
    const client = await enter();
    const target = `open.test:${echoes.port}`;
    const first = await client.send(connectHead(target)).answer();
    expect([first.status, first.headers.get('connection')]).toEqual([407, 'keep-alive']);
    const second = await client.send(connectHead('other.test:443', token)).answer();
    expect([second.status, second.headers.get('sallyport-reason')]).toEqual([403, 'host_denied']);
    expect(await client.ending()).toBe('end');
  });

  it('a plain request is answered', async () => {
    const client = await enter();
    const head = `Host: x\r\nProxy-Authorization: ${basic(token)}\r\n`;
    const answer = await client.send(`GET http://open.test:${web.port}/ HTTP/1.1\r\n${head}\r\n`).answer();
    expect(answer.body).toBe('hi');
  });

  it('a change breaks a tunnel off, so that nobody takes what came for the whole', async () => {
    await gate.put('moving', { allow: [`open.test:${echoes.port}`] });
    const client = await enter();
    const mine = await gate.world.token('moving');
    await client.send(connectHead(`open.test:${echoes.port}`, mine)).answer();
    await gate.put('moving', { allow: [] });
    await client.ending(1_000).catch(() => {});
    await expect.poll(async () => (await gate.rows())[0]?.end?.reason).toBe('policy_changed');
  });

  it.each([
    ['a tunnel of curl', ['-p']],
    ['a plain request of curl', []],
    ['curl that asks which scheme first', ['-p', '--proxy-anyauth']],
  ])('%s', async (_, options) => {
    const proxy = `https://any:${token}@127.0.0.1:${portOf()}`;
    const ca = ['--proxy-cacert', join(folder, 'egress-ca.pem')];
    const args = ['-sS', '-x', proxy, ...ca, ...options, `http://open.test:${web.port}/`];
    expect((await run('curl', args, { env: {} })).stdout).toBe('hi');
  });

  it('undici of Node', async () => {
    const agent = new ProxyAgent({
      uri: `https://127.0.0.1:${portOf()}`,
      token: basic(token),
      proxyTls: { ca: egressCa },
      proxyTunnel: true,
    });
    const answer = await fetch(`http://open.test:${web.port}/`, { dispatcher: agent });
    expect(await answer.text()).toBe('hi');
    await agent.close();
  });
});

describe('the operator’s own certificate', () => {
  const make = (name: string) => {
    const authority = openAuthority(makeAuthority({ name: `CA of ${name}`, now: new Date() }));
    return { ca: authority.certificatePem, leaf: issueLeaf(authority, name, new Date()) };
  };
  const put = async (cert: string, key: string) => {
    await writeFile(join(folder, 'tls.pem'), cert);
    await writeFile(join(folder, 'tls.key'), key);
  };
  const settings = () => ({
    SALLYPORT_EGRESS_TLS_CERT: join(folder, 'tls.pem'),
    SALLYPORT_EGRESS_TLS_KEY: join(folder, 'tls.key'),
  });
  const shown = async (service: EgressService, ca: string, servername: string) =>
    (
      (await enter({ port: portOf(service), ca: [ca], servername })).socket as TLSSocket
    ).getPeerX509Certificate()?.fingerprint256;
  const fingerprint = (pem: string) => new X509Certificate(pem).fingerprint256;

  it('is shown, and another when its files change; a broken one is said and the old goes on', async () => {
    const [first, second] = [make('proxy.first.test'), make('proxy.second.test')];
    await put(first.leaf.certificatePem, first.leaf.keyPem);
    const service = await gate.world.egress(settings());
    expect(await shown(service, first.ca, 'proxy.first.test')).toBe(fingerprint(first.leaf.certificatePem));
    const kept = await enter({ port: portOf(service), ca: [first.ca], servername: 'proxy.first.test' });
    await put(second.leaf.certificatePem, first.leaf.keyPem);
    await expect
      .poll(() => gate.world.logged(), { timeout: 10_000 })
      .toContain('cannot be used; the old goes on');
    expect(await shown(service, first.ca, 'proxy.first.test')).toBe(fingerprint(first.leaf.certificatePem));
    await put(second.leaf.certificatePem, second.leaf.keyPem);
    await expect
      .poll(() => shown(service, second.ca, 'proxy.second.test').catch(() => null), { timeout: 10_000 })
      .toBe(fingerprint(second.leaf.certificatePem));
    const answer = await kept.send(connectHead(`open.test:${echoes.port}`, token)).answer();
    expect(answer.status).toBe(200);
    expect(gate.world.logged()).not.toContain('PRIVATE KEY');
    await service.close();
  });

  it('that cannot be used keeps egress from starting', async () => {
    const [first, second] = [make('a.test'), make('b.test')];
    await put(first.leaf.certificatePem, second.leaf.keyPem);
    await expect(gate.world.egress(settings())).rejects.toMatchObject({ code: 'config_invalid' });
    await rm(join(folder, 'tls.key'));
    await expect(gate.world.egress(settings())).rejects.toMatchObject({ code: 'config_invalid' });
  });
});

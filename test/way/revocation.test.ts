/**
 * What is revoked stops within a second, on every replica, open tunnels included; what is not revoked lives on. Two
 * replicas on one database.
 */
import { generateKeyPairSync } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { EndReason, RefusalReason } from '../../core-lite/reasons.ts';
import type { Service } from '../../core-lite/service.ts';
import { mintToken } from '../../core-lite/tokens/mint.ts';
import { type Answer, connectHead, connectTo, type Peer } from '../support/client.ts';
import { startGate, type TestGate } from '../support/gate.ts';
import { echo, type Origin, startOrigin } from '../support/origin.ts';

let gate: TestGate;
let origin: Origin;
let replicas: readonly Service[];
let environment: string;
let environmentId: string;
let token: string;
let made = 0;

beforeAll(async () => {
  origin = await startOrigin({ behave: echo });
  gate = await startGate({
    hosts: '127.0.0.1 a.test b.test\n',
    // The first question is not answered, the second is: the look-up takes more than a second.
    dns: { '*.held.test': ['silence', { a: ['127.0.0.1'], ttl: 0 }] },
    open: '*.test=127.0.0.0/8',
  });
  replicas = [gate.egress, await gate.world.egress()];
  await gate.world.call('PUT', '/v1/vaults/main');
});

afterAll(async () => {
  await gate?.close();
  await origin?.close();
});

beforeEach(async () => {
  made += 1;
  environment = `env-${made}`;
  environmentId = (await put(['a.test', 'b.test', '*.held.test'])).id;
  token = await gate.world.token(environment);
});

const at = (host: string) => `${host}:${origin.port}`;
const put = (hosts: readonly string[], more: object = {}) =>
  gate.put(environment, { allow: hosts.map(at), ...more });

async function ask(service: Service, host: string, with_: string): Promise<Peer> {
  return (await connectTo(service.address.port)).send(connectHead(at(host), with_));
}

async function answerOn(service: Service, host: string, with_ = token): Promise<Answer> {
  const client = await ask(service, host, with_);
  const answer = await client.answer();
  client.close();
  return answer;
}

/** A tunnel that was seen to work. */
async function open(service: Service, host: string, with_ = token): Promise<Peer> {
  const client = await ask(service, host, with_);
  expect((await client.answer()).status).toBe(200);
  await expectAlive(client);
  return client;
}

async function expectAlive(client: Peer): Promise<void> {
  expect(await client.send('hello').text(5)).toBe('hello');
}

async function expectCut(clients: readonly Peer[], host: string, reason: EndReason): Promise<void> {
  const endings = await Promise.all(clients.map((client) => client.ending(SECOND_MS)));
  expect(new Set(endings)).toEqual(new Set(['reset']));
  const ends = async () =>
    (await gate.rows(`&environment=${environmentId}&host=${host}`)).map((row) => row.end?.reason);
  await expect.poll(ends).toEqual(clients.map(() => reason));
}

async function expectRefused(host: string, reason: RefusalReason, with_ = token): Promise<void> {
  for (const service of replicas) {
    const reasons = async () => (await answerOn(service, host, with_)).headers.get('sallyport-reason');
    await expect.poll(reasons, { timeout: SECOND_MS, interval: 20 }).toBe(reason);
  }
}

const onBoth = (host: string) => Promise.all(replicas.map((service) => open(service, host)));

describe('open tunnels end, and new ones are refused, on both replicas', () => {
  it('when the environment is deleted', async () => {
    const tunnels = await onBoth('a.test');
    await gate.world.call('DELETE', `/v1/environments/${environment}`);
    await expectCut(tunnels, 'a.test', 'environment_gone');
    await expectRefused('a.test', 'environment_gone');
  });

  it('when the host is taken off the allowlist; those to other hosts live on', async () => {
    const [tunnels, others] = [await onBoth('a.test'), await onBoth('b.test')];
    await put(['b.test']);
    await expectCut(tunnels, 'a.test', 'policy_changed');
    // An odd port, which no entry opens any more.
    await expectRefused('a.test', 'port_denied');
    for (const other of others) {
      await expectAlive(other);
      other.close();
    }
  });

  it('when a newer pod joins', async () => {
    const tunnels = await onBoth('a.test');
    const bump = 'UPDATE environments SET host_epoch = host_epoch + 1, pod_uid = $2 WHERE id = $1';
    await gate.owner.query(bump, [environmentId, 'pod-2']);
    await expectCut(tunnels, 'a.test', 'host_superseded');
    await expectRefused('a.test', 'host_superseded');
    const fresh = await gate.world.token(environment);
    expect((await answerOn(gate.egress, 'a.test', fresh)).status).toBe(200);
  });

  it('when the key that signed their token is revoked; those of the new key live on', async () => {
    const tunnels = await onBoth('a.test');
    const keys = await gate.world.call<{ kid: string; state: string }[]>('GET', '/v1/signing-keys');
    await gate.world.call('POST', '/v1/signing-keys/rotate');
    const fresh = await gate.world.token(environment);
    const others = await Promise.all(replicas.map((service) => open(service, 'b.test', fresh)));
    for (const client of tunnels) await expectAlive(client);
    const old = keys.find(({ state }) => state === 'current')?.kid;
    await gate.world.call('POST', `/v1/signing-keys/${old}/revoke`);
    await expectCut(tunnels, 'a.test', 'key_revoked');
    await expectRefused('a.test', 'token_untrusted');
    for (const other of others) {
      await expectAlive(other);
      other.close();
    }
  });

  it('when a secret is bound to the host', async () => {
    const tunnels = await onBoth('a.test');
    const secret = {
      kind: 'environment_secret',
      hosts: [at('c.test')],
      variable: 'API_KEY',
      placement: { header: 'authorization', format: 'Bearer {}' },
      secret: { value: 'not-a-real-secret' },
    };
    await gate.world.call('PUT', '/v1/vaults/main/credentials/key', secret);
    await put(['a.test'], { credentials: ['main/key'] });
    for (const client of tunnels) await expectAlive(client);
    await gate.world.call('PUT', '/v1/vaults/main/credentials/key', { ...secret, hosts: [at('a.test')] });
    await expectCut(tunnels, 'a.test', 'secret_bound');
    // From now on it is intercepted, and this origin speaks no TLS.
    await expectRefused('a.test', 'connect_failed');
  });
});

describe('a token that expires', () => {
  it('is refused for what is new; what it opened lives on', async () => {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const pem = publicKey.export({ type: 'spki', format: 'pem' });
    const { kid } = await gate.world.call<{ kid: string }>('POST', '/v1/signing-keys/import', { pem });
    const [tenant] = await gate.owner.query<{ id: string }>('SELECT id FROM tenant');
    const claims = { sub: environmentId, hep: 0, pod: 'none' };
    // It lives 15 minutes and 30 seconds of leeway, and was made so long ago that two seconds are left.
    const madeAt = new Date(Date.now() - 15 * 60_000 - 28_000);
    const minted = await mintToken('egress', claims, { kid, privateKey }, tenant?.id ?? '', madeAt);
    const dying = minted.token.reveal();
    const tunnel = await expect
      .poll(() => answerOn(gate.egress, 'a.test', dying).then(({ status }) => status), { timeout: SECOND_MS })
      .toBe(200)
      .then(() => open(gate.egress, 'a.test', dying));
    const reasons = async () =>
      (await answerOn(gate.egress, 'a.test', dying)).headers.get('sallyport-reason');
    await expect.poll(reasons, { timeout: 4_000, interval: 100 }).toBe('token_expired');
    await expectAlive(tunnel);
    tunnel.close();
  });
});

describe('a change while a connection is being opened', () => {
  const CHANGES: readonly [string, () => Promise<unknown>, RefusalReason][] = [
    ['deletion', () => gate.world.call('DELETE', `/v1/environments/${environment}`), 'environment_gone'],
    ['policy', () => put(['a.test']), 'port_denied'],
    [
      'pod',
      () =>
        gate.owner.query('UPDATE environments SET host_epoch = host_epoch + 1 WHERE id = $1', [
          environmentId,
        ]),
      'host_superseded',
    ],
  ];

  it.each(CHANGES)('refuses it, and nothing is dialled: %s', async (_, change, reason) => {
    const [asked, reached] = [gate.dns.lookups.length, origin.reached];
    const client = await ask(gate.egress, `${environment}.held.test`, token);
    await expect.poll(() => gate.dns.lookups.length, { interval: 5 }).toBeGreaterThan(asked);
    await change();
    const answer = await client.answer(SECOND_MS);
    expect(answer.headers.get('sallyport-reason')).toBe(reason);
    const end = { reason, addresses: [], address: null };
    await expect
      .poll(() => gate.row(answer.headers.get('sallyport-connection')))
      .toMatchObject({ verdict: 'denied', reason, end });
    expect(origin.reached).toBe(reached);
    client.close();
  });
});

/** The promise is a second; a second more is for a busy machine. */
const SECOND_MS = 2_000;

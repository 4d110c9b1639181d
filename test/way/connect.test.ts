/** Every way in which a CONNECT is refused, through the real listener: the same word in answer, log line and record. */
import { generateKeyPairSync } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { REFUSALS, type RefusalReason } from '../../core-lite/reasons.ts';
import { mintToken } from '../../core-lite/tokens/mint.ts';
import { type Answer, connectHead, connectTo } from '../support/client.ts';
import { startGate, type TestGate } from '../support/gate.ts';
import { freePort, type Origin, startOrigin } from '../support/origin.ts';

interface Case {
  readonly name: string;
  readonly reason: RefusalReason;
  /** What is sent, once everything is set up. */
  readonly request: () => string;
  /** Where it stands: a row that denies, a row that was let through and ended so, or a count. */
  readonly recorded: 'row' | 'end' | 'count';
  /** The addresses in the end row. */
  readonly addresses?: readonly string[];
}

let gate: TestGate;
let origin: Origin;
let closedPort: number;
const tokens: Record<string, string> = {};

const to = (host: string, token = tokens['open']) => connectHead(`${host}:${origin.port}`, token);
const count = (name: string, reason: RefusalReason, request: () => string): Case => ({
  name,
  reason,
  request,
  recorded: 'count',
});
const row = (name: string, reason: RefusalReason, request: () => string): Case => ({
  name,
  reason,
  request,
  recorded: 'row',
});

const CASES: readonly Case[] = [
  count('a length on a CONNECT', 'request_malformed', () =>
    to('open.test').replace('\r\n\r\n', '\r\nContent-Length: 0\r\n\r\n'),
  ),
  count('a target without a port', 'target_malformed', () => connectHead('open.test', tokens['open'])),
  count('no token', 'token_missing', () => connectHead(`open.test:${origin.port}`)),
  count('no token in the password', 'token_malformed', () => to('open.test', 'secret')),
  count('a token of an unknown key', 'token_untrusted', () => to('open.test', tokens['foreign'])),
  count('a token that has expired', 'token_expired', () => to('open.test', tokens['expired'])),
  count('a deleted environment', 'environment_gone', () => to('open.test', tokens['gone'])),
  count('an older pod', 'host_superseded', () => to('open.test', tokens['older'])),
  row('an address', 'ip_literal', () => to('127.0.0.1')),
  row('a port that nothing opens', 'port_denied', () => connectHead('open.test:25', tokens['open'])),
  row('a host that is not listed', 'host_denied', () => connectHead('other.test:443', tokens['open'])),
  {
    name: 'a host at an address that nobody opened',
    reason: 'address_refused',
    request: () => to('inside.test'),
    recorded: 'end',
    addresses: ['127.0.0.1', '169.254.169.254'],
  },
  count(
    'another method',
    'method_refused',
    () => `TRACE http://open.test:${origin.port}/ HTTP/1.1\r\nHost: x\r\n\r\n`,
  ),
  count('no host to go to', 'target_missing', () => 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'),
  count('another scheme', 'scheme_refused', () => 'GET ftp://open.test/ HTTP/1.1\r\nHost: x\r\n\r\n'),
  count('too many open', 'connection_limit', () => to('open.test', tokens['none'])),
  count('too many in a second', 'rate_limited', () => to('open.test', tokens['slow'])),
  { name: 'no such name', reason: 'resolve_failed', request: () => to('missing.test'), recorded: 'end' },
  {
    name: 'nobody listens',
    reason: 'connect_failed',
    request: () => connectHead(`open.test:${closedPort}`, tokens['open']),
    recorded: 'end',
    addresses: ['127.0.0.1'],
  },
];
const ELSEWHERE: readonly RefusalReason[] = [
  // plain.test.ts: it needs a secret.
  'tls_required',
  // connect-unavailable.test.ts: they need a database that is away, and a gate that stops.
  'facts_unavailable',
  'record_unavailable',
  'shutting_down',
  // interception.test.ts: they need a secret and a TLS origin.
  'authority_mismatch',
  'injection_failed',
  // scrubbing-lengths.test.ts: they need a secret and a compressed answer.
  'secret_echoed',
  'answer_undecodable',
  'origin_certificate',
  'origin_failed',
  // injection.test.ts: they need a secret with rules.
  'request_ambiguous',
  'rule_denied',
  // parent.test.ts: it needs a parent proxy.
  'parent_failed',
  // run-revocation.test.ts: it needs a turn.
  'run_stale',
];

beforeAll(async () => {
  [origin, closedPort] = await Promise.all([startOrigin(), freePort()]);
  gate = await startGate({
    hosts: '127.0.0.1 open.test bound.test inside.test other.test\n169.254.169.254 inside.test\n',
    open: 'open.test=127.0.0.0/8,bound.test=127.0.0.0/8,other.test=127.0.0.0/8',
  });
  await makeEnvironments();
  await makeTokens();
});

afterAll(async () => {
  await gate?.close();
  await origin?.close();
});

async function makeEnvironments(): Promise<void> {
  await gate.world.call('PUT', '/v1/vaults/main');
  await gate.world.call('PUT', '/v1/vaults/main/credentials/key', {
    kind: 'environment_secret',
    hosts: [`bound.test:${origin.port}`],
    variable: 'API_KEY',
    placement: { header: 'authorization', format: 'Bearer {}' },
    secret: { value: 'not-a-real-secret' },
  });
  const at = (host: string) => `${host}:${origin.port}`;
  const allow = ['open.test', 'bound.test', 'inside.test', 'missing.test'].map(at);
  await gate.put('open', { allow: [...allow, `open.test:${closedPort}`], credentials: ['main/key'] });
  for (const name of ['gone', 'older']) await gate.put(name, { allow });
  await gate.put('none', { allow, maxConnections: 0 });
  await gate.put('slow', { allow, newPerSecond: 0 });
}

async function makeTokens(): Promise<void> {
  for (const name of ['open', 'gone', 'older', 'none', 'slow']) tokens[name] = await gate.world.token(name);
  await gate.world.call('DELETE', '/v1/environments/gone');
  await gate.owner.query(`UPDATE environments SET host_epoch = host_epoch + 1 WHERE name = 'older'`);
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const pem = publicKey.export({ type: 'spki', format: 'pem' });
  const { kid } = await gate.world.call<{ kid: string }>('POST', '/v1/signing-keys/import', { pem });
  const [environment] = await gate.owner.query<{ id: string }>(
    `SELECT id FROM environments WHERE name = 'open'`,
  );
  const [tenant] = await gate.owner.query<{ id: string }>('SELECT id FROM tenant');
  const claims = { sub: environment?.id ?? '', hep: 0, pod: 'none' };
  const mint = async (key: string, at: number) =>
    (
      await mintToken('egress', claims, { kid: key, privateKey }, tenant?.id ?? '', new Date(at))
    ).token.reveal();
  tokens['foreign'] = await mint('an-unknown-key', Date.now());
  tokens['expired'] = await mint(kid, Date.now() - 16 * 60_000);
  // The notice of the imported key is on its way: until it has come, its tokens are those of an unknown key.
  const known = await mint(kid, Date.now());
  await vi.waitFor(async () => {
    const { status } = await (await gate.connect('other.test:443', known)).answer();
    if (status !== 403) throw new Error(`answered ${status}`);
  });
}

describe('a refused CONNECT', () => {
  it.each(CASES)('$reason: $name', async ({ reason, request, recorded, addresses = [] }) => {
    const client = await connectTo(gate.egress.address.port);
    // Bytes behind a refused CONNECT go nowhere, and do not stop the answer.
    const answer = await client.send(`${request()}behind`).answer();
    expectAnswer(answer, reason);
    if (reason !== 'token_missing') expect(await client.ending()).toBe('end');
    client.close();
    const id = answer.headers.get('sallyport-connection');
    if (recorded === 'count') expectCounted(id, reason);
    else await expectRow(id, reason, recorded === 'end' ? addresses : null);
    expect(gate.dns.lookups.filter(({ name }) => name !== 'missing.test')).toEqual([]);
    expect(origin.reached).toBe(0);
  });

  it('is counted where it has no row', async () => {
    const counted = CASES.filter(({ recorded }) => recorded === 'count').map(({ reason }) => reason);
    const reasons = async () => new Set((await gate.counts()).map(({ reason }) => reason));
    await expect
      .poll(reasons, { timeout: 5_000, interval: 100 })
      .toEqual(new Set([...counted, 'request_malformed']));
    const named = (await gate.counts()).filter(({ environmentId }) => environmentId !== null);
    // Only where a token that stood the test says whose it was.
    expect(new Set(named.map(({ reason }) => reason))).toEqual(
      new Set(['environment_gone', 'host_superseded', 'connection_limit', 'rate_limited']),
    );
  });

  it('is reached for every reason there is', () => {
    const reached = [...CASES.map(({ reason }) => reason), ...ELSEWHERE];
    expect(reached.toSorted()).toEqual(Object.keys(REFUSALS).toSorted());
  });
});

function expectAnswer(answer: Answer, reason: RefusalReason): void {
  const { status, text, remedy } = REFUSALS[reason];
  expect(answer.headers.get('sallyport-reason')).toBe(reason);
  expect(answer.headers.get('sallyport-remedy')).toBe(remedy);
  expect(answer.status).toBe(status);
  for (const part of [reason, text, remedy]) expect(answer.body).toContain(part);
  expect(answer.text).toMatch(/^[\x20-\x7e\r\n]*$/);
  expect(answer.headers.has('proxy-authenticate')).toBe(status === 407);
  expect(answer.headers.has('allow')).toBe(status === 405);
}

function expectCounted(id: string | undefined, reason: RefusalReason): void {
  expect(id).toBeUndefined();
  expect(gate.lines()).toContainEqual(expect.objectContaining({ msg: 'refused', reason }));
}

async function expectRow(
  id: string | undefined,
  reason: RefusalReason,
  addresses: readonly string[] | null,
): Promise<void> {
  const end =
    addresses && expect.objectContaining({ reason, addresses, address: null, bytesUp: 0, bytesDown: 0 });
  await expect.poll(() => gate.row(id)).toMatchObject({ id, verdict: 'denied', reason, end });
  expect(gate.lines()).toContainEqual(
    expect.objectContaining({ msg: 'connection', id, verdict: 'denied', reason }),
  );
}

describe('the 407', () => {
  it('is followed by the same connection with a token', async () => {
    const client = await connectTo(gate.egress.address.port);
    const target = `open.test:${origin.port}`;
    expect((await client.send(connectHead(target)).answer()).headers.get('connection')).toBe('keep-alive');
    const head = connectHead(target, tokens['open']);
    client.send(head.slice(0, 40));
    client.send(head.slice(40));
    expect((await client.answer()).status).toBe(200);
    const caller = await origin.accept();
    client.send('hello');
    expect(await caller.text(5)).toBe('hello');
    caller.close();
    client.close();
  });

  it('is followed by what was sent right behind the first', async () => {
    const client = await connectTo(gate.egress.address.port);
    const target = `open.test:${origin.port}`;
    client.send(`${connectHead(target)}${connectHead(target, tokens['open'])}hello`);
    expect((await client.answer()).status).toBe(407);
    expect((await client.answer()).status).toBe(200);
    const caller = await origin.accept();
    expect(await caller.text(5)).toBe('hello');
    caller.close();
    client.close();
  });

  it('comes a few times and no more, however many are asked at once', async () => {
    const client = await connectTo(gate.egress.address.port);
    client.send(connectHead(`open.test:${origin.port}`).repeat(200));
    expect(await client.ending()).toBe('end');
    const answers = client.received.toString('latin1').split('HTTP/1.1 407').length - 1;
    expect(answers).toBe(5);
    client.close();
  });

  it('is final for a token that was refused', async () => {
    const client = await connectTo(gate.egress.address.port);
    const answer = await client.send(to('open.test', 'secret')).answer();
    expect(answer.headers.get('connection')).toBe('close');
    expect(await client.ending()).toBe('end');
  });
});

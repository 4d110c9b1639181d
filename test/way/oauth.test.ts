/**
 * OAuth from end to end: the operator puts the client's secret into the vault, egress gets the tokens and puts the current
 * one on each request; what it could not get, and what an origin refuses, is seen by the client as it should be.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ExchangeRecord } from '../../core-lite/record/exchange-reader.ts';
import { type Answer, Peer } from '../support/client.ts';
import { startGate, type TestGate } from '../support/gate.ts';
import { startTlsOrigin, type TlsOrigin } from '../support/tls-origin.ts';
import { issueToken, startTokenEndpoint, type TokenEndpoint } from '../support/token-endpoint.ts';

const HOST = 'api.bound.test';
const LOGIN = 'login.bound.test';
const CLIENT_SECRET = 'canary-client-secret';
const REFRESH = 'canary-refresh-0';

let folder: string;
let origin: TlsOrigin;
let endpoint: TokenEndpoint;
let gate: TestGate;
let egressCa: string;
let target: string;
/** One of each for each test. */
let name = 'n0';
let credential: { readonly id: string; readonly version: number };
const open: Peer[] = [];
const seen: string[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sallyport-oauth-'));
  origin = await startTlsOrigin({ name: HOST });
  endpoint = await startTokenEndpoint(LOGIN);
  await writeFile(join(folder, 'roots.pem'), origin.caPem + endpoint.caPem);
  gate = await startGate({
    hosts: `127.0.0.1 ${HOST} ${LOGIN}`,
    open: '*.bound.test=127.0.0.0/8',
    settings: { SALLYPORT_EXTRA_CA: join(folder, 'roots.pem') },
  });
  target = `${HOST}:${origin.port}`;
  await gate.world.call('PUT', '/v1/vaults/v');
  egressCa = await (await fetch(`http://127.0.0.1:${gate.world.core.address.port}/authority.pem`)).text();
});

beforeEach(async () => {
  name = `n${Number(name.slice(1)) + 1}`;
  origin.forget();
  endpoint.answer(issueToken);
  credential = await put();
  await gate.put(name, { allow: [target], credentials: [`v/${name}`] });
});

afterEach(() => {
  for (const peer of open.splice(0)) peer.close();
});

afterAll(async () => {
  await gate?.close();
  await Promise.all([origin?.close(), endpoint?.close()]);
  await rm(folder, { recursive: true, force: true });
});

describe('the current token', () => {
  it('is put on a request where the pod has the sentinel, and the record names it', async () => {
    const client = await enter();
    const served = await serve(client, 'GET', OK);
    const token = `canary-access-${endpoint.forms.length}`;
    expect(served.asked).toContain(`authorization: Bearer ${token}\r\n`);
    expect(served.answer.status).toBe(200);
    expect(endpoint.forms.at(-1)?.toString()).toBe('grant_type=client_credentials');
    await vi.waitFor(
      async () => expect(await exchanges()).toMatchObject([{ status: 200, credentials: [`v/${name}@1.1`] }]),
      SOON,
    );
  });

  it('is the next one in the next request when the operator rotated the credential', async () => {
    const client = await enter();
    await serve(client, 'GET', OK);
    const before = endpoint.forms.length;
    await gate.world.call('POST', `/v1/vaults/v/credentials/${name}/rotate`, {
      secret: { client_secret: 'canary-client-secret-2' },
    });
    await vi.waitFor(async () => {
      const { asked } = await serve(client, 'GET', OK);
      // Until the notice has come, the old token is the right one.
      expect(endpoint.forms.length).toBeGreaterThan(before);
      expect(asked).toContain(`Bearer canary-access-${endpoint.forms.length}\r\n`);
    }, SOON);
    await vi.waitFor(
      async () => expect((await exchanges())[0]).toMatchObject({ credentials: [`v/${name}@2.2`] }),
      SOON,
    );
  });

  it('follows the refresh tokens of the provider', async () => {
    credential = await put({ grant: 'refresh_token', scope: 'read', secret: { refresh_token: REFRESH } });
    endpoint.answer((count) => ({
      status: 200,
      body: { ...issueToken(count).body, refresh_token: `canary-refresh-${count}` },
    }));
    const client = await enter();
    await serve(client, 'GET', OK);
    const first = endpoint.forms.length;
    expect(endpoint.forms.at(-1)?.get('refresh_token')).toBe(REFRESH);
    expect(endpoint.forms.at(-1)?.get('scope')).toBe('read');
    await endTokens();
    await vi.waitFor(async () => {
      const { asked } = await serve(client, 'GET', OK);
      expect(asked).toContain(`Bearer canary-access-${first + 1}\r\n`);
    }, SOON);
    expect(endpoint.forms.at(-1)?.get('refresh_token')).toBe(`canary-refresh-${first}`);
  });

  it('that cannot be had is said with its code, and nothing goes to the origin', async () => {
    const before = origin.peers.length;
    endpoint.answer(() => ({
      status: 400,
      body: { error: 'invalid_grant', error_description: `${CLIENT_SECRET} is wrong` },
    }));
    const outer = await gate.connect(target, await gate.world.token(name));
    open.push(outer);
    const answer = await outer.answer();
    seen.push(answer.text);
    expect(answer.status).toBe(502);
    expect(answer.headers.get('sallyport-reason')).toBe('injection_failed');
    expect(answer.body).toContain('OAUTH_INVALID_GRANT');
    expect(origin.peers).toHaveLength(before);
    const listed = await gate.world.call<{ id: string; problem: string | null }[]>('GET', '/v1/credentials');
    expect(listed.find(({ id }) => id === credential.id)).toMatchObject({ problem: 'OAUTH_INVALID_GRANT' });
    expect(gate.lines()).toContainEqual(
      expect.objectContaining({ level: 'error', credential: credential.id, code: 'OAUTH_INVALID_GRANT' }),
    );
  });
});

describe('an origin’s 401', () => {
  it('is not seen where a GET can be asked again with another token, and both are on record', async () => {
    const client = await enter();
    ask(client, 'GET');
    const first = await reached();
    const before = tokenIn((await first.answer()).text);
    first.send(UNAUTHORIZED);
    expect(await first.ending()).toBe('end');
    const second = await reached();
    expect(tokenIn((await second.answer()).text)).toBe(before + 1);
    second.send(OK);
    expect((await client.answer()).text).toBe(OK);
    await vi.waitFor(async () => {
      expect(await exchanges()).toMatchObject([
        { status: 200, reason: 'injected', credentials: [`v/${name}@1.2`] },
        { status: 401, reason: 'injected', credentials: [`v/${name}@1.1`] },
      ]);
    }, SOON);
    expect((await serve(client, 'GET', OK)).answer.status).toBe(200);
  });

  it('is passed on the second time: a request is asked again once', async () => {
    const client = await enter();
    ask(client, 'GET');
    const first = await reached();
    await first.answer();
    first.send(UNAUTHORIZED);
    await first.ending();
    const second = await reached();
    await second.answer();
    second.send(UNAUTHORIZED);
    expect((await client.answer()).text).toBe(UNAUTHORIZED);
    // The token is new and refused already: the token endpoint is not asked for every such request.
    const count = endpoint.forms.length;
    for (const _ of [1, 2, 3]) expect((await serve(client, 'GET', UNAUTHORIZED)).answer.status).toBe(401);
    expect(endpoint.forms).toHaveLength(count);
  });

  it('to a request with a body is passed on, and the next request has another token', async () => {
    const client = await enter();
    ask(client, 'POST', 'Content-Length: 4\r\n', 'body');
    const first = await reached();
    const before = tokenIn((await first.answer()).text);
    first.send(UNAUTHORIZED);
    expect((await client.answer()).text).toBe(UNAUTHORIZED);
    expect(tokenIn((await serve(client, 'POST', OK)).asked)).toBe(before + 1);
  });

  it('is passed on where no other token can be had', async () => {
    const client = await enter();
    ask(client, 'GET');
    const first = await reached();
    await first.answer();
    endpoint.answer(() => ({ status: 503, body: {} }));
    first.send(UNAUTHORIZED);
    expect((await client.answer()).text).toBe(UNAUTHORIZED);
    ask(client, 'GET');
    const next = await client.answer();
    expect(next.status).toBe(502);
    expect(next.body).toContain('OAUTH_UNAVAILABLE');
  });

  it('to a request with a plain secret is passed on as it came', async () => {
    await gate.world.call('PUT', `/v1/vaults/v/credentials/plain-${name}`, {
      kind: 'environment_secret',
      variable: 'KEY',
      hosts: [target],
      secret: { value: 'canary-plain-secret' },
    });
    await gate.put(name, { allow: [target], credentials: [`v/plain-${name}`] });
    const client = await enter();
    expect((await serve(client, 'GET', UNAUTHORIZED)).answer.text).toBe(UNAUTHORIZED);
  });
});

describe('nothing secret of it', () => {
  it('stands in an answer, the log, or a row', async () => {
    const dump: string[] = [...seen, gate.world.logged()];
    for (const table of ['oauth_grants', 'credentials', 'exchanges', 'connections', 'admin_events']) {
      const rows = await gate.owner.query<{ text: string }>(`SELECT t::text AS text FROM ${table} t`);
      expect(rows.length).toBeGreaterThan(0);
      dump.push(...rows.map(({ text }) => text));
    }
    const sealed = await gate.owner.query<{ bytes: Buffer }>(
      `SELECT unnest(ARRAY[sealed_access, sealed_refresh]) AS bytes FROM oauth_grants
       UNION ALL SELECT sealed FROM credentials`,
    );
    dump.push(...sealed.map(({ bytes }) => String(bytes)));
    dump.push(JSON.stringify(await gate.world.call('GET', '/v1/credentials')));
    const text = dump.join('\n');
    expect(text).toContain(credential.id);
    expect(text).not.toContain('canary');
    expect(text).not.toContain(Buffer.from('canary').toString('hex'));
    expect(text).not.toContain(Buffer.from(`client-1:${CLIENT_SECRET}`).toString('base64'));
  });
});

/** The change feed and the batches of the record take their moment. */
const SOON = { timeout: 10_000, interval: 20 };
const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi';
const UNAUTHORIZED = 'HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Bearer\r\nContent-Length: 2\r\n\r\nno';

function put(more: { secret?: object; grant?: string; scope?: string } = {}) {
  return gate.world.call<{ id: string; version: number }>('PUT', `/v1/vaults/v/credentials/${name}`, {
    kind: 'oauth',
    variable: 'GH_TOKEN',
    hosts: [target],
    tokenUrl: `https://${LOGIN}:${endpoint.port}/token`,
    clientId: 'client-1',
    grant: 'client_credentials',
    ...more,
    secret: { client_secret: CLIENT_SECRET, ...more.secret },
  });
}

/** A client that has its tunnel and its TLS with the gate. */
async function enter(): Promise<Peer> {
  const outer = await gate.connect(target, await gate.world.token(name));
  open.push(outer);
  const answer = await outer.answer();
  if (answer.status !== 200) throw new Error(answer.text);
  const secured = await new Promise<TLSSocket>((resolve, reject) => {
    const socket = connect({ socket: outer.detach(), servername: HOST, ca: [egressCa] });
    socket.once('secureConnect', () => resolve(socket));
    socket.once('error', reject);
  });
  const peer = new Peer(secured);
  open.push(peer);
  return peer;
}

function ask(client: Peer, method: string, headers = '', body = ''): void {
  const head = `${method} /x HTTP/1.1\r\nHost: ${target}\r\nAuthorization: Bearer sallyport-managed\r\n`;
  client.send(`${head}${headers}\r\n${body}`);
}

/** The number of the token that a request carries. */
function tokenIn(head: string): number {
  return Number(/Bearer canary-access-(\d+)\r\n/.exec(head)?.[1]);
}

/** One request, answered by the origin with `answer`. */
async function serve(
  client: Peer,
  method: string,
  answer: string,
): Promise<{ readonly asked: string; readonly answer: Answer }> {
  ask(client, method);
  const peer = await reached();
  const asked = (await peer.answer()).text;
  peer.send(answer);
  const got = await client.answer();
  seen.push(got.text);
  return { asked, answer: got };
}

/** The connection on which the origin has a request now: a new one, or one that was kept. */
async function reached(): Promise<Peer> {
  return vi.waitFor(() => {
    const busy = origin.peers.find(({ received }) => received.length > 0);
    if (!busy) throw new Error('no request has come');
    return busy;
  }, SOON);
}

async function exchanges(): Promise<readonly ExchangeRecord[]> {
  const [row] = await gate.rows(`&environment=${name}`);
  return gate.world.call('GET', `/v1/exchanges?connection=${row?.id}`);
}

async function endTokens(): Promise<void> {
  await gate.owner.query(
    `UPDATE oauth_grants SET expires_at = clock_timestamp() - interval '1 second' WHERE credential_id = $1`,
    [credential.id],
  );
}

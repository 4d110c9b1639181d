/**
 * Interception from end to end: a client in TLS with the gate, the gate in TLS with an origin that compares every byte.
 * The client never holds the secret; the origin gets it once, and nothing of what the client put in its place.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Peer } from '../support/client.ts';
import { startGate, type TestGate } from '../support/gate.ts';
import { startTlsOrigin, type TlsOrigin } from '../support/tls-origin.ts';

const HOST = 'api.bound.test';
const SECRET = 'the-real-secret-value';

let folder: string;
let origin: TlsOrigin;
let expired: TlsOrigin;
let gate: TestGate;
let egressCa: string;
let target: string;
/** One for each test: what is kept of another's connections must not serve here. */
let environment = 'e0';
const open: Peer[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sallyport-interception-'));
  origin = await startTlsOrigin({ name: HOST });
  expired = await startTlsOrigin({ name: HOST, issuedAt: new Date(Date.now() - 40 * 86_400_000) });
  await writeFile(join(folder, 'roots.pem'), origin.caPem + expired.caPem);
  gate = await startGate({
    hosts: `127.0.0.1 ${HOST} expired.bound.test`,
    open: '*.bound.test=127.0.0.0/8',
    settings: { SALLYPORT_EXTRA_CA: join(folder, 'roots.pem') },
  });
  target = `${HOST}:${origin.port}`;
  await gate.world.call('PUT', '/v1/vaults/v');
  egressCa = await (await fetch(`http://127.0.0.1:${gate.world.core.address.port}/authority.pem`)).text();
});

beforeEach(async () => {
  await bind('secret', { hosts: [target], secret: { value: SECRET } });
  environment = `e${Number(environment.slice(1)) + 1}`;
  origin.forget();
  await gate.put(environment, {
    allow: ['*.bound.test', target, `expired.bound.test:${expired.port}`],
    credentials: ['v/secret'],
  });
});

afterEach(async () => {
  for (const peer of open.splice(0)) peer.close();
});

afterAll(async () => {
  await gate?.close();
  await Promise.all([origin?.close(), expired?.close()]);
  await rm(folder, { recursive: true, force: true });
});

const bind = (name: string, body: object) =>
  gate.world.call('PUT', `/v1/vaults/v/credentials/${name}`, {
    kind: 'environment_secret',
    variable: 'API_KEY',
    ...body,
  });

/** A client that has its tunnel and its TLS with the gate. */
async function enter(options: ConnectionOptions = {}, to = target): Promise<Peer> {
  const outer = await gate.connect(to, await gate.world.token(environment));
  open.push(outer);
  const answer = await outer.answer();
  if (answer.status !== 200) throw new Error(answer.text);
  const secured = await handshake(outer, options);
  const peer = new Peer(secured);
  open.push(peer);
  return peer;
}

function handshake(outer: Peer, options: ConnectionOptions): Promise<TLSSocket> {
  const socket = outer.detach();
  return new Promise((resolve, reject) => {
    const secured = connect({
      socket,
      servername: HOST,
      ca: [egressCa],
      ALPNProtocols: ['http/1.1'],
      ...options,
    });
    secured.once('secureConnect', () => resolve(secured));
    secured.once('error', reject);
  });
}

const ask = (path = '/x', headers = '') => `GET ${path} HTTP/1.1\r\nHost: ${target}\r\n${headers}\r\n`;
const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi';

async function headAt(peer: Peer): Promise<string> {
  const answer = await peer.answer();
  return answer.text;
}

describe('the secret', () => {
  it('is set in place of what the client sent, and everything else keeps its bytes', async () => {
    const client = await enter();
    client.send(
      ask(
        '//a/../b;c?d=e',
        'X-Odd:   two  \r\nx-odd: again\r\nauthorization: Bearer sallyport-managed\r\nAUTHORIZATION: x\r\nAccept: */*\r\n',
      ),
    );
    const peer = await origin.next();
    expect(await headAt(peer)).toBe(
      `GET //a/../b;c?d=e HTTP/1.1\r\nHost: ${target}\r\nX-Odd:   two  \r\nx-odd: again\r\nAccept: */*\r\n` +
        `authorization: Bearer ${SECRET}\r\n\r\n`,
    );
    peer.send(
      'HTTP/1.1 299 Very  Fine\r\nX-A: 1\r\nx-a: 2\r\nSet-Cookie: a\r\nSet-Cookie: b\r\nContent-Length: 2\r\n\r\nhi',
    );
    expect((await client.answer()).text).toBe(
      'HTTP/1.1 299 Very  Fine\r\nX-A: 1\r\nx-a: 2\r\nSet-Cookie: a\r\nSet-Cookie: b\r\nContent-Length: 2\r\n\r\nhi',
    );
  });

  it('goes on by its own header and format, and drops the client’s in every spelling', async () => {
    await bind('secret', {
      hosts: [target],
      placement: { header: 'X-Api-Key', format: 'key={}' },
      secret: { value: SECRET },
    });
    const client = await enter();
    client.send(ask('/x', 'X_Api_Key: evil\r\nx-API_key: evil\r\nX-Api-Key: evil\r\n'));
    const head = await headAt(await origin.next());
    expect(head).toContain(`x-api-key: key=${SECRET}\r\n`);
    expect(head).not.toContain('evil');
  });

  it('rotated between two requests of one connection, is the new one in the second', async () => {
    const client = await enter();
    client.send(ask('/1'));
    const first = await origin.next();
    expect(await headAt(first)).toContain(`Bearer ${SECRET}`);
    first.send(OK);
    await client.answer();
    await gate.world.call('POST', '/v1/vaults/v/credentials/secret/rotate', {
      secret: { value: 'another-secret' },
    });
    // The notice may still be on its way: then the request goes out with the old one, over the old connection.
    const fresh = origin.next();
    for (let sent = ''; !sent.includes('Bearer another-secret'); ) {
      client.send(ask('/2'));
      const again = first.read(1).then((byte) => {
        first.unread(byte);
        return first;
      });
      const peer = await Promise.any([fresh, again]);
      sent = await headAt(peer);
      peer.send(OK);
      await client.answer();
    }
  });

  it('unbound, ends the connection with its reason', async () => {
    const client = await enter();
    await gate.put(environment, { allow: [target], credentials: [] });
    await client.ending();
    await expect.poll(async () => (await gate.rows())[0]?.end?.reason).toBe('secret_unbound');
  });

  it('bound, ends a tunnel that is open, so that the next connection has it', async () => {
    await gate.put(environment, { allow: [target], credentials: [] });
    const tunnel = await gate.connect(target, await gate.world.token(environment));
    expect((await tunnel.answer()).status).toBe(200);
    await gate.put(environment, { allow: [target], credentials: ['v/secret'] });
    await tunnel.ending();
    await expect.poll(async () => (await gate.rows())[0]?.end?.reason).toBe('secret_bound');
  });

  it('two that want one header are refused, and nothing is sent', async () => {
    await bind('other', { hosts: [target], secret: { value: 'other-secret-value' } });
    await gate.put(environment, { allow: [target], credentials: ['v/secret', 'v/other'] });
    const before = origin.peers.length;
    const client = await enter();
    client.send(ask());
    const answer = await client.answer();
    expect([answer.status, answer.headers.get('sallyport-reason')]).toEqual([502, 'injection_failed']);
    expect(answer.headers.get('sallyport-code')).toBe('SECRETS_CONTEST_A_PLACE');
    for (const peer of origin.peers.slice(before)) expect(peer.received.length).toBe(0);
  });
});

describe('what does not go on', () => {
  it.each([
    ['another Host', `GET / HTTP/1.1\r\nHost: denied.test\r\n\r\n`, 421, 'authority_mismatch'],
    ['two Hosts', `GET / HTTP/1.1\r\nHost: ${HOST}\r\nHost: ${HOST}\r\n\r\n`, 421, 'authority_mismatch'],
    ['no Host', 'GET / HTTP/1.1\r\n\r\n', 421, 'authority_mismatch'],
    [
      'a target that is absolute',
      `GET https://denied.test/ HTTP/1.1\r\nHost: TARGET\r\n\r\n`,
      421,
      'authority_mismatch',
    ],
    ['TRACE', 'TRACE / HTTP/1.1\r\nHost: TARGET\r\n\r\n', 405, 'method_refused'],
    ['TRACE in another case', 'trAce / HTTP/1.1\r\nHost: TARGET\r\n\r\n', 405, 'method_refused'],
    [
      'a CONNECT inside',
      'CONNECT denied.test:443 HTTP/1.1\r\nHost: denied.test:443\r\n\r\n',
      405,
      'method_refused',
    ],
    [
      'a target that is no path',
      'GET @denied.test HTTP/1.1\r\nHost: TARGET\r\n\r\n',
      400,
      'request_malformed',
    ],
    [
      'both lengths',
      'POST / HTTP/1.1\r\nHost: TARGET\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n',
      400,
      'request_malformed',
    ],
    [
      'a length in disguise',
      'POST / HTTP/1.1\r\nHost: TARGET\r\nContent-Length: 4\r\nContent_Length: 5\r\n\r\n',
      400,
      'request_malformed',
    ],
    [
      'a bare LF',
      'GET / HTTP/1.1\r\nHost: TARGET\r\nX: y\nAuthorization: evil\r\n\r\n',
      400,
      'request_malformed',
    ],
    [
      'a head past 64 KiB',
      `GET / HTTP/1.1\r\nHost: TARGET\r\nX: ${'a'.repeat(66_000)}\r\n\r\n`,
      400,
      'request_malformed',
    ],
  ])('%s', async (_name, request, status, reason) => {
    const client = await enter();
    client.send(request.replaceAll('TARGET', target));
    const answer = await client.answer();
    expect([answer.status, answer.headers.get('sallyport-reason')]).toEqual([status, reason]);
    expect(await client.ending()).toBe('end');
    const connection = answer.headers.get('sallyport-connection');
    await expect
      .poll(() => gate.world.call('GET', `/v1/exchanges?connection=${connection}`))
      .toMatchObject([{ status: null, reason }]);
  });

  it.each(['-3\r\nabc', '0x3\r\nabc', '10000000000000003\r\nabc', '3;a\nGET / HTTP/1.1\r\nabc'])(
    'a body that breaks its framing: %j',
    async (body) => {
      const client = await enter();
      client.send(
        `POST /x HTTP/1.1\r\nHost: ${target}\r\nTransfer-Encoding: chunked\r\n\r\n${body}\r\n0\r\n\r\n`,
      );
      const answer = await client.answer();
      expect([answer.status, answer.headers.get('sallyport-reason')]).toEqual([400, 'request_malformed']);
      const connection = answer.headers.get('sallyport-connection');
      // What the origin got before the fault showed.
      await expect
        .poll(() => gate.world.call('GET', `/v1/exchanges?connection=${connection}`))
        .toMatchObject([{ reason: 'request_malformed', bytesUp: expect.toSatisfy((bytes) => bytes > 0) }]);
    },
  );

  it('hop-by-hop headers, the proxy’s credential, an upgrade, and what Connection nominates but the framing', async () => {
    const client = await enter();
    client.send(
      ask(
        '/x',
        'Connection: close, X-Hop, Host, Authorization\r\nX-Hop: 1\r\nProxy-Authorization: Basic x\r\n' +
          'Upgrade: h2c\r\nHTTP2-Settings: AAMA\r\nKeep-Alive: 5\r\nProxy_Authorization: x\r\nX_Hop: 2\r\nX-Stays: 1\r\n',
      ),
    );
    expect(await headAt(await origin.next())).toBe(
      `GET /x HTTP/1.1\r\nHost: ${target}\r\nX-Stays: 1\r\nauthorization: Bearer ${SECRET}\r\n\r\n`,
    );
  });

  it('trailers that authenticate or override', async () => {
    const client = await enter();
    client.send(
      `POST /x HTTP/1.1\r\nHost: ${target}\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nAuthorization: evil\r\nCookie: evil\r\nX_Api_Key: evil\r\nX-HTTP-Method-Override: DELETE\r\nX_Original_URL: /admin\r\nX-Sum: 1\r\n\r\n`,
    );
    const peer = await origin.next();
    await headAt(peer);
    const body = '2\r\nhi\r\n0\r\nX-Sum: 1\r\n\r\n';
    expect(await peer.text(body.length)).toBe(body);
  });
});

describe('TLS', () => {
  it('is refused for another name than the CONNECT’s', async () => {
    await expect(enter({ servername: 'open.test' })).rejects.toThrow();
    await expect.poll(async () => (await gate.rows())[0]?.end?.reason).toBe('client_tls');
  });

  it('shows a leaf for the host alone, by the egress CA alone', async () => {
    const client = await enter();
    const leaf = (client.socket as TLSSocket).getPeerCertificate();
    expect(leaf.subjectaltname).toBe(`DNS:${HOST}`);
    await expect(enter({ ca: [origin.caPem] })).rejects.toThrow();
  });

  it('of an origin whose certificate is bad is a 502 at the CONNECT, with the code', async () => {
    const to = `expired.bound.test:${expired.port}`;
    await bind('secret', { hosts: [to], secret: { value: SECRET } });
    const peer = await gate.connect(to, await gate.world.token(environment));
    const answer = await peer.answer();
    expect([answer.status, answer.headers.get('sallyport-reason')]).toEqual([502, 'origin_certificate']);
    const code = answer.headers.get('sallyport-code');
    expect(code).toMatch(/^(CERT_HAS_EXPIRED|ERR_TLS_CERT_ALTNAME_INVALID)$/);
    expect(answer.body).toContain(`(${code})`);
    await expect
      .poll(async () => (await gate.rows())[0])
      .toMatchObject({ verdict: 'denied', reason: 'origin_certificate', end: { code } });
    expect(gate.lines()).toContainEqual(expect.objectContaining({ reason: 'origin_certificate', code }));
  });
});

describe('answers', () => {
  it.each([
    [
      'chunked with trailers',
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-T\r\n\r\n2;e\r\nhi\r\n0\r\nX-T: 1\r\n\r\n',
    ],
    ['204', 'HTTP/1.1 204 No Content\r\n\r\n'],
    ['304 with a length', 'HTTP/1.1 304 Not Modified\r\nContent-Length: 500\r\n\r\n'],
    [
      'informational ones first',
      'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n',
    ],
  ])('pass as they are: %s', async (_name, bytes) => {
    const client = await enter();
    client.send(ask());
    const peer = await origin.next();
    await headAt(peer);
    peer.send(bytes);
    expect(await client.text(bytes.length)).toBe(bytes);
    client.send(ask('/again'));
    expect(await headAt(peer)).toContain('GET /again');
  });

  it('headers leave before the first byte of the body', async () => {
    const client = await enter();
    client.send(ask());
    const peer = await origin.next();
    await headAt(peer);
    peer.send('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n');
    const head = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n';
    expect(await client.text(head.length)).toBe(head);
  });

  it.each([
    [
      'both lengths',
      'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nPOISON',
    ],
    ['a status that is none', 'HTTP/1.1 20 OK\r\n\r\n'],
    ['no HTTP', 'SSH-2.0-x\r\n\r\n'],
    ['an unasked 101', 'HTTP/1.1 101 Switching Protocols\r\n\r\n'],
    ['a flood of informational ones', 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(50)],
  ])('that are none give a 502, and nothing of them: %s', async (_name, bytes) => {
    const client = await enter();
    client.send(ask());
    const peer = await origin.next();
    await headAt(peer);
    peer.send(bytes);
    const skipped = bytes.startsWith('HTTP/1.1 100') ? 33 : 0;
    for (let i = 0; i < skipped; i++) expect((await client.answer()).status).toBe(100);
    const answer = await client.answer();
    expect([answer.status, answer.headers.get('sallyport-reason')]).toEqual([502, 'origin_failed']);
    expect(answer.text).not.toContain('POISON');
  });

  it('that break off are broken off, never ended cleanly', async () => {
    const client = await enter();
    client.send(ask());
    const peer = await origin.next();
    await headAt(peer);
    peer.send('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel');
    await client.answer();
    await client.text(6);
    peer.close();
    await client.ending();
    expect(client.received.includes('0\r\n\r\n')).toBe(false);
    await expect.poll(async () => (await gate.rows())[0]?.end?.reason).toBeDefined();
  });

  it('that end with their connection end the client’s', async () => {
    const client = await enter();
    client.send(ask());
    const peer = await origin.next();
    await headAt(peer);
    peer.send('HTTP/1.1 200 OK\r\n\r\nall of it').finish();
    expect((await client.answer()).headers.get('connection')).toBe('close');
    expect(await client.text(9)).toBe('all of it');
    expect(await client.ending()).toBe('end');
  });

  it('asked for with Expect: the origin says go on', async () => {
    const client = await enter();
    client.send(`POST /x HTTP/1.1\r\nHost: ${target}\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n`);
    const peer = await origin.next();
    expect((await peer.text(20)).length).toBe(20);
    peer.send('HTTP/1.1 100 Continue\r\n\r\n');
    expect((await client.answer()).status).toBe(100);
    client.send('hi');
    await expect.poll(() => peer.received.toString().endsWith('hi')).toBe(true);
    expect(peer.received.toString()).toContain('Expect: 100-continue');
    peer.send(OK);
    expect((await client.answer()).status).toBe(200);
  });
});

describe('connections to the origin', () => {
  it('are used again by the next client of the same environment, and by no other', async () => {
    const first = await enter();
    first.send(ask('/1'));
    const peer = await origin.next();
    await headAt(peer);
    peer.send(OK);
    await first.answer();
    first.finish();
    await expect.poll(async () => (await gate.rows())[0]?.end?.reason).toBe('client_closed');
    const second = await enter();
    second.send(ask('/2'));
    expect(await headAt(peer)).toContain('GET /2');
    peer.send(OK);
    await second.answer();
    second.finish();
    await gate.put('other', { allow: [target], credentials: ['v/secret'] });
    const outer = await gate.connect(target, await gate.world.token('other'));
    await outer.answer();
    const other = new Peer(await handshake(outer, {}));
    other.send(ask('/3'));
    const fresh = await origin.next();
    expect(await headAt(fresh)).toContain('GET /3');
    other.close();
  });

  it('that died meanwhile are replaced for a GET', async () => {
    const client = await enter();
    client.send(ask('/1'));
    const peer = await origin.next();
    await headAt(peer);
    peer.send(OK);
    await client.answer();
    client.send(ask('/2'));
    await headAt(peer);
    peer.close();
    const fresh = await origin.next();
    expect(await headAt(fresh)).toContain('GET /2');
    fresh.send(OK);
    expect((await client.answer()).status).toBe(200);
  });
});

describe('the record', () => {
  it('has a row for each exchange: method, path without its query, status, which credential, bytes', async () => {
    const client = await enter();
    client.send(ask('/p?token=not-for-the-record'));
    const peer = await origin.next();
    await headAt(peer);
    peer.send(OK);
    await client.answer();
    client.finish();
    await expect.poll(async () => (await gate.rows())[0]?.end?.reason).toBe('client_closed');
    const shown = () => gate.world.call<object[]>('GET', `/v1/exchanges?environment=${environment}`);
    await expect.poll(shown).toEqual([
      expect.objectContaining({
        method: 'GET',
        path: '/p',
        credentials: [expect.stringMatching(/^v\/secret@\d+$/)],
      }),
    ]);
    const [row] = await gate.owner.query<Record<string, unknown>>(
      'SELECT * FROM exchanges ORDER BY id DESC LIMIT 1',
    );
    expect(row).toMatchObject({
      method: 'GET',
      path: '/p',
      status: 200,
      reason: 'injected',
      bytes_down: String(OK.length),
    });
    expect(row?.['credentials']).toEqual([expect.stringMatching(/^crd_[0-9a-f]{32}@\d+$/)]);
    expect(JSON.stringify(row)).not.toContain(SECRET);
    const [end] = await gate.owner.query<{ exchanges: number }>(
      'SELECT exchanges FROM connection_ends ORDER BY at DESC LIMIT 1',
    );
    expect(end?.exchanges).toBe(1);
    expect(gate.world.logged()).not.toContain(SECRET);
  });
});

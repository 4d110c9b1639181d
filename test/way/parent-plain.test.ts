/** Plain HTTP through parent proxies: absolute form with the gate's login, or a tunnel; the parent's 407 stays here. */
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Service } from '../../core-lite/service.ts';
import { basic, connectTo, type Peer } from '../support/client.ts';
import { startGate, type TestGate } from '../support/gate.ts';
import { type Origin, startOrigin } from '../support/origin.ts';
import { startSocksParent, type TestParent } from '../support/parent.ts';

const LOGIN = 'parent-user:parent-canary';
const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi';

let gate: TestGate;
/** The HTTP parent, as seen from its wire: it is the origin of what egress sends. */
let wire: Origin;
let origin: Origin;
let socks: TestParent;
let overHttp: Service;
let overSocks: Service;
let token: string;

beforeAll(async () => {
  wire = await startOrigin();
  origin = await startOrigin();
  socks = await startSocksParent({ login: LOGIN });
  gate = await startGate({});
  overHttp = await gate.world.egress({ SALLYPORT_PARENT_PROXY: `http://${LOGIN}@127.0.0.1:${wire.port}` });
  overSocks = await gate.world.egress({
    SALLYPORT_PARENT_PROXY: `socks5://${LOGIN}@127.0.0.1:${socks.port}`,
  });
  await gate.put('e', { allow: ['open.test', `*.test:${origin.port}`, 'localhost', 'metadata'] });
  token = await gate.world.token('e');
});

afterAll(async () => {
  await gate?.close();
  await Promise.all([wire, origin, socks].map((each) => each?.close()));
});

const enter = (service: Service): Promise<Peer> => connectTo(service.address.port);
const ask = (url: string) =>
  `GET ${url} HTTP/1.1\r\nHost: whatever\r\nProxy-Authorization: ${basic(token)}\r\nX-Odd:  one\r\n\r\n`;

async function ended(host: string) {
  await expect.poll(async () => (await gate.rows(`&host=${host}`))[0]?.end ?? null).not.toBeNull();
  return (await gate.rows(`&host=${host}`))[0];
}

describe('through an HTTP parent', () => {
  it('it goes in absolute form with the login of the gate in place of the client’s; connections are kept', async () => {
    const client = await enter(overHttp);
    client.send(ask('http://open.test/a?b'));
    const parent = await wire.accept();
    const login = `Basic ${Buffer.from(LOGIN).toString('base64')}`;
    for (const path of ['/a?b', '/c']) {
      expect((await parent.answer()).text).toBe(
        `GET http://open.test${path} HTTP/1.1\r\nHost: open.test\r\nX-Odd:  one\r\nProxy-Authorization: ${login}\r\n\r\n`,
      );
      parent.send(OK);
      expect((await client.answer()).text).toBe(OK);
      if (path !== '/c') client.send(ask('http://open.test/c'));
    }
    expect(await ended('open.test')).toMatchObject({
      verdict: 'allowed',
      end: { addresses: [], address: null },
    });
    expect(gate.dns.lookups).toEqual([]);
    client.close();
  });

  it('its login does not come back: it is masked, or the answer is cut off', async () => {
    const login = Buffer.from(LOGIN).toString('base64');
    const client = await enter(overHttp);
    const host = `echo.test:${origin.port}`;
    client.send(ask(`http://${host}/`));
    const parent = await wire.accept();
    await parent.answer();
    const echo = (basic: string, password: string) =>
      `HTTP/1.1 200 OK\r\nX-Sent: Basic ${basic}\r\nContent-Length: ${basic.length + 14}\r\n\r\n${basic}${password}`;
    parent.send(echo(login, 'parent-canary!'));
    expect((await client.answer()).text).toBe(echo('*'.repeat(login.length), '*************!'));
    client.send(ask(`http://${host}/coded`));
    await parent.answer();
    const coded = gzipSync(`you sent ${login}`);
    parent.send(
      Buffer.concat([
        Buffer.from(`HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: ${coded.length}\r\n\r\n`),
        coded,
      ]),
    );
    const refused = await client.answer();
    expect(refused.headers.get('sallyport-reason')).toBe('secret_echoed');
    const read = () => gate.world.call<unknown[]>('GET', '/v1/exchanges?environment=e');
    const noted = ['/', '/coded'].map((path) => expect.objectContaining({ path, status: 200 }));
    await expect.poll(read).toEqual(expect.arrayContaining(noted));
    expect(await read()).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ path: '/', masked: 3 }),
        expect.objectContaining({ path: '/coded', reason: 'secret_echoed' }),
      ]),
    );
  });

  it('its 407 is our 502 and no word of it is passed on; so it is for what comes after', async () => {
    const host = `shut.test:${origin.port}`;
    const client = await enter(overHttp);
    client.send(ask(`http://${host}/`));
    const parent = await wire.accept();
    await parent.answer();
    parent.send(
      'HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm="WORDS"\r\nContent-Length: 5\r\n\r\nWORDS',
    );
    const answer = await client.answer();
    expect([answer.status, answer.headers.get('sallyport-reason')]).toEqual([502, 'parent_failed']);
    expect(answer.text).toContain('(PARENT_AUTH)');
    expect(answer.text).not.toMatch(/WORDS|Proxy-Authenticate/);
    await parent.ending();
    expect(await ended('shut.test')).toMatchObject({ verdict: 'denied', end: { reason: 'parent_failed' } });
    client.close();
  });

  it('a WebSocket goes in a tunnel, without the login; what stays plain never goes that way', async () => {
    const host = `socket.test:${origin.port}`;
    const client = await enter(overHttp);
    const upgrade =
      'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n';
    client.send(ask(`http://${host}/ws`).replace('\r\n\r\n', `\r\n${upgrade}\r\n`));
    const parent = await wire.accept();
    expect((await parent.answer()).text).toMatch(new RegExp(`^CONNECT ${host} HTTP/1.1\r\n`));
    parent.send('HTTP/1.1 200 OK\r\n\r\n');
    expect((await parent.answer()).text).toBe(
      `GET /ws HTTP/1.1\r\nHost: ${host}\r\nX-Odd:  one\r\n${upgrade}\r\n`,
    );
    // Declined, so the tunnel is kept; a plain request is no business of the origin's behind it.
    parent.send(OK);
    expect((await client.answer()).status).toBe(200);
    client.send(ask(`http://${host}/plain`));
    const other = await wire.accept();
    expect((await other.answer()).text).toMatch(new RegExp(`^GET http://${host}/plain HTTP/1.1\r\n`));
    expect(parent.received.toString()).not.toContain('/plain');
    client.close();
  });

  it('a 101 of its own to what asked for none is a 502, and nothing goes on behind it', async () => {
    const host = `switch.test:${origin.port}`;
    const client = await enter(overHttp);
    const half = 'Connection: Upgrade\r\nUpgrade: websocket\r\n';
    client.send(ask(`http://${host}/`).replace('\r\n\r\n', `\r\n${half}\r\n`));
    const parent = await wire.accept();
    await parent.answer();
    parent.send(`HTTP/1.1 101 Switching Protocols\r\n${half}\r\n`);
    client.send('GET http://inside.test/ HTTP/1.1\r\nHost: inside.test\r\n\r\n');
    expect((await client.answer()).status).toBe(502);
    await parent.ending();
    expect(parent.received.toString()).not.toContain('inside.test');
    client.close();
  });

  it('what is denied never reaches it', async () => {
    const before = wire.reached;
    for (const [url, reason] of [
      ['http://denied.example/', 'host_denied'],
      ['http://localhost/', 'address_refused'],
      ['http://metadata/', 'address_refused'],
    ] as const) {
      const client = await enter(overHttp);
      client.send(ask(url));
      expect((await client.answer()).headers.get('sallyport-reason')).toBe(reason);
      client.close();
    }
    expect(wire.reached).toBe(before);
  });
});

describe('through a SOCKS5 parent', () => {
  it('it goes to the origin in its tunnel, in origin form', async () => {
    const client = await enter(overSocks);
    const host = `plain.test:${origin.port}`;
    client.send(ask(`http://${host}/a`));
    const peer = await origin.accept();
    expect((await peer.answer()).text).toBe(`GET /a HTTP/1.1\r\nHost: ${host}\r\nX-Odd:  one\r\n\r\n`);
    // What the origin says passes as it is: no login of the gate's was sent to it.
    const odd = 'HTTP/1.1 407 Odd\r\nContent-Length: 2\r\n\r\nhi';
    peer.send(odd);
    expect((await client.answer()).text).toBe(odd);
    expect(socks.asked).toEqual([host]);
    client.close();
  });
});

describe('the login', () => {
  it('is in no log line', () => expect(gate.world.logged()).not.toMatch(/parent-canary|cGFyZW50/));
});

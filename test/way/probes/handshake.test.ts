/** The probes of how a connection begins: what is sent when, who speaks first, how the token is shown. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { basic, connectHead, Peer } from '../../support/client.ts';
import { SECRET } from '../../support/inside.ts';
import { holdHello } from './hello.ts';
import { BOUND, readHead, Stand, secure, type Way } from './stand.ts';

let folder: string;
let stand: Stand;
let count = 0;
const run = promisify(execFile);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sallyport-handshake-'));
  stand = await Stand.start();
  await writeFile(join(folder, 'ca.pem'), stand.inside.caPem);
});
beforeEach(() => {
  count += 1;
  return stand.renew(`e${count}`);
});
afterEach(() => stand.release());
afterAll(async () => {
  await stand?.close();
  await rm(folder, { recursive: true, force: true });
});

const WAYS = ['a tunnel', 'an interception', 'plain HTTP'] as const;
const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi';

/** The head of a client's first request, and what follows it once it is answered, showing this credential. */
async function begin(name: Way['name'], client: Peer, credential: string): Promise<Peer> {
  const { open, bound } = stand.targets;
  if (name === 'plain HTTP') {
    return client.send(`GET http://${open}/x HTTP/1.1\r\nHost: ${open}\r\n${credential}\r\n`);
  }
  const target = name === 'a tunnel' ? open : bound;
  client.send(`CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n${credential}\r\n`);
  expect((await client.answer()).status).toBe(200);
  const inner = name === 'a tunnel' ? client : stand.keep(await secure(client, stand.inside.caPem));
  return inner.send(`GET /x HTTP/1.1\r\nHost: ${target}\r\n\r\n`);
}

/** Serves one request. @returns the head that the origin got */
async function serveOne(name: Way['name']): Promise<string> {
  const origin = await stand.way(name).accept();
  const head = await readHead(origin);
  origin.send(OK).finish();
  return head;
}

describe.each(WAYS)('%s', (name) => {
  it.each([
    ['basic in lower case', () => basic(stand.token).replace('Basic', 'basic')],
    ['Bearer', () => `Bearer ${stand.token}`],
    ['no user', () => basic(stand.token, '')],
    ['the token as the user', () => `Basic ${Buffer.from(`${stand.token}:`).toString('base64')}`],
  ])('takes %s, and shows the origin nothing of it', async (_, credential) => {
    const client = await stand.knock();
    const [inner, head] = await Promise.all([
      begin(name, client, `Proxy-Authorization: ${credential()}\r\n`),
      serveOne(name),
    ]);
    expect((await inner.answer()).body).toBe('hi');
    expect(head).not.toMatch(/proxy-/i);
    expect(head).not.toContain(stand.token);
  });

  it('is asked again on the same connection after a 407', async () => {
    const client = await stand.knock();
    const { open, bound } = stand.targets;
    client.send(
      name === 'plain HTTP'
        ? `GET http://${open}/x HTTP/1.1\r\nHost: ${open}\r\n\r\n`
        : connectHead(name === 'a tunnel' ? open : bound),
    );
    const refused = await client.answer();
    expect([refused.status, refused.headers.get('connection')]).toEqual([407, 'keep-alive']);
    const served = serveOne(name);
    const inner = await begin(name, client, `Proxy-Authorization: ${basic(stand.token)}\r\n`);
    expect((await inner.answer()).body).toBe('hi');
    await served;
  });

  it('serves curl --proxy-anyauth, and curl that says Basic at once', async () => {
    const proxy = `http://any:${stand.token}@127.0.0.1:${stand.port}`;
    const { open, bound } = stand.targets;
    const url = name === 'an interception' ? `https://${bound}/x` : `http://${open}/x`;
    const tunnel = name === 'a tunnel' ? ['--proxytunnel'] : [];
    for (const auth of [['--proxy-anyauth'], []]) {
      const args = ['-sS', '--cacert', join(folder, 'ca.pem'), '-x', proxy, ...tunnel, ...auth, url];
      const [{ stdout }, head] = await Promise.all([run('curl', args, { env: {} }), serveOne(name)]);
      expect(stdout).toBe('hi');
      expect(head.includes(SECRET)).toBe(name === 'an interception');
    }
  });
});

describe('a ClientHello', () => {
  const options = () => ({ servername: BOUND, ca: [stand.inside.caPem], ecdhCurve: 'X25519MLKEM768:X25519' });

  it('right behind the head of the CONNECT is heard', async () => {
    const { hello, continueOver } = await holdHello(options());
    const client = await stand.knock();
    client.send(Buffer.concat([Buffer.from(connectHead(stand.targets.bound, stand.token)), hello]));
    expect((await client.answer()).status).toBe(200);
    const inner = stand.keep(new Peer(await continueOver(client)));
    inner.send(`GET /x HTTP/1.1\r\nHost: ${stand.targets.bound}\r\n\r\n`);
    expect(await serveOne('an interception')).toContain(SECRET);
    expect((await inner.answer()).body).toBe('hi');
  });

  it.each([1, 2, 3])(
    'with a post-quantum share, in parts cut at each %i. third of it, is heard',
    async (third) => {
      const { hello, continueOver } = await holdHello(options());
      // More than a packet of Ethernet carries: the name comes with the second one.
      expect(hello.length).toBeGreaterThan(1_300);
      const client = await stand.tunnelTo(stand.targets.bound);
      const at = Math.min(hello.length - 1, Math.floor((hello.length * third) / 3));
      await new Promise((resolve) => client.socket.write(hello.subarray(0, at), resolve));
      // Another connection goes all its way meanwhile: the first part has long come.
      await Promise.all([stand.tunnelTo(stand.targets.open), stand.way('a tunnel').accept()]);
      client.send(hello.subarray(at));
      const inner = stand.keep(new Peer(await continueOver(client)));
      inner.send(`GET /x HTTP/1.1\r\nHost: ${stand.targets.bound}\r\n\r\n`);
      expect(await serveOne('an interception')).toContain(SECRET);
      expect((await inner.answer()).body).toBe('hi');
    },
  );
});

describe('the 200', () => {
  it.each(['open', 'bound'] as const)('has no length and no coding: %s', async (which) => {
    const client = await stand.knock();
    const answer = await client.send(connectHead(stand.targets[which], stand.token)).answer();
    expect(answer.status).toBe(200);
    expect(answer.text).not.toMatch(/^(content-length|transfer-encoding)/im);
    if (which === 'open') await stand.way('a tunnel').accept();
  });
});

describe('a bound host', () => {
  it('that speaks first, and no TLS, is refused at the CONNECT and not waited for', async () => {
    const target = stand.targets.open;
    await stand.inside.bind('spoken', [target]);
    const client = await stand.knock();
    client.send(connectHead(target, await stand.inside.gate.world.token('spoken')));
    const origin = stand.keep(await stand.open.accept());
    origin.send('220 ready\r\n');
    const answer = await client.answer();
    expect([answer.status, answer.headers.get('sallyport-reason')]).toEqual([502, 'connect_failed']);
  });
});

describe('a connection that was checked', () => {
  it('of an interception carries no second request to another host', async () => {
    const { client, origin } = await stand.ask(stand.way('an interception'), 'GET', '/1');
    origin.send('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
    await client.answer();
    client.send('GET /2 HTTP/1.1\r\nHost: other.bound.test\r\n\r\n');
    const answer = await client.answer();
    expect([answer.status, answer.headers.get('sallyport-reason')]).toEqual([421, 'authority_mismatch']);
    expect(origin.received.length).toBe(0);
  });

  it('of plain HTTP carries no second request to a host that is denied', async () => {
    const { client, origin } = await stand.ask(stand.way('plain HTTP'), 'GET', '/1');
    origin.send('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
    await client.answer();
    client.send(
      `GET http://denied.test/ HTTP/1.1\r\nHost: ${stand.targets.open}\r\nProxy-Authorization: Bearer ${stand.token}\r\n\r\n`,
    );
    const answer = await client.answer();
    expect([answer.status, answer.headers.get('sallyport-reason')]).toEqual([403, 'host_denied']);
    expect(origin.received.length).toBe(0);
  });
});

describe('the gate itself', () => {
  it.each(['127.0.0.1', 'localhost', '[::1]', '0.0.0.0'])(
    'is not reached through itself: %s',
    async (host) => {
      const before = (await stand.inside.gate.rows()).length;
      for (const port of [stand.port, stand.inside.gate.world.core.address.port]) {
        const client = await stand.knock();
        const answer = await client.send(connectHead(`${host}:${port}`, stand.token)).answer();
        expect(answer.status).toBeGreaterThanOrEqual(400);
        expect(await client.ending()).toBe('end');
      }
      const rows = (await stand.inside.gate.rows()).slice(0, -before || undefined);
      expect(rows.every(({ verdict }) => verdict === 'denied')).toBe(true);
    },
  );
});

describe('an egress token', () => {
  it('is short enough for every client', () => {
    // The least that an old client cuts off is 4,095 bytes of user and password.
    expect(stand.token.length).toBeLessThan(1_024);
    // Nothing in it has to be percent-encoded in the URL of a proxy.
    expect(stand.token).toMatch(/^[\w.-]+$/);
  });
});

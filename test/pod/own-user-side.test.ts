/** The proxy of a run that asks for no password: whom it serves, and that nobody else gets a byte through. */
import { createServer, type Server } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ProveOwnUser } from '../../pod/peer-user.ts';
import { type Relay, startRelay } from '../../pod/relay.ts';
import { connectHead, connectTo, Peer } from '../support/client.ts';

const TARGET = 'api.example.com:443';
const OPENED = 'HTTP/1.1 200 Connection established\r\n\r\n';

let egress: Server;
let relay: Relay;
let port: number;
let prove: ProveOwnUser;
const arrived: Peer[] = [];
const open: Peer[] = [];

beforeAll(async () => {
  egress = createServer({ allowHalfOpen: true }, (socket) => {
    const peer = new Peer(socket);
    open.push(peer);
    arrived.push(peer);
    socket.write(OPENED);
  });
  await new Promise<void>((resolve) => egress.listen(0, '127.0.0.1', resolve));
  const address = egress.address();
  const at = { host: '127.0.0.1', port: typeof address === 'object' && address !== null ? address.port : 0 };
  relay = await startRelay({
    secret: 'the-secret-of-the-run',
    egress: at,
    gates: at,
    egressToken: () => 'token-1',
    runToken: () => 'run',
    proveOwnUser: (socket) => prove(socket),
  });
  port = relay.ownUserPort ?? 0;
});
beforeEach(() => {
  prove = async () => true;
});
afterEach(() => {
  for (const peer of open.splice(0)) peer.close();
  arrived.length = 0;
});
afterAll(async () => {
  await relay.close();
  egress.close();
});

async function enter(text: string): Promise<Peer> {
  const peer = await connectTo(port);
  open.push(peer);
  return peer.send(text);
}

const BROWSERS = ['Origin: https://page.example', 'Sec-Fetch-Site: cross-site', 'sec-fetch-dest: empty'];

describe('a program of our own user', () => {
  it('is let through without a password, with the token of the run', async () => {
    const client = await enter(connectHead(TARGET));
    expect((await client.answer()).status).toBe(200);
    const head = (await arrived[0]?.answer())?.text ?? '';
    expect(head).toContain('Proxy-Authorization: Bearer token-1\r\n');
    client.send('question');
    expect(await arrived[0]?.text(8)).toBe('question');
  });

  it('may have sent its request before it is proved whose it is', async () => {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    prove = () => promise;
    const client = await enter(connectHead(TARGET));
    expect(arrived).toEqual([]);
    resolve(true);
    expect((await client.answer()).status).toBe(200);
  });

  it('may be gone before it is proved whose it is', async () => {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const { promise: asked, resolve: ask } = Promise.withResolvers<void>();
    prove = (socket) => {
      socket.once('close', () => resolve(true));
      ask();
      return promise;
    };
    const client = await enter(connectHead(TARGET));
    await asked;
    client.reset();
    await promise;
    prove = async () => true;
    expect((await (await enter(connectHead(TARGET))).answer()).status).toBe(200);
    expect(arrived).toHaveLength(1);
  });

  it.each(BROWSERS)('is refused as a browser with %s', async (line) => {
    const requests = [
      `CONNECT ${TARGET} HTTP/1.1\r\nHost: ${TARGET}\r\n${line}\r\n\r\n`,
      `GET http://plain.example/ HTTP/1.1\r\nHost: plain.example\r\n${line}\r\n\r\n`,
    ];
    for (const request of requests) {
      const client = await enter(request);
      expect((await client.answer()).status).toBe(403);
      expect(await client.ending()).toBe('end');
    }
    expect(arrived).toEqual([]);
  });

  it.each(['GET ftp://plain.example/', 'OPTIONS *'])('%s goes on, for egress to refuse', async (line) => {
    await enter(`${line} HTTP/1.1\r\nHost: plain.example\r\n\r\n`);
    await expect.poll(() => arrived.length).toBe(1);
    expect((await arrived[0]?.answer())?.text).toContain(`${line} HTTP/1.1\r\n`);
  });

  it('is refused when it asks as a web server is asked, as a page can make a browser do', async () => {
    const body = connectHead(TARGET);
    const client = await enter(
      `POST / HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    const answer = await client.answer();
    expect([answer.status, answer.headers.get('connection')]).toEqual([400, 'close']);
    expect(await client.ending()).toBe('end');
    expect(arrived).toEqual([]);
  });
});

describe('whoever is not proved to be', () => {
  it('is refused before anything of theirs is read, and told where to ask', async () => {
    prove = async () => false;
    const client = await enter(connectHead(TARGET, 'the-secret-of-the-run'));
    const answer = await client.answer();
    expect(answer.status).toBe(403);
    expect(answer.body).toContain('HTTPS_PROXY');
    expect(await client.ending()).toBe('end');
    expect(arrived).toEqual([]);
  });
});

it('there is no such port where nothing can be proved', async () => {
  const at = { host: '127.0.0.1', port: 1 };
  const other = await startRelay({
    secret: 's',
    egress: at,
    gates: at,
    egressToken: () => 't',
    runToken: () => 'r',
    proveOwnUser: null,
  });
  expect(other.ownUserPort).toBe(null);
  await other.close();
});

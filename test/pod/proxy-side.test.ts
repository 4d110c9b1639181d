/** The proxy of a run, between real sockets: a client of the run, and an egress that is scripted by the test. */
import { createServer, type Server } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Relay, startRelay } from '../../pod/relay.ts';
import { basic, connectHead, connectTo, Peer } from '../support/client.ts';

const SECRET = 'the-secret-of-the-run';
const TARGET = 'api.example.com:443';

let egress: Server;
let relay: Relay;
let token: string;
const arrived: Peer[] = [];
const waiting: ((peer: Peer) => void)[] = [];
const open: Peer[] = [];

beforeAll(async () => {
  egress = createServer({ allowHalfOpen: true }, (socket) => {
    const peer = new Peer(socket);
    open.push(peer);
    const waiter = waiting.shift();
    if (waiter) waiter(peer);
    else arrived.push(peer);
  });
  await new Promise<void>((resolve) => egress.listen(0, '127.0.0.1', resolve));
  relay = await start(portOf(egress));
});
beforeEach(() => {
  token = 'token-1';
});
afterEach(() => {
  for (const peer of open.splice(0)) peer.close();
  arrived.length = 0;
});
afterAll(async () => {
  await relay.close();
  egress.close();
});

const start = (port: number): Promise<Relay> => {
  const nowhere = { host: '127.0.0.1', port: 1 };
  const egressToken = () => token;
  return startRelay({
    secret: SECRET,
    egress: { host: '127.0.0.1', port },
    gates: nowhere,
    egressToken,
    runToken: () => 'run',
  });
};

function portOf(server: Server): number {
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

async function enter(text: string, port = relay.proxyPort): Promise<Peer> {
  const peer = await connectTo(port);
  open.push(peer);
  return peer.send(text);
}

function nextAtEgress(): Promise<Peer> {
  const peer = arrived.shift();
  return peer ? Promise.resolve(peer) : new Promise((resolve) => waiting.push(resolve));
}

/** A tunnel that egress opened. */
async function openTunnel(more = ''): Promise<{ client: Peer; origin: Peer }> {
  const client = await enter(connectHead(TARGET, SECRET) + more);
  const origin = await nextAtEgress();
  await origin.answer();
  origin.send(OPENED);
  await client.answer();
  return { client, origin };
}

describe('a CONNECT with the secret', () => {
  it('goes to egress as it came, with the token in place of the secret', async () => {
    await enter(
      `CONNECT ${TARGET} HTTP/1.1\r\nUser-Agent: x\r\nHost: ${TARGET}\r\nProxy-Connection: Keep-Alive\r\nProxy-Authorization: ${basic(SECRET)}\r\nx-Odd: 1\r\n\r\n`,
    );
    expect((await (await nextAtEgress()).answer()).text).toBe(
      `CONNECT ${TARGET} HTTP/1.1\r\nUser-Agent: x\r\nHost: ${TARGET}\r\nx-Odd: 1\r\nProxy-Authorization: Bearer token-1\r\n\r\n`,
    );
  });

  it.each([
    [
      'as HTTP/1.0 without Host',
      `CONNECT ${TARGET} HTTP/1.0\r\nProxy-authorization: ${basic(SECRET)}\r\n\r\n`,
    ],
    [
      'as Bearer',
      `CONNECT ${TARGET} HTTP/1.1\r\nHost: ${TARGET}\r\nproxy-authorization: bearer ${SECRET}\r\n\r\n`,
    ],
    [
      'as basic in lower case',
      `CONNECT ${TARGET} HTTP/1.1\r\nHost: ${TARGET}\r\nProxy-Authorization: ${basic(SECRET).replace('Basic', 'basic')}\r\n\r\n`,
    ],
  ])('%s', async (_name, head) => {
    await enter(head);
    expect((await (await nextAtEgress()).answer()).text).toContain('Proxy-Authorization: Bearer token-1\r\n');
  });

  it('uses the token of the moment', async () => {
    await enter(connectHead(TARGET, SECRET));
    await (await nextAtEgress()).answer();
    token = 'token-2';
    await enter(connectHead(TARGET, SECRET));
    expect((await (await nextAtEgress()).answer()).text).toContain('Bearer token-2\r\n');
  });
});

describe('without the secret', () => {
  it.each([
    ['another', connectHead(TARGET, 'another')],
    ['one that only begins like it', connectHead(TARGET, SECRET.slice(0, -1))],
    ['the token itself', connectHead(TARGET, 'token-1')],
    [
      'two of them',
      `CONNECT ${TARGET} HTTP/1.1\r\nHost: ${TARGET}\r\nProxy-Authorization: ${basic(SECRET)}\r\nProxy-Authorization: ${basic(SECRET)}\r\n\r\n`,
    ],
    ['no Basic', `CONNECT ${TARGET} HTTP/1.1\r\nHost: ${TARGET}\r\nProxy-Authorization: ${SECRET}\r\n\r\n`],
  ])('%s: refused for good, and egress hears nothing', async (_name, head) => {
    const client = await enter(head);
    const answer = await client.answer();
    expect([answer.status, answer.headers.get('connection')]).toEqual([407, 'close']);
    expect(answer.text).not.toContain('token-1');
    expect(await client.ending()).toBe('end');
    expect(arrived).toEqual([]);
  });

  it('none at all: asked for, and taken on the same connection', async () => {
    const client = await enter(connectHead(TARGET));
    const answer = await client.answer();
    expect([answer.status, answer.headers.get('proxy-authenticate')]).toEqual([
      407,
      'Basic realm="sallyport"',
    ]);
    client.send(connectHead(TARGET, SECRET));
    const origin = await nextAtEgress();
    await origin.answer();
    origin.send(OPENED);
    expect((await client.answer()).status).toBe(200);
  });
});

describe('what egress answers', () => {
  it.each([
    ['a denial', 403, 'Sallyport-Reason: host_not_allowed\r\n'],
    ['a stale run', 407, 'Proxy-Authenticate: Basic realm="sallyport"\r\n'],
    ['a failed dial', 502, ''],
  ])('%s goes back to the letter, and closes', async (_name, status, headers) => {
    const client = await enter(connectHead(TARGET, SECRET));
    const origin = await nextAtEgress();
    await origin.answer();
    const refusal = `HTTP/1.1 ${status} Its Own Words\r\n${headers}Content-Length: 5\r\nConnection: close\r\n\r\nwhy\r\n`;
    origin.send(refusal).finish();
    expect((await client.answer()).text).toBe(refusal);
    expect(await client.ending()).toBe('end');
  });

  it('in pieces is put together', async () => {
    const client = await enter(connectHead(TARGET, SECRET));
    const origin = await nextAtEgress();
    await origin.answer();
    origin.send('HTTP/1.1 200 O');
    await new Promise((resolve) => origin.socket.write('K\r\n', resolve));
    origin.send('\r\nfirst bytes');
    expect((await client.answer()).status).toBe(200);
    expect(await client.text(11)).toBe('first bytes');
  });

  it('is a 502 where egress hangs up without a word, or is not there', async () => {
    const client = await enter(connectHead(TARGET, SECRET));
    const origin = await nextAtEgress();
    await origin.answer();
    origin.finish();
    expect((await client.answer()).status).toBe(502);
    const lonely = await start(1);
    const other = await enter(connectHead(TARGET, SECRET), lonely.proxyPort);
    expect((await other.answer()).status).toBe(502);
    expect(await other.ending()).toBe('end');
    await lonely.close();
  });
});

describe('a tunnel', () => {
  it('holds what came right behind the CONNECT until it is open', async () => {
    const client = await enter(`${connectHead(TARGET, SECRET)}early`);
    const origin = await nextAtEgress();
    await origin.answer();
    expect(origin.received.length).toBe(0);
    origin.send(OPENED);
    await client.answer();
    expect(await origin.text(5)).toBe('early');
  });

  it('passes an end on and keeps the other direction', async () => {
    const { client, origin } = await openTunnel();
    client.send('question').finish();
    expect(await origin.text(8)).toBe('question');
    expect(await origin.ending()).toBe('end');
    origin.send('answer').finish();
    expect(await client.text(6)).toBe('answer');
    expect(await client.ending()).toBe('end');
  });

  it('passes a break on as a break, either way', async () => {
    const one = await openTunnel();
    one.origin.reset();
    expect(await one.client.ending()).toBe('reset');
    const other = await openTunnel();
    other.client.reset();
    expect(await other.origin.ending()).toBe('reset');
  });

  it('loses and changes nothing of many bytes, and holds back who is too fast', async () => {
    const { client, origin } = await openTunnel();
    const socket = client.detach();
    const chunk = Buffer.alloc(1 << 20, 'x');
    let written = 0;
    while (written < 64 && origin.socket.write(chunk)) written += 1;
    // Nobody reads: what is held on the way is bounded by the buffers of the sockets.
    await expect.poll(() => origin.socket.writableLength).toBeGreaterThan(0);
    let read = 0;
    socket.on('data', (data: Buffer) => {
      read += data.length;
    });
    origin.finish();
    socket.resume();
    await new Promise((resolve) => socket.once('end', resolve));
    expect(read).toBe(origin.socket.bytesWritten - OPENED.length);
  });

  it('breaks off with the relay', async () => {
    const own = await start(portOf(egress));
    const client = await enter(connectHead(TARGET, SECRET), own.proxyPort);
    const origin = await nextAtEgress();
    await origin.answer();
    origin.send(OPENED);
    await client.answer();
    await own.close();
    await client.ending();
    await origin.ending();
  });
});

describe('what is no request', () => {
  it.each([
    ['not HTTP', 'hello\r\n\r\n'],
    ['a head without end', `CONNECT ${TARGET} HTTP/1.1\r\nX: ${'x'.repeat(70_000)}`],
  ])('%s is refused', async (_name, text) => {
    const client = await enter(text);
    expect((await client.answer()).status).toBe(400);
    expect(arrived).toEqual([]);
  });
});

describe('a request without CONNECT', () => {
  it('goes to egress with the token, and its answer back', async () => {
    const client = await enter(
      `GET http://plain.example.com/x?y HTTP/1.1\r\nHost: plain.example.com\r\nX-Odd:  1\r\nProxy-Authorization: ${basic(SECRET)}\r\nProxy-Connection: keep-alive\r\n\r\n`,
    );
    const origin = await nextAtEgress();
    const head = (await origin.answer()).text;
    expect(head).toMatch(
      /^GET http:\/\/plain\.example\.com\/x\?y HTTP\/1\.1\r\nHost: plain\.example\.com\r\n/,
    );
    expect(head).toContain('Proxy-Authorization: Bearer token-1\r\n');
    expect(head).not.toContain(basic(SECRET));
    expect(head).not.toMatch(/proxy-connection/i);
    origin.send(
      'HTTP/1.1 405 No\r\nSallyport-Reason: method_refused\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno',
    );
    const answer = await client.answer();
    expect([answer.status, answer.headers.get('sallyport-reason'), answer.body]).toEqual([
      405,
      'method_refused',
      'no',
    ]);
  });

  it.each(['GET ftp://plain.example.com/x', 'GET https://plain.example.com/x', 'OPTIONS *'])(
    '%s goes on too, for egress to refuse in its own words',
    async (line) => {
      const client = await enter(
        `${line} HTTP/1.1\r\nHost: plain.example.com\r\nProxy-Authorization: ${basic(SECRET)}\r\n\r\n`,
      );
      const origin = await nextAtEgress();
      expect((await origin.answer()).text.startsWith(`${line} HTTP/1.1\r\n`)).toBe(true);
      origin.send(
        'HTTP/1.1 400 No\r\nSallyport-Reason: scheme_refused\r\nContent-Length: 0\r\nConnection: close\r\n\r\n',
      );
      expect((await client.answer()).headers.get('sallyport-reason')).toBe('scheme_refused');
    },
  );

  it.each([
    ['without the secret', 'GET http://plain.example.com/ HTTP/1.1\r\nHost: plain.example.com\r\n\r\n', 407],
    ['for a path', `GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nProxy-Authorization: ${basic(SECRET)}\r\n\r\n`, 400],
  ])('%s is refused here', async (_name, text, status) => {
    const client = await enter(text);
    expect((await client.answer()).status).toBe(status);
    expect(arrived).toEqual([]);
  });
});

const OPENED = 'HTTP/1.1 200 Connection established\r\n\r\n';

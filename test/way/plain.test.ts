/** Plain HTTP from end to end: absolute form in, origin form out, with the same checks and record as a CONNECT. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { startRelay } from '../../pod/relay.ts';
import { basic, connectTo, type Peer } from '../support/client.ts';
import { startGate, type TestGate } from '../support/gate.ts';
import { type Origin, startOrigin } from '../support/origin.ts';

let gate: TestGate;
let origin: Origin;
let host: string;
let token: string;
const open: Peer[] = [];

beforeAll(async () => {
  origin = await startOrigin();
  gate = await startGate({
    hosts: '127.0.0.1 open.test other.test bound.test\n10.0.0.1 inside.test\n',
    open: '*.test=127.0.0.0/8',
    dns: {},
  });
  host = `open.test:${origin.port}`;
  await gate.world.call('PUT', '/v1/vaults/v');
  await gate.world.call('PUT', '/v1/vaults/v/credentials/s', {
    kind: 'environment_secret',
    variable: 'API_KEY',
    hosts: ['bound.test'],
    secret: { value: 'the-real-secret-value' },
  });
  await gate.put('e', {
    allow: [host, 'bound.test', `bound.test:${origin.port}`, 'inside.test'],
    credentials: ['v/s'],
  });
  token = await gate.world.token('e');
});

afterEach(() => {
  for (const peer of open.splice(0)) peer.close();
});

afterAll(async () => {
  await gate?.close();
  await origin?.close();
});

async function enter(): Promise<Peer> {
  const peer = await connectTo(gate.egress.address.port);
  open.push(peer);
  return peer;
}

const ask = (url = `http://${host}/x`, headers = '', method = 'GET') =>
  `${method} ${url} HTTP/1.1\r\nHost: whatever\r\nProxy-Authorization: ${basic(token)}\r\n${headers}\r\n`;
const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi';

async function accept(): Promise<Peer> {
  const peer = await origin.accept();
  open.push(peer);
  return peer;
}

/** The head that an origin got. */
const headAt = async (peer: Peer) => (await peer.answer()).text;

/** The newest row, once it has ended. */
async function ended() {
  await expect.poll(async () => (await gate.rows())[0]?.end ?? null).not.toBeNull();
  return (await gate.rows())[0];
}

describe('a plain request', () => {
  it('goes out in origin form without what was meant for the proxy, and its answer comes back as it is', async () => {
    const client = await enter();
    client.send(
      ask(`http://OPEN.test:${origin.port}/a//b?c=d`, 'X-Odd:   two \r\nProxy-Connection: keep-alive\r\n'),
    );
    const peer = await accept();
    expect(await headAt(peer)).toBe(`GET /a//b?c=d HTTP/1.1\r\nHost: ${host}\r\nX-Odd:   two \r\n\r\n`);
    const answer = 'HTTP/1.1 299 Very  Fine\r\nX-A: 1\r\nx-a: 2\r\nContent-Length: 2\r\n\r\nhi';
    peer.send(answer);
    expect((await client.answer()).text).toBe(answer);
    expect(await ended()).toMatchObject({
      host: 'open.test',
      port: origin.port,
      verdict: 'allowed',
      end: { reason: 'answered', exchanges: 1, address: '127.0.0.1', bytesDown: answer.length },
    });
    const exchanges = await gate.world.call<object[]>('GET', '/v1/exchanges?limit=1');
    expect(exchanges[0]).toMatchObject({
      method: 'GET',
      path: '/a//b',
      status: 299,
      reason: 'allowlisted',
      credentials: [],
    });
  });

  it('keeps both connections for the next, each with a token and a row of its own', async () => {
    const before = (await gate.rows()).length;
    const client = await enter();
    client.send(ask());
    const peer = await accept();
    for (let i = 0; i < 3; i += 1) {
      await headAt(peer);
      peer.send(OK);
      expect((await client.answer()).status).toBe(200);
      if (i < 2) client.send(ask());
    }
    client.send(`GET http://${host}/x HTTP/1.1\r\nHost: a\r\n\r\n`);
    const refused = await client.answer();
    expect(refused.status).toBe(407);
    expect(refused.headers.get('connection')).toBe('keep-alive');
    client.send(ask());
    await headAt(peer);
    peer.send(OK);
    expect((await client.answer()).status).toBe(200);
    expect((await gate.rows()).length).toBe(before + 4);
  });

  it('may be sent right behind the one before', async () => {
    const client = await enter();
    client.send(ask(`http://${host}/1`) + ask(`http://${host}/2`, 'Connection: close\r\n'));
    const peer = await accept();
    expect(await headAt(peer)).toContain('GET /1 ');
    peer.send(OK);
    expect(await headAt(peer)).toContain('GET /2 ');
    peer.send(OK);
    expect((await client.answer()).status).toBe(200);
    expect((await client.answer()).headers.get('connection')).toBe('close');
    expect(await client.ending()).toBe('end');
  });

  it('does not go over a kept connection when it could not be asked again', async () => {
    const client = await enter();
    client.send(ask());
    const kept = await accept();
    await headAt(kept);
    kept.send(OK);
    await client.answer();
    client.send(ask(`http://${host}/p`, 'Content-Length: 2\r\n', 'POST')).send('hi');
    const fresh = await accept();
    expect(await headAt(fresh)).toContain('POST /p ');
    fresh.send(OK);
    expect((await client.answer()).status).toBe(200);
  });

  it('is asked again where a kept connection dies just then', async () => {
    const client = await enter();
    client.send(ask());
    const kept = await accept();
    await headAt(kept);
    kept.send(OK);
    await client.answer();
    client.send(ask(`http://${host}/again`));
    await headAt(kept);
    kept.close();
    const fresh = await accept();
    expect(await headAt(fresh)).toContain('GET /again ');
    fresh.send(OK);
    expect((await client.answer()).status).toBe(200);
  });

  it('streams both ways: chunks, trailers and a 100 as they come', async () => {
    const client = await enter();
    client.send(ask(`http://${host}/up`, 'Transfer-Encoding: chunked\r\nExpect: 100-continue\r\n', 'PUT'));
    const peer = await accept();
    expect(await headAt(peer)).toContain('Expect: 100-continue\r\n');
    peer.send('HTTP/1.1 100 Continue\r\n\r\n');
    expect((await client.answer()).status).toBe(100);
    const body = '3;x=y\r\nabc\r\n0\r\nX-T: 1\r\n\r\n';
    client.send(body);
    expect(await peer.text(body.length)).toBe(body);
    peer.send(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-T\r\n\r\n`);
    expect((await client.answer()).status).toBe(200);
    peer.send(body);
    expect(await client.text(body.length)).toBe(body);
  });

  it('leaves out trailers that frame, route or speak to a proxy', async () => {
    const client = await enter();
    client.send(ask(`http://${host}/up`, 'Transfer-Encoding: chunked\r\n', 'POST'));
    const peer = await accept();
    await headAt(peer);
    client.send(
      '0\r\nProxy-Authorization: Bearer T\r\nProxy_Any: 1\r\nTransfer-Encoding: chunked\r\nHost: other\r\n' +
        'Content.Length: 5\r\nX-Sum: 1\r\n\r\n',
    );
    const body = '0\r\nX-Sum: 1\r\n\r\n';
    expect(await peer.text(body.length)).toBe(body);
    peer.send(OK);
    expect((await client.answer()).status).toBe(200);
  });

  it.each([
    ['HEAD', 'HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n'],
    ['GET', 'HTTP/1.1 304 Not Modified\r\nContent-Length: 500\r\n\r\n'],
    ['DELETE', 'HTTP/1.1 204 No Content\r\n\r\n'],
  ])('%s may be answered without a body', async (method, answer) => {
    const client = await enter();
    client.send(ask(undefined, '', method));
    const peer = await accept();
    await headAt(peer).catch(() => {});
    peer.send(answer);
    expect(await client.text(answer.length)).toBe(answer);
    await ended();
  });

  const KEY = 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n';

  it('that asks for a WebSocket gets one, until both sides have ended', async () => {
    const client = await enter();
    client.send(ask(undefined, `Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n${KEY}`));
    const peer = await accept();
    expect(await headAt(peer)).toContain(`\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n${KEY}`);
    peer.send(
      'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
        'Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\ndown',
    );
    expect((await client.answer()).status).toBe(101);
    expect(await client.text(4)).toBe('down');
    client.send('up').finish();
    expect(await peer.text(2)).toBe('up');
    peer.finish();
    expect(await client.ending()).toBe('end');
    expect((await ended())?.end?.reason).toBe('answered');
  });

  it('whose answer breaks off is broken off, where only the end of the connection would end it too', async () => {
    const client = await enter();
    client.send(ask());
    const peer = await accept();
    await headAt(peer);
    peer.send('HTTP/1.1 200 OK\r\n\r\nsome');
    await client.answer();
    expect(await client.text(4)).toBe('some');
    peer.reset();
    expect(await client.ending()).toBe('reset');
    expect((await ended())?.end?.reason).toBe('origin_reset');
  });
});

describe('an origin', () => {
  it.each([
    ['that goes away', (peer: Peer) => peer.close()],
    ['that answers no HTTP', (peer: Peer) => void peer.send('nonsense\r\n\r\n')],
    ['that switches protocols unasked', (peer: Peer) => void peer.send('HTTP/1.1 101 x\r\n\r\n')],
  ])('%s is a 502', async (_, behave) => {
    const client = await enter();
    client.send(ask(undefined, 'Upgrade: websocket\r\nConnection: Upgrade\r\n', 'PATCH'));
    const peer = await accept();
    await headAt(peer);
    behave(peer);
    const answer = await client.answer();
    expect([answer.status, answer.headers.get('sallyport-reason')]).toEqual([502, 'origin_failed']);
    expect(await client.ending()).toBe('end');
    expect(await ended()).toMatchObject({ verdict: 'denied', end: { reason: 'origin_failed' } });
  });
});

describe('what is refused', () => {
  it.each([
    ['a host that is not listed', () => ask('http://other.test/'), 403, 'host_denied'],
    ['an address', () => ask('http://127.0.0.1/'), 403, 'ip_literal'],
    ['a port that nothing opens', () => ask('http://open.test:25/'), 403, 'port_denied'],
    ['a name with a private address', () => ask('http://inside.test/'), 403, 'address_refused'],
    ['plaintext where a secret is bound', () => ask('http://bound.test:443/'), 403, 'tls_required'],
    ['https', () => ask('https://open.test/'), 400, 'scheme_refused'],
    ['no URL', () => ask('/'), 400, 'target_missing'],
    ['a wrong token', () => ask().replace('Basic ', 'Digest '), 407, 'token_malformed'],
  ])('%s', async (_, request, status, reason) => {
    const before = origin.reached;
    const client = await enter();
    const answer = await client.send(request()).answer();
    expect([answer.status, answer.headers.get('sallyport-reason')]).toEqual([status, reason]);
    expect(await client.ending()).toBe('end');
    expect(origin.reached).toBe(before);
  });

  it('a body whose framing breaks, once it shows', async () => {
    const client = await enter();
    client.send(ask(undefined, 'Transfer-Encoding: chunked\r\n', 'POST')).send('2\r\nabX');
    await accept();
    const answer = await client.answer();
    expect([answer.status, answer.headers.get('sallyport-reason')]).toEqual([400, 'request_malformed']);
    expect(await client.ending()).toBe('end');
  });

  it('a request without a token whose body would be taken for the next one', async () => {
    const client = await enter();
    client.send(`POST http://${host}/ HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello`);
    const answer = await client.answer();
    expect([answer.status, answer.headers.get('connection')]).toEqual([407, 'close']);
    expect(await client.ending()).toBe('end');
  });
});

describe('a host that a secret is bound to', () => {
  it('is asked without it on another port', async () => {
    const client = await enter();
    client.send(ask(`http://bound.test:${origin.port}/`, 'Authorization: Bearer sallyport-managed\r\n'));
    const head = await headAt(await accept());
    expect(head).toContain('Authorization: Bearer sallyport-managed\r\n');
    expect(head).not.toContain('the-real-secret-value');
  });
});

describe('a change', () => {
  it('of the policy breaks off a request that is under way', async () => {
    await gate.put('moving', { allow: [host] });
    const client = await enter();
    const mine = await gate.world.token('moving');
    client.send(ask().replace(basic(token), basic(mine)));
    const peer = await accept();
    await headAt(peer);
    peer.send('HTTP/1.1 200 OK\r\n\r\nsome');
    await client.answer();
    await client.text(4);
    await gate.put('moving', { allow: [] });
    expect(await client.ending(1_000)).toBe('reset');
    expect((await ended())?.end?.reason).toBe('policy_changed');
    await peer.ending();
  });
});

describe('a client that is there', () => {
  const run = promisify(execFile);
  const proxy = () => `http://any:${token}@127.0.0.1:${gate.egress.address.port}`;
  const answerAll = async (count: number) => {
    for (let i = 0; i < count; i += 1) {
      const peer = await accept();
      await headAt(peer);
      peer.send(OK.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'));
    }
  };

  it.each([
    ['curl', () => ['-sS', '-x', proxy(), `http://${host}/x`]],
    ['curl', () => ['-sS', '--proxy-anyauth', '-x', proxy(), `http://${host}/x`]],
    ['curl', () => ['-sS', '--http1.0', '-x', proxy(), `http://${host}/x`]],
    ['wget', () => ['-qO-', '-e', `http_proxy=${proxy()}`, '-e', 'use_proxy=yes', `http://${host}/x`]],
  ])('%s gets its answer', async (program, args) => {
    const [{ stdout }] = await Promise.all([run(program, args(), { env: {} }), answerAll(1)]);
    expect(stdout).toBe('hi');
  });

  it('goes through the relay of a run as well', async () => {
    const relay = await startRelay({
      secret: 'the-secret-of-the-run',
      egress: gate.egress.address,
      gates: { host: '127.0.0.1', port: 1 },
      egressToken: () => token,
      runToken: () => 'none',
    });
    const through = `http://any:the-secret-of-the-run@127.0.0.1:${relay.proxyPort}`;
    const asked = run('curl', ['-sS', '-x', through, '-d', 'body', `http://${host}/x`], { env: {} });
    const peer = await accept();
    expect(await headAt(peer)).not.toMatch(/proxy-|secret-of-the-run/i);
    peer.send(OK);
    expect((await asked).stdout).toBe('hi');
    await relay.close();
  });
});

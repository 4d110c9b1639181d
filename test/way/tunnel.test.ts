/** What goes through a tunnel arrives once, in order and whole; how a side ends is how the other side sees it end. */

import { once } from 'node:events';
import { connect as connectTls } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Peer } from '../support/client.ts';
import { startGate, type TestGate } from '../support/gate.ts';
import { type Origin, startOrigin } from '../support/origin.ts';
import { type HttpsOrigin, startHttpsOrigin } from '../support/origin-https.ts';

let gate: TestGate;
let origin: Origin;
let https: HttpsOrigin;
let token: string;

beforeAll(async () => {
  [origin, https] = await Promise.all([startOrigin(), startHttpsOrigin('secure.test')]);
  gate = await startGate({
    hosts: '127.0.0.1 open.test secure.test\n',
    open: 'open.test=127.0.0.0/8,secure.test=127.0.0.0/8',
    settings: { SALLYPORT_TUNNEL_IDLE: '700ms' },
  });
  await gate.put('open', { allow: [`open.test:${origin.port}`, `secure.test:${https.port}`] });
  token = await gate.world.token('open');
});

afterAll(async () => {
  await gate?.close();
  await Promise.all([origin?.close(), https?.close()]);
});

interface Pair {
  readonly client: Peer;
  readonly caller: Peer;
  readonly id: string;
}

/** A tunnel with both its ends. */
async function open(more: string | Uint8Array = ''): Promise<Pair> {
  const [client, caller] = await Promise.all([
    gate.connect(`open.test:${origin.port}`, token, more),
    origin.accept(),
  ]);
  expect((await client.answer()).status).toBe(200);
  const [row] = await gate.rows('&host=open.test');
  return { client, caller, id: row?.id ?? '' };
}

async function expectEnd(id: string, end: object): Promise<void> {
  await expect.poll(async () => (await gate.row(id))?.end).toMatchObject(end);
}

describe('bytes', () => {
  it('right behind the head arrive once and in order, with those that follow', async () => {
    const early = Buffer.alloc(100_000, 'early-');
    const { client, caller, id } = await open(early);
    client.send('then ').send('this').finish();
    expect((await caller.read(early.length)).equals(early)).toBe(true);
    expect(await caller.text(9)).toBe('then this');
    expect(await caller.ending()).toBe('end');
    expect(caller.received.length).toBe(0);
    caller.finish();
    await expectEnd(id, {
      reason: 'client_closed',
      bytesUp: early.length + 9,
      bytesDown: 0,
      address: '127.0.0.1',
    });
  });

  it('from a server that speaks first arrive', async () => {
    const { client, caller, id } = await open();
    caller.send('220 ready\r\n');
    expect(await client.text(11)).toBe('220 ready\r\n');
    client.send('EHLO\r\n');
    expect(await caller.text(6)).toBe('EHLO\r\n');
    caller.finish();
    expect(await client.ending()).toBe('end');
    client.finish();
    expect(await caller.ending()).toBe('end');
    await expectEnd(id, { reason: 'origin_closed', bytesUp: 6, bytesDown: 11 });
  });

  it('of a TLS handshake pass, and the client verifies the origin itself', async () => {
    const client = await gate.connect(`secure.test:${https.port}`, token);
    expect((await client.answer()).status).toBe(200);
    const secure = connectTls({ socket: client.detach(), servername: 'secure.test', ca: https.caPem });
    await once(secure, 'secureConnect');
    expect(secure.authorized).toBe(true);
    secure.end('GET /hello HTTP/1.1\r\nHost: secure.test\r\nConnection: close\r\n\r\n');
    let text = '';
    for await (const chunk of secure) text += chunk;
    expect(text).toContain('you asked for /hello');
    expect(https.requests).toEqual(['GET secure.test /hello']);
  });
});

describe('a half that closes', () => {
  it('first at the client: a late reply still arrives', async () => {
    const { client, caller, id } = await open('question');
    client.finish();
    expect(await caller.text(8)).toBe('question');
    expect(await caller.ending()).toBe('end');
    caller.send('a late reply').finish();
    expect(await client.text(12)).toBe('a late reply');
    expect(await client.ending()).toBe('end');
    await expectEnd(id, { reason: 'client_closed', bytesUp: 8, bytesDown: 12 });
  });

  it('first at the origin: the client still sends', async () => {
    const { client, caller, id } = await open();
    caller.send('enough').finish();
    expect(await client.text(6)).toBe('enough');
    expect(await client.ending()).toBe('end');
    client.send('still ').send('here').finish();
    expect(await caller.text(10)).toBe('still here');
    expect(await caller.ending()).toBe('end');
    await expectEnd(id, { reason: 'origin_closed', bytesUp: 10, bytesDown: 6 });
  });

  it('at an origin that reads slowly: what the client sent before it left arrives whole', async () => {
    const { client, caller, id } = await open();
    const slow = caller.detach();
    caller.finish();
    expect(await client.ending()).toBe('end');
    const sent = Buffer.alloc(6 * 1024 * 1024, 'upload');
    client.send(sent).finish();
    // All of it has left the client before the origin reads on: most of it waits in the gate.
    await once(client.socket, 'close');
    let got = 0;
    for await (const chunk of slow) got += chunk.length;
    expect(got).toBe(sent.length);
    await expectEnd(id, { reason: 'origin_closed', bytesUp: sent.length });
  });
});

describe('a side that breaks off', () => {
  it('at the origin is broken off at the client, after what came before', async () => {
    const { client, caller, id } = await open();
    caller.send('so far');
    expect(await client.text(6)).toBe('so far');
    caller.reset();
    expect(await client.ending()).toBe('reset');
    await expectEnd(id, { reason: 'origin_reset', bytesDown: 6 });
  });

  it('at the origin right behind its last bytes does not end cleanly at the client', async () => {
    const { client, caller, id } = await open('go');
    expect(await caller.text(2)).toBe('go');
    caller.socket.write('the last words', () => caller.reset());
    expect(await client.ending()).toBe('reset');
    expect(client.received.toString()).toMatch(/^(the last words)?$/);
    await expectEnd(id, { reason: 'origin_reset' });
  });

  it('at the origin as soon as it is reached is a failed dial, or broken off', async () => {
    const target = `open.test:${origin.port}`;
    const [client, caller] = await Promise.all([gate.connect(target, token), origin.accept()]);
    caller.reset();
    const answer = await client.answer().catch(() => null);
    const refused = answer?.headers.get('sallyport-reason') === 'connect_failed';
    expect(await client.ending()).toBe(refused ? 'end' : 'reset');
    const [row] = await gate.rows('&host=open.test');
    await expectEnd(row?.id ?? '', { reason: refused ? 'connect_failed' : 'origin_reset', bytesUp: 0 });
  });

  it('at the client frees the origin', async () => {
    const { client, caller, id } = await open('so far');
    expect(await caller.text(6)).toBe('so far');
    client.reset();
    expect(await caller.ending()).toBe('reset');
    await expect.poll(() => origin.open).toBe(0);
    await expectEnd(id, { reason: 'client_reset', bytesUp: 6 });
  });

  it('at the client in the middle of an upload does not end cleanly at the origin', async () => {
    const { client, caller, id } = await open();
    const slow = caller.detach();
    client.send(Buffer.alloc(4 * 1024 * 1024));
    await expect.poll(() => client.socket.writableLength).toBe(0);
    client.reset();
    slow.resume();
    expect(await caller.ending()).toBe('reset');
    await expectEnd(id, { reason: 'client_reset' });
  });
});

describe('silence', () => {
  it('in both directions ends a tunnel; one direction keeps it', async () => {
    const { client, caller, id } = await open();
    const startedAt = Date.now();
    const beat = setInterval(() => caller.send('.'), 100);
    await client.read(12);
    clearInterval(beat);
    expect(Date.now() - startedAt).toBeGreaterThan(700);
    expect(await client.ending()).toBe('reset');
    expect(await caller.ending()).toBe('reset');
    await expectEnd(id, { reason: 'idle', bytesUp: 0 });
  });
});

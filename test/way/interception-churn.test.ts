/**
 * Clients and origins that break off at every stage of an interception: nothing crashes, nothing is left open.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startGate, type TestGate } from '../support/gate.ts';
import { Random } from '../support/random.ts';
import { startTlsOrigin, type TlsOrigin } from '../support/tls-origin.ts';

const HOST = 'api.bound.test';
let folder: string;
let origin: TlsOrigin;
let gate: TestGate;
let egressCa: string;
let target: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sallyport-churn-'));
  origin = await startTlsOrigin({ name: HOST });
  await writeFile(join(folder, 'roots.pem'), origin.caPem);
  gate = await startGate({
    hosts: `127.0.0.1 ${HOST}`,
    open: '*.bound.test=127.0.0.0/8',
    settings: { SALLYPORT_EXTRA_CA: join(folder, 'roots.pem') },
  });
  target = `${HOST}:${origin.port}`;
  await gate.world.call('PUT', '/v1/vaults/v');
  await gate.world.call('PUT', '/v1/vaults/v/credentials/s', {
    kind: 'environment_secret',
    variable: 'KEY',
    hosts: [target],
    secret: { value: 'the-real-secret-value' },
  });
  await gate.put('e', { allow: [target], credentials: ['v/s'], newPerSecond: 100_000 });
  egressCa = await (await fetch(`http://127.0.0.1:${gate.world.core.address.port}/authority.pem`)).text();
});

afterAll(async () => {
  await gate?.close();
  await origin?.close();
  await rm(folder, { recursive: true, force: true });
});

it('150 interceptions, each broken off somewhere', { timeout: 120_000 }, async () => {
  const token = await gate.world.token('e');
  const random = new Random(11);
  void serve(random);
  for (let round = 0; round < 15; round++) {
    await Promise.all(Array.from({ length: 10 }, () => once(token, random.below(7))));
  }
  await expect.poll(async () => openConnections(), { timeout: 20_000 }).toBe(0);
  const rows = await gate.owner.query<{ open: number }>(
    'SELECT count(*)::int AS open FROM connections c LEFT JOIN connection_ends e ON e.connection_id = c.id WHERE e.at IS NULL',
  );
  expect(rows[0]?.open).toBe(0);
});

/** An origin that answers, breaks off before or within its answer, or says nothing. */
async function serve(random: Random): Promise<void> {
  for (;;) {
    const peer = await origin.next();
    peer.socket.on('data', () => {
      const what = random.below(5);
      if (what === 0) peer.socket.destroy();
      else if (what === 1) peer.send('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf').close();
      else if (what === 2) peer.send('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n');
      else peer.send('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi');
    });
  }
}

/** One client that stops at `stage`. */
async function once(token: string, stage: number): Promise<void> {
  const outer = await gate.connect(target, token);
  if (stage === 0) return outer.reset();
  if ((await outer.answer()).status !== 200) return outer.close();
  if (stage === 1) return outer.reset();
  if (stage === 2) {
    outer.send(Buffer.from([0x16, 3, 1, 0x40, 0, ...Array(200).fill(0x7a)]));
    return outer.reset();
  }
  const socket: Socket = outer.detach();
  const secured = connect({ socket, servername: HOST, ca: [egressCa], ALPNProtocols: ['http/1.1'] });
  secured.on('error', () => {});
  if (stage === 3) {
    setImmediate(() => socket.resetAndDestroy());
    return;
  }
  await new Promise<void>((resolve) => {
    secured.once('close', () => resolve());
    secured.once('secureConnect', () => {
      secured.write(`POST /x HTTP/1.1\r\nHost: ${target}\r\nContent-Length: 10\r\n\r\n12345`);
      if (stage === 4) setImmediate(() => socket.resetAndDestroy());
      if (stage === 5) secured.end('67890');
      if (stage === 6) secured.write('67890');
    });
    secured.on('data', () => (stage === 6 ? secured.destroy() : undefined));
    setTimeout(() => socket.destroy(), 300).unref();
  });
}

async function openConnections(): Promise<number> {
  const [row] = await gate.owner.query<{ open: number }>(
    'SELECT (SELECT count(*) FROM connections WHERE verdict <> $1)::int - (SELECT count(*) FROM connection_ends)::int AS open',
    ['denied'],
  );
  return row?.open ?? -1;
}

/** What only a script can show of a tunnel: sides that go at a given moment. The rest is in test/way. */
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { tunnel } from '../../../egress/act/tunnel.ts';
import { Peer } from '../../support/client.ts';

const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});

/** Both ends of a connection: the gate's and the other's. */
async function pair(): Promise<{ readonly ours: Socket; readonly theirs: Peer }> {
  const server = createServer({ allowHalfOpen: true });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const theirs = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  const [ours]: Socket[] = await once(server, 'connection');
  server.close();
  if (!ours) throw new Error('nobody connected');
  sockets.push(ours, theirs);
  return { ours, theirs: new Peer(theirs) };
}

/** Breaks it off, and waits until our end knows. */
async function lose({ ours, theirs }: { readonly ours: Socket; readonly theirs: Peer }): Promise<void> {
  ours.on('error', () => {}).resume();
  theirs.reset();
  await new Promise((resolve) => ours.once('close', resolve));
}

function start(client: Socket, origin: Socket, signal = new AbortController().signal) {
  const head = Buffer.from('early');
  return tunnel({ client, head, origin, idleMs: 5_000, signal, stopReason: () => 'policy_changed' });
}

describe('a tunnel whose', () => {
  it('origin broke off before it began breaks off at the client', async () => {
    const [client, origin] = [await pair(), await pair()];
    await lose(origin);
    const end = await start(client.ours, origin.ours);
    expect(end.reason).toBe('origin_reset');
    expect(await client.theirs.ending()).toBe('reset');
  });

  it('client broke off before it began breaks off at the origin', async () => {
    const [client, origin] = [await pair(), await pair()];
    await lose(client);
    const end = await start(client.ours, origin.ours);
    expect(end.reason).toBe('client_reset');
    expect(await origin.theirs.ending()).toBe('reset');
  });

  it('connection was stopped before it began ends both sides', async () => {
    const [client, origin] = [await pair(), await pair()];
    const end = await start(client.ours, origin.ours, AbortSignal.abort());
    expect(end.reason).toBe('policy_changed');
    expect(await client.theirs.ending()).toBe('reset');
    expect(await origin.theirs.ending()).toBe('reset');
  });

  it('origin breaks off when its whole reply was sent does not take the reply with it', async () => {
    const [client, origin] = [await pair(), await pair()];
    const ended = start(client.ours, origin.ours);
    const slow = client.theirs.detach();
    const reply = Buffer.alloc(1024 * 1024, 'reply');
    origin.theirs.send(reply).finish();
    await new Promise((resolve) => origin.ours.once('end', resolve));
    // The client goes on sending, as one does whose upload was answered early.
    client.theirs.send(' more');
    expect(await origin.theirs.text(10)).toBe('early more');
    origin.theirs.reset();
    client.theirs.send(' and more');
    await new Promise((resolve) => origin.ours.once('close', resolve));
    let got = 0;
    for await (const chunk of slow) got += chunk.length;
    expect(got).toBe(reply.length);
    client.theirs.finish();
    expect(await ended).toMatchObject({ reason: 'origin_closed', bytesDown: reply.length });
  });

  it('sides end in turn counts what passed', async () => {
    const [client, origin] = [await pair(), await pair()];
    const ended = start(client.ours, origin.ours);
    client.theirs.send(' and late').finish();
    expect(await origin.theirs.text(14)).toBe('early and late');
    origin.theirs.send('fine').finish();
    expect(await client.theirs.text(4)).toBe('fine');
    expect(await ended).toEqual({ reason: 'client_closed', bytesUp: 14, bytesDown: 4 });
  });
});

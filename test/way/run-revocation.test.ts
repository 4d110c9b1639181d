/** What a run opened ends with its turn, on every replica; what others opened in the same environment lives on. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Service } from '../../core-lite/service.ts';
import { connectHead, connectTo, type Peer } from '../support/client.ts';
import { startGate, type TestGate } from '../support/gate.ts';
import { echo, type Origin, startOrigin } from '../support/origin.ts';

interface Lease {
  readonly leaseEpoch: number;
  readonly egressToken: string;
}

let gate: TestGate;
let origin: Origin;
let replicas: readonly Service[];
let session: string;
let turn: string;
let lease: Lease;
const clients: Peer[] = [];

beforeAll(async () => {
  origin = await startOrigin({ behave: echo });
  gate = await startGate({ hosts: '127.0.0.1 a.test', open: 'a.test=127.0.0.0/8' });
  replicas = [gate.egress, await gate.world.egress()];
  await gate.put('e', { allow: [`a.test:${origin.port}`] });
});

beforeEach(async () => {
  session = (await gate.world.call<{ id: string }>('POST', '/v1/sessions', { agent: 'a', environment: 'e' }))
    .id;
  turn = (await gate.world.call<{ id: string }>('POST', `/v1/sessions/${session}/turns`)).id;
  lease = await gate.world.call<Lease>('POST', `/v1/turns/${turn}/lease`, { holder: 'test' });
});

afterEach(() => {
  for (const client of clients.splice(0)) client.close();
});

afterAll(async () => {
  await gate?.close();
  await origin?.close();
});

async function open(service: Service, token: string): Promise<Peer> {
  const client = await connectTo(service.address.port);
  clients.push(client);
  client.send(connectHead(`a.test:${origin.port}`, token));
  return client;
}

describe('a run’s connections', () => {
  it.each([
    ['its turn is cancelled', () => gate.world.call('POST', `/v1/turns/${turn}/cancel`)],
    [
      'its turn ends',
      () => gate.world.call('POST', `/v1/turns/${turn}/end`, { leaseEpoch: lease.leaseEpoch }),
    ],
    ['its session ends', () => gate.world.call('POST', `/v1/sessions/${session}/end`)],
  ])('end within a second when %s, and nothing new is opened', async (_name, over) => {
    const tunnels = await Promise.all(replicas.map((service) => open(service, lease.egressToken)));
    for (const tunnel of tunnels) expect((await tunnel.answer()).status).toBe(200);
    const other = await open(gate.egress, await gate.world.token('e'));
    expect((await other.answer()).status).toBe(200);
    await over();
    await Promise.all(tunnels.map((tunnel) => tunnel.ending(1_000)));
    for (const service of replicas) {
      const answer = await (await open(service, lease.egressToken)).answer();
      expect([answer.status, answer.headers.get('sallyport-reason')]).toEqual([407, 'run_stale']);
    }
    expect(await other.send('still here').text(10)).toBe('still here');
    const rows = () => gate.rows(`&turn=${turn}`);
    await expect
      .poll(async () => (await rows()).map((row) => row.end?.reason))
      .toEqual(['run_stale', 'run_stale']);
    expect((await rows()).every((row) => row.sessionId === session && row.turnId === turn)).toBe(true);
  });

  it('of a turn that goes on are left alone when another session’s turn ends', async () => {
    const tunnel = await open(gate.egress, lease.egressToken);
    expect((await tunnel.answer()).status).toBe(200);
    const { id } = await gate.world.call<{ id: string }>('POST', '/v1/sessions', {
      agent: 'b',
      environment: 'e',
    });
    await gate.world.call('POST', `/v1/sessions/${id}/turns`);
    await gate.world.call('POST', `/v1/sessions/${id}/end`);
    expect(await tunnel.send('still here').text(10)).toBe('still here');
  });
});

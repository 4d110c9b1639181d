/**
 * Clients that nobody changed call tools while the gate is killed and started again between two calls, and while a server
 * forgets its sessions: no call fails, and none is made twice. At length: test/long/mcp-restarts.test.ts.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { connectMcp } from '../support/mcp-clients.ts';
import {
  CLIENTS,
  callAcross,
  callAcrossGates,
  type RestartStand,
  startRestartStand,
} from '../support/mcp-restarts.ts';

let stand: RestartStand;

beforeAll(async () => {
  stand = await startRestartStand();
});

afterAll(() => stand?.close());

it('a restart of the gate costs no client a call', { timeout: 60_000 }, async () => {
  const ran = await callAcrossGates(stand, { calls: 10, restarts: 1 });
  expect([...ran.values()]).toEqual([30, 30, 30]);
});

it('100 calls of each client across 5 restarts of a server that is declared stateless', {
  timeout: 60_000,
}, async () => {
  const { gates, run, servers } = stand;
  const forgetful = servers.get('forgetful');
  const clients = await Promise.all(
    CLIENTS.map((kind) => connectMcp(kind, gates.gates.address.port, '/mcp/forgetful', run.token)),
  );
  await callAcross(clients, { calls: 100, restarts: 5 }, async () => forgetful?.restart());
  expect(forgetful?.done).toHaveLength(300);
  for (const client of clients) await client.close();
});

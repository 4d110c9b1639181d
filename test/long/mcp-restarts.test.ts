/** 100 calls of each official client to each kind of server, across 5 restarts of the gate: no call fails, none is made twice. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { callAcrossGates, type RestartStand, startRestartStand } from '../support/mcp-restarts.ts';

let stand: RestartStand;

beforeAll(async () => {
  stand = await startRestartStand();
});

afterAll(() => stand?.close());

it('100 calls of each client across 5 restarts of the gate', async () => {
  const ran = await callAcrossGates(stand, { calls: 100, restarts: 5 });
  expect([...ran.values()]).toEqual([300, 300, 300]);
});

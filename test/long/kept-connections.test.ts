/** A provider that hangs up on idle connections at 5 s, and calls that come at that very moment. */
import type { Socket } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { putModel, startTestGates, type TestGates } from '../support/gates.ts';
import { type RawProvider, startRawProvider } from '../support/raw-provider.ts';

const ANSWER = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}';
const CALLS = 40;
const IDLE_MS = 5_000;
let raw: RawProvider;
let gates: TestGates;

beforeAll(async () => {
  raw = await startRawProvider();
  gates = await startTestGates([raw]);
  await putModel(gates, 'raw', raw, { key: 'sk-canary-kept-1' });
}, 60_000);
afterAll(async () => {
  await gates?.close();
  await raw?.close();
});

it('never fails a call that comes when its connection is hung up on', async () => {
  const run = await gates.run();
  const call = async (): Promise<number> => {
    const headers = { authorization: `Bearer ${run.token}` };
    return (await gates.ask('/v1/messages', { headers, body: '{"model":"raw"}' })).status;
  };
  raw.onRequest = (socket: Socket) => {
    socket.setTimeout(0);
    socket.write(ANSWER, () => socket.setTimeout(IDLE_MS, () => socket.end()));
  };
  await Promise.all(Array.from({ length: CALLS }, call));
  const since = performance.now();
  const later = Array.from({ length: CALLS }, async (_, i) => {
    const at = since + IDLE_MS - 100 + i * 5;
    await new Promise((resolve) => setTimeout(resolve, at - performance.now()));
    return call();
  });
  expect(new Set(await Promise.all(later))).toEqual(new Set([200]));
  expect(raw.requests).toBe(CALLS * 2);
}, 60_000);

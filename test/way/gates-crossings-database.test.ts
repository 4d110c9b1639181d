/** Keyed calls while the database goes: nothing is written that was not won, and no outcome is told that is not kept. */
import { afterEach, beforeAll, expect, it } from 'vitest';
import { type CrossedGates, eventually, startCrossedGates } from '../support/crossed-gates.ts';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts';

let stand: CrossedGates;
const proxies: TcpProxy[] = [];
beforeAll(async () => {
  stand = await startCrossedGates({ SALLYPORT_LOG_LEVEL: 'info' });
  return async () => {
    await stand.close();
    for (const proxy of proxies) await proxy.close();
  };
});
afterEach(() => {
  stand.tool.asked.length = 0;
});

/** A gate whose database breaks off for a moment when it is asked this; it never hears it. */
async function gateBreakingAt(statement: string): Promise<{ port: number; broken: Promise<void> }> {
  const { databaseUrl } = stand.gates.world;
  const proxy = await startTcpProxy(databaseUrl, statement);
  proxies.push(proxy);
  const broken = new Promise<void>((resolve) => {
    proxy.onFreeze(() => {
      void proxy.cut().then(async () => {
        proxy.thaw();
        await proxy.mend();
        resolve();
      });
    });
  });
  const gate = await stand.gates.world.gates({ DATABASE_URL: proxy.through(databaseUrl) });
  return { port: gate.address.port, broken };
}

it('what cannot be asked before the first byte is not sent, and may be sent again', async () => {
  const run = await stand.run();
  const { port, broken } = await gateBreakingAt('send_crossing');
  const unsent = await stand.call(run, 'unsent', { port });
  await broken;
  expect([unsent.status, JSON.parse(unsent.text).error.code]).toEqual([503, 'facts_unavailable']);
  expect(stand.count(1)).toBe(0);
  await eventually(async () => (await stand.listed(run))[0]?.code === 'tool.interrupted');
  expect((await stand.call(run, 'unsent')).status).toBe(200);
  expect(stand.count(1)).toBe(1);
});

it('an outcome that cannot be written is told when it is, and the call does not run again', async () => {
  const run = await stand.run();
  const { port, broken } = await gateBreakingAt('settle_crossing');
  stand.tool.behave = (_asked, response) => {
    response.setHeader('content-type', 'application/json');
    response.end('{"done":1}');
  };
  const first = await stand.call(run, 'unsettled', { port });
  await broken;
  // Its own caller may have been let go, since the state of its run could not be read for a moment.
  expect([200, 503]).toContain(first.status);
  for (const place of [port, ...stand.ports]) {
    const told = async (): Promise<string> => (await stand.call(run, 'unsettled', { port: place })).text;
    await expect.poll(told, { timeout: 10_000 }).toBe('{"ok":true,"output":{"done":1}}');
  }
  expect(stand.count(1)).toBe(1);
});

it('a claim that cannot be asked for starts nothing', async () => {
  const run = await stand.run();
  const { port, broken } = await gateBreakingAt('claim_crossing');
  const unclaimed = await stand.call(run, 'unclaimed', { port });
  await broken;
  expect(unclaimed.status).toBe(503);
  expect((await stand.call(run, 'unclaimed')).status).toBe(200);
  expect(stand.count(1)).toBe(1);
});

/** Egress with hardly any files left to open: it does not end, and serves again as soon as some are free. */
import { execFileSync, spawnSync } from 'node:child_process';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { FuzzRig } from '../fuzz/fuzz-rig.ts';
import { connectHead, connectTo, type Peer } from '../support/client.ts';
import { echo, type Origin, startOrigin } from '../support/origin.ts';

let origin: Origin;
let rig: FuzzRig;
let target: string;

beforeAll(async () => {
  origin = await startOrigin({ behave: echo });
  target = `few.open.test:${origin.port}`;
  rig = await FuzzRig.start({
    hosts: '127.0.0.1 few.open.test\n',
    open: '*.open.test=127.0.0.0/8',
    environment: { allow: [target] },
  });
}, 60_000);
afterAll(async () => {
  await rig?.close();
  await origin?.close();
}, 60_000);

/** Whether a byte came back through a tunnel; `null` where the gate is not heard within a moment. */
async function echoed(client: Peer): Promise<boolean | null> {
  try {
    const answer = await client.send(connectHead(target, await rig.token())).answer(2_000);
    if (answer.status !== 200) return false;
    return (await client.send('hello').text(5)) === 'hello';
  } catch {
    return null;
  }
}

async function servesOne(): Promise<boolean | null> {
  const client = await connectTo(rig.port);
  const outcome = await echoed(client);
  client.close();
  return outcome;
}

const hasLimits = process.platform === 'linux' && spawnSync('prlimit', ['--version']).status === 0;

it.skipIf(!hasLimits)('that has run out of files waits, and serves again', async () => {
  expect(await servesOne()).toBe(true);
  const limit = Math.max(64, (await rig.openFiles()) + 16);
  execFileSync('prlimit', ['--pid', String(rig.pid), `--nofile=${limit}:${limit}`]);
  for (let round = 0; round < 3; round += 1) {
    const clients = await Promise.all(Array.from({ length: 120 }, () => connectTo(rig.port)));
    const outcomes = await Promise.all(clients.map(echoed));
    // Not all of them can have been served: each takes two files.
    expect(outcomes.some((outcome) => outcome !== true)).toBe(true);
    for (const client of clients) client.close();
    await expect.poll(() => rig.openConnections(), { timeout: 20_000 }).toBe(0);
    await expect.poll(servesOne, { timeout: 10_000 }).toBe(true);
  }
  expect(await rig.residentBytes()).toBeGreaterThan(0);
});

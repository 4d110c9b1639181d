/** What a tunnel costs that says nothing: resident memory of a fresh egress with 5,000 of them. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { FuzzRig } from '../fuzz/fuzz-rig.ts';
import { connectHead, connectTo, type Peer } from '../support/client.ts';
import { type Origin, startOrigin } from '../support/origin.ts';

let origin: Origin;
let rig: FuzzRig;
let target: string;

beforeAll(async () => {
  origin = await startOrigin({ behave: () => {} });
  target = `idle.open.test:${origin.port}`;
  rig = await FuzzRig.start({
    hosts: '127.0.0.1 idle.open.test\n',
    open: '*.open.test=127.0.0.0/8',
    environment: { allow: [target] },
  });
}, 60_000);
afterAll(async () => {
  await rig?.close();
  await origin?.close();
}, 60_000);

async function openTunnels(count: number): Promise<Peer[]> {
  const open: Peer[] = [];
  let left = count;
  const work = async () => {
    while (left > 0) {
      left -= 1;
      const client = await connectTo(rig.port);
      const answer = await client.send(connectHead(target, await rig.token())).answer(20_000);
      if (answer.status !== 200) throw new Error(answer.text);
      open.push(client);
    }
  };
  await Promise.all(Array.from({ length: 32 }, work));
  return open;
}

/** Once it has stopped falling: a collection of garbage may be due. */
async function settledBytes(): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let look = 0; look < 20; look += 1) {
    least = Math.min(least, await rig.residentBytes());
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  return least;
}

it.skipIf(process.platform !== 'linux')('5,000 idle tunnels cost 25 KiB each at most', async () => {
  // What is loaded and compiled at the first use is no tunnel's.
  for (const client of await openTunnels(500)) client.reset();
  await expect.poll(() => rig.openConnections(), { timeout: 20_000 }).toBe(0);
  const before = await settledBytes();
  const open = await openTunnels(TUNNELS);
  const each = ((await settledBytes()) - before) / TUNNELS / 1024;
  console.info(`${each.toFixed(1)} KiB for each of ${TUNNELS} idle tunnels`);
  expect(await rig.openConnections()).toBe(TUNNELS);
  expect(each).toBeLessThanOrEqual(25);
  for (const client of open) client.reset();
  await expect.poll(() => rig.openConnections(), { timeout: 20_000 }).toBe(0);
});

const TUNNELS = 5_000;
